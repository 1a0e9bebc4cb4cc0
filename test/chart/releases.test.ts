import { dirname } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { findPrograms } from "../../lab/cluster/programs.ts";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../src/base/testing/full.ts";
import { pageCommands, runCommands } from "./page-commands.ts";
import { CHART, REQUIRED, useHelm } from "./use-helm.ts";

// The real helm against a real API server: what only both together refuse.
const helm = useHelm();
const cluster = useCluster();

async function run(verb: string, name: string, namespace: string, ...set: readonly string[]): Promise<string> {
  const base = [`platform.url=${REQUIRED.platform.url}`, "runtimeKey.existingSecret=key", ...set];
  const args = [verb, name, "-n", namespace, "--kubeconfig", cluster().adminKubeconfig];
  const rest =
    verb === "uninstall" ? [] : [CHART, ...base.flatMap((each) => (each.startsWith("--") ? [each] : ["--set", each]))];
  const { code, stderr } = await helm.run([...args, ...rest]);
  return code === 0 ? "" : stderr;
}

const names = async (kind: string, namespace: string): Promise<readonly string[]> => {
  const { stdout } = await cluster().kubectl(["get", kind, "-n", namespace, "-o", "name"]);
  return stdout
    .split("\n")
    .map((line) => line.replace(/^.*\//, ""))
    .filter((each) => each.startsWith("sallyport-"));
};

beforeAll(async () => {
  const namespaces = ["sallyport-system", "shop", "elsewhere", "12345", "999"];
  await cluster().apply(namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
});

test("a missing namespace is named before anything is made, and the next try succeeds", async () => {
  const refused = await run(
    "install",
    "sallyport",
    "sallyport-system",
    "namespaces={shop,jobs}",
    "deployments.dep_a={gone}",
  );
  expect(refused).toContain("namespaces that do not exist: jobs, gone.");
  expect(await run("install", "sallyport", "sallyport-system", "namespaces={gone}")).toContain("do not exist: gone.");
  expect(await names("serviceaccounts", "sallyport-system")).toEqual([]);
  expect(await run("install", "sallyport", "sallyport-system", "namespaces={shop}")).toBe("");
});

fullOnly("rbac.scope changes on a live release, and back", async () => {
  const roles = ["sallyport-agent-observe-role", "sallyport-operator-target-role"];
  expect(await run("upgrade", "sallyport", "sallyport-system", "namespaces={shop}", "rbac.scope=namespaces")).toBe("");
  expect(await names("rolebindings", "shop")).toEqual(roles);
  expect(await run("upgrade", "sallyport", "sallyport-system", "namespaces={shop}")).toBe("");
  expect(await names("rolebindings", "shop")).toEqual(["sallyport-agent-observe", "sallyport-operator-target"]);
});

test("a second vendor's installation is refused in words, before anything is made", async () => {
  const refused = await run("install", "second", "999");
  expect(refused).toContain(
    "This cluster has an installation of Sallyport: release sallyport, with its operator sallyport-operator in namespace sallyport-system.",
  );
  expect(await names("serviceaccounts", "999")).toEqual([]);
  // Found as well where the first one's objects and namespace are renamed.
  const renamed = ["namespaces={shop}", "nameOverride=gate", "namespaceOverride=elsewhere"];
  expect(await run("upgrade", "sallyport", "sallyport-system", ...renamed)).toBe("");
  expect(await run("install", "second", "999")).toContain("operator sallyport-gate-operator in namespace elsewhere.");
  expect(await run("upgrade", "sallyport", "sallyport-system", "namespaces={shop}")).toBe("");
});

test("a variable of the chart is overridden by an upgrade, and given back", async () => {
  const own = ["agent.extraEnv[0].name=NODE_OPTIONS", "agent.extraEnv[0].value=--max-old-space-size=100"];
  expect(await run("upgrade", "sallyport", "sallyport-system", ...own)).toBe("");
  expect(await run("upgrade", "sallyport", "sallyport-system")).toBe("");
  expect(await run("uninstall", "sallyport", "sallyport-system")).toBe("");
});

test("another release takes what an uninstall keeps, once the page's commands have given it over", async () => {
  expect(await run("install", "other", "elsewhere")).toContain("cannot be imported");
  const hand =
    pageCommands("docs/upgrade.md", "Uninstall").find((commands) => commands.includes("kubectl annotate")) ?? "";
  const { kubectl } = await findPrograms({}, AbortSignal.timeout(600_000));
  const { dir: home, adminKubeconfig: kubeconfig } = cluster();
  const given = hand.replaceAll("=NAMESPACE", "=elsewhere").replaceAll("=NAME", "=other");
  const { code, stderr } = await runCommands(given, { folders: [dirname(kubectl)], kubeconfig, home });
  expect(code, stderr).toBe(0);
  expect(await run("install", "other", "elsewhere")).toBe("");
  expect(await run("uninstall", "other", "elsewhere")).toBe("");
});

fullOnly("names and labels that look like numbers are taken by the server", async () => {
  const numbers = [
    '--set-json=namespaces=["12345"]',
    "--set-string=grantsNamespace=67890",
    "commonLabels.count=1000000",
    "commonAnnotations.count=1000000",
    "agent.nodeSelector.generation=1000000",
    "agent.podLabels.on=true",
    "networkPolicy.enabled=true",
    "quota.create=true",
    "agent.replicas=2",
  ];
  for (const scope of ["cluster", "namespaces"]) {
    // The kinds belong to the release before, and stay: the new one takes them over only where it does not make them.
    const more = ["crds.enabled=false", "operationPolicy.create=false", `rbac.scope=${scope}`];
    expect(await run("install", "true", "999", ...numbers, ...more), scope).toBe("");
    expect(await names("rolebindings", "12345"), scope).toHaveLength(2);
    expect(await run("uninstall", "true", "999"), scope).toBe("");
  }
});
