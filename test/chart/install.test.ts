import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Cluster } from "../../lab/cluster/cluster.ts";
import { KUBERNETES_VERSIONS } from "../../lab/cluster/kubernetes-versions.ts";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { isFull } from "../../src/base/testing/full.ts";
import { installationChecks } from "../../src/cli/check/installation-check.ts";
import { DEFAULT_NAMES, type InstallationNames } from "../../src/crds/group.ts";
import { resources } from "../../src/kube/objects/resource.ts";
import { expand, Replay, type Suite } from "../integration/access-grants/replay.ts";
import { type AgentWorld, createAgentWorld } from "../integration/agent/agent-world.ts";
import { has, kubernetes } from "../versions/lacking.ts";
import { SHOP } from "../world/people.ts";
import type { Running } from "../world/processes.ts";
import { eventually, signal } from "../world/wait.ts";
import { envOf, type Helm, podOf, REQUIRED, type Rendered, type RenderOptions, useHelm } from "./use-helm.ts";

interface Installation {
  readonly names: InstallationNames;
  readonly values: object;
  readonly options: RenderOptions;
}

const DEFAULT: Installation = { names: DEFAULT_NAMES, values: {}, options: {} };
const RENAMED: Installation = {
  names: {
    systemNamespace: "gate-system",
    grantsNamespace: "gate-grants",
    agentAccount: "acme-sallyport-agent",
    operatorAccount: "hand",
  },
  values: { grantsNamespace: "gate-grants", operator: { serviceAccount: { name: "hand" } } },
  options: { release: "acme", namespace: "gate-system" },
};
const NAMESPACES: Installation = {
  names: { ...DEFAULT_NAMES, roleKind: "Role" },
  values: { rbac: { scope: "namespaces", selfCheck: false } },
  options: {},
};

const stamps = has("stamping");
/** As docs/install.md says for a version that cannot stamp names. */
const VALUES = stamps ? {} : { admission: { mode: "validating-only" } };

/** The chart's objects into a namespace that enforces PodSecurity restricted; its values accept the deployment. */
async function install(
  cluster: Cluster,
  helm: Helm,
  { names, values, options }: Installation,
  deploymentId: string,
): Promise<readonly Rendered[]> {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  await cluster.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: names.systemNamespace, labels } }]);
  const rendered = await helm.render(
    { ...REQUIRED, deployments: { [deploymentId]: [SHOP] }, ...VALUES, ...values },
    { kubeVersion: KUBERNETES_VERSIONS[kubernetes], ...options },
  );
  await cluster.apply(rendered);
  return rendered;
}

/** The environment that the chart gives a process, except what differs in a test. */
function given(rendered: readonly Rendered[], deployment: string): Readonly<Record<string, string>> {
  const elsewhere = /PLATFORM_URL|RUNTIME_KEY_FILE|HEALTH_PORT|IDENTITY/;
  const env = Object.entries(envOf(podOf(rendered, deployment))).filter(
    (entry): entry is [string, string] =>
      entry[0].startsWith("SALLYPORT_") && entry[1] !== undefined && !elsewhere.test(entry[0]),
  );
  return Object.fromEntries(env);
}

const INSTALLATIONS: readonly (readonly [string, Installation])[] = [
  ["with default values", DEFAULT],
  ["under other names", RENAMED],
  ["with Roles in namespaces only", NAMESPACES],
];

describe.each(isFull ? INSTALLATIONS : INSTALLATIONS.slice(0, 1))("the chart, installed %s", (title, installed) => {
  const helm = useHelm();
  const cluster = useCluster({ controllers: true });
  const { names } = installed;
  let rendered: readonly Rendered[] = [];
  let world: AgentWorld;
  let processes: readonly Running[] = [];

  beforeAll(async () => {
    const sallyport = async (deploymentId: string): Promise<void> => {
      rendered = await install(cluster(), helm, installed, deploymentId);
    };
    world = await createAgentWorld(cluster(), { names, install: sallyport });
    const [agent, operator] = rendered.filter(({ kind }) => kind === "Deployment").map(({ metadata }) => metadata.name);
    processes = [world.startOperator(given(rendered, operator)), world.startAgent("agent-1", given(rendered, agent))];
  }, 300_000);

  afterAll(async () => {
    await Promise.all(processes.map((process) => process.stop()));
    await world.close();
  });

  test("has pods that PodSecurity restricted lets in", async () => {
    const read = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      const options = { namespace: names.systemNamespace };
      for await (const { metadata } of world.admin.list(resources.pods, options, signal())) found.push(metadata.name);
      return found;
    };
    // An agent, two operators, and the pod of `helm test`.
    expect(await eventually(read, (pods) => pods.length >= 4)).toHaveLength(4);
  });

  test.runIf(installed === DEFAULT).each(["agent", "operator"] as const)(
    "gives the %s the rights of its golden file",
    async (process) => {
      const rights = async (account: string, namespace: string): Promise<readonly string[]> => {
        const kubeconfig = await cluster().kubeconfigForServiceAccount(names.systemNamespace, account);
        const { stdout } = await cluster().kubectl(["auth", "can-i", "--list", "-n", namespace], { kubeconfig });
        const rows = stdout.trimEnd().split("\n").slice(1);
        return rows.map((row) => row.trim().replaceAll(/ {2,}/g, "  "));
      };
      const sections: string[] = [];
      for (const namespace of [names.systemNamespace, names.grantsNamespace, SHOP, "default"]) {
        // Every account may ask for the server's version and for its own rights.
        const everybodys = new Set(await rights("default", namespace));
        const own = (await rights(process === "agent" ? names.agentAccount : names.operatorAccount, namespace)).filter(
          (row) => !everybodys.has(row),
        );
        sections.push(`# in namespace ${namespace}\n${[...own].sort().join("\n")}\n`);
      }
      await expect(sections.join("\n")).toMatchFileSnapshot(`golden/can-i-${process}.txt`);
    },
  );

  test("plays a request through: asked, approved, run, told", async () => {
    const asked = await world.ask(5);
    await world.grant(asked.id, ({ status }) => status?.state === "Pending");
    // A policy is in force a moment after it exists. Until then a decision gets 503 as an answer, or no name.
    await eventually(
      () =>
        world
          .decide(asked.id, { approvedForMinutes: 30, ...(!stamps && { decidedBy: "alice" }) })
          .catch(() => undefined),
      (grant) => grant.spec.decidedBy === "alice",
    );
    const grant = await world.grant(asked.id, ({ status }) => status?.state === "Completed");
    const scale = await world.admin.getScale(resources.deployments, { namespace: SHOP, name: "web" }, signal());
    expect(scale?.spec.replicas).toBe(5);
    const identity = grant.status?.conditions?.find(({ type }) => type === "IdentityVerified");
    expect(identity).toMatchObject(
      title.includes("namespaces only")
        ? { status: "False", message: expect.stringContaining("it needs get on validatingadmissionpolicies") }
        : { status: "True", reason: stamps ? "StampedByAdmission" : "ClaimCheckedByPolicy" },
    );
  });

  test("is found to work by its own check, and a wrong key is told", async () => {
    const env = {
      ...given(rendered, rendered.find(({ kind }) => kind === "Deployment").metadata.name),
      SALLYPORT_PLATFORM_URL: world.gate.url,
      SALLYPORT_RUNTIME_KEY_FILE: world.keyFile,
      SALLYPORT_KUBECONFIG: await cluster().kubeconfigForServiceAccount(names.systemNamespace, names.agentAccount),
    };
    const look = async (more: object): Promise<readonly { readonly ok: boolean; readonly words: string }[]> => {
      const checks = await installationChecks({ ...env, ...more }, []);
      return Promise.all(checks.map((check) => check.look(signal())));
    };
    expect(await look({})).toMatchObject([
      { ok: true, words: expect.stringContaining(`may create requests in ${names.grantsNamespace}`) },
      { ok: true, words: expect.stringContaining(world.managerId) },
    ]);
    const wrongKey = join(cluster().dir, "wrong-key");
    await writeFile(wrongKey, "sk_not-a-key-of-this-platform");
    const elsewhere = { SALLYPORT_RUNTIME_KEY_FILE: wrongKey, SALLYPORT_GRANTS_NAMESPACE: "elsewhere" };
    expect(await look(elsewhere)).toMatchObject([
      { ok: false, words: expect.stringContaining("may not create requests in elsewhere") },
      { ok: false, words: expect.stringContaining("refuses the runtime key") },
    ]);
  });

  test.runIf(installed === RENAMED)("keeps what an admission policy keeps by name", async () => {
    const suite = renamed(
      readFileSync(join(import.meta.dirname, "../integration/access-grants/cases.json"), "utf8"),
      names,
    );
    await cluster().apply(expand(suite.fixtures, suite.namespaces) as Record<string, unknown>[]);
    using replay = new Replay(cluster(), suite, { typesNames: !stamps });
    const named = ["R05", "R15", "R17", "R23"];
    const cases = suite.cases.filter(({ id }) => named.includes(id));
    expect(cases).toHaveLength(4);
    // A policy is in force a while after it exists, each at its own time: on a busy machine ten seconds.
    const patient = cases.map((each) => ({
      ...each,
      steps: each.steps.map((step) => ({ withinSeconds: 60, ...step })),
    }));
    for (const each of patient) expect(await replay.run(each), each.id).toBeUndefined();
  });
});

/** The contract's cases, with other namespaces and accounts. */
function renamed(
  text: string,
  { systemNamespace: system, grantsNamespace: grants, agentAccount, operatorAccount }: InstallationNames,
): Suite {
  const other = text
    .replaceAll(/"as": ?"agent"/g, `"as": "sa:${system}/${agentAccount}"`)
    .replaceAll(/"as": ?"operator"/g, `"as": "sa:${system}/${operatorAccount}"`)
    .replaceAll(/sallyport-operator(?!-)/g, operatorAccount);
  const suite = JSON.parse(other) as Suite;
  return { ...suite, namespaces: { ...suite.namespaces, system, grants } };
}
