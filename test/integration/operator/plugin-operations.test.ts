import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { TrialClient } from "../../../src/cli/engineer/plugin/trial-client.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { readEnabledPlugins } from "../../../src/plugins/enabled-plugins.ts";
import { INSTALLED } from "../../world/installation.ts";
import { condition, metric } from "../../world/objects.ts";
import { SHOP } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { OperatorWorld, type RunningOperator } from "./operator-world.ts";

const DEPLOYMENTS = { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "patch"] };
const PODS = { apiGroups: [""], resources: ["pods"], verbs: ["list"] };

/** As the chart hands it over. */
const VALUES = {
  search: {
    version: "1.0.0",
    operations: {
      mark: { tier: "mutating", rules: [DEPLOYMENTS] },
      more: { tier: "mutating", rules: [DEPLOYMENTS] },
    },
  },
};

const declared = (name: string, rules: readonly object[]) => ({
  name,
  tier: "mutating",
  description: "For a test.",
  paramsSchema: {
    type: "object",
    required: ["namespace", "patch"],
    additionalProperties: false,
    properties: { namespace: { type: "string" }, patch: { type: "string" } },
  },
  rules,
  timeLimitSeconds: 60,
  result: { said: "What became of it." },
});

const METADATA = {
  name: "search",
  version: "1.0.0",
  tier: "mutating",
  description: "For a test.",
  module: "plugin.mjs",
  operations: [declared("mark", [DEPLOYMENTS]), declared("more", [DEPLOYMENTS, PODS]), declared("off", [DEPLOYMENTS])],
};

const MODULE = `import { defineOperation } from "@sallyport/plugin";
const WEB = { group: "apps", version: "v1", plural: "deployments" };
const mark = defineOperation({
  async run({ client, params }) {
    const key = { namespace: params.namespace, name: "web" };
    // As long as nothing was answered, a refusal is taken for a role that is not seen yet, and the run begins again.
    await client.get(WEB, key);
    return client.patch(WEB, key, JSON.parse(params.patch)).then(() => ({ said: "done" }), (error) => ({ said: error.status + " " + error.message }));
  },
  async verify({ client, params }, done) {
    const web = await client.get(WEB, { namespace: params.namespace, name: "web" });
    return { said: done.said, hidden: web.spec };
  },
});
export default { mark, more: mark, off: mark };
`;

const OWNER = { apiVersion: "v1", kind: "Pod", name: "x", uid: "x" };

const cluster = useCluster({ controllers: true, holds: INSTALLED });
let world: OperatorWorld;
let operator: RunningOperator;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-plugins-"));
  await mkdir(join(folder, "search"));
  await writeFile(join(folder, "search", "metadata.json"), JSON.stringify(METADATA));
  await writeFile(join(folder, "search", "plugin.mjs"), MODULE);
  const plugins = readEnabledPlugins(VALUES) ?? [];
  world = await OperatorWorld.create(cluster(), { ...DEFAULT_NAMES, plugins });
  operator = world.start("operator-with-plugins", { plugins, pluginFolder: folder });
});

afterAll(async () => {
  await operator.stop();
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

async function marked(patch: object): Promise<unknown> {
  const params = { namespace: SHOP, patch: JSON.stringify(patch) };
  const grant = await world.approved([{ command: "search/mark", params }]);
  const ended = await world.ended(await world.invoke("search/mark", params, { grantName: grant.metadata.name }));
  expect(ended.status?.state, JSON.stringify(ended.status)).toBe("Succeeded");
  return ended.status?.result;
}

test("an approved operation of a plugin runs as the grant's account, and says its declared words alone", async () => {
  expect(await marked({ metadata: { annotations: { "search.example/mark": "yes" } } })).toEqual({ said: "done" });
  const web = await world.admin.get(resources.deployments, { namespace: SHOP, name: "web" }, signal());
  expect(web?.metadata.annotations).toMatchObject({ "search.example/mark": "yes" });
  const labels = `plugin="custom",operation="custom",result="success"`;
  expect(await metric(operator.registry, `sallyport_operations_total{${labels}}`)).toBe(1);
  expect(await metric(operator.registry, "sallyport_plugin_problems")).toBe(1);
});

// What `sallyport plugin test` says of a patch has to be what the policies say of it.
const REFUSED: readonly (readonly [string, object, string])[] = [
  [
    "an image",
    { spec: { template: { spec: { containers: [{ name: "web", image: "other" }] } } } },
    "nothing of its pods",
  ],
  ["an account", { spec: { template: { spec: { serviceAccountName: "other" } } } }, "nothing of its pods"],
  ["an annotation of pods", { spec: { template: { metadata: { annotations: { a: "b" } } } } }, "nothing of its pods"],
  ["a finalizer", { metadata: { finalizers: ["search.example/x"] } }, "nothing of its pods"],
  ["2000 replicas", { spec: { replicas: 2_000 } }, "at most 1000 replicas"],
];

/** As the author tries it: with an account that no policy binds, and as a dry run. */
async function tried(patch: object): Promise<string> {
  const connection = await connect({ kubeconfig: cluster().adminKubeconfig });
  try {
    const client = new TrialClient(connection, { apply: false, tell: () => undefined });
    const key = { namespace: SHOP, name: "web" };
    await client.patch(resources.deployments, key, { type: "merge", body: patch }, {}, signal());
    return "done";
  } catch (error) {
    return String(error);
  } finally {
    await connection.close();
  }
}

test.each(REFUSED)("the account of a plugin that may patch workloads gives one no %s", async (_, patch, words) => {
  const result = await marked(patch);
  expect(result).toEqual({ said: expect.stringMatching(/^(403|422) /) });
  expect(JSON.stringify(result)).toContain(words);
  expect(await tried(patch)).toContain(words);
});

test("an owner is no request that the operator sends", async () => {
  const words = "a plugin writes labels, annotations, finalizers alone";
  expect(await marked({ metadata: { ownerReferences: [OWNER] } })).toEqual({ said: expect.stringContaining(words) });
});

test("what the policies let a plugin change of a workload, plugin test lets it change too", async () => {
  const template = { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" } } };
  const spec = { replicas: 1_000, minReadySeconds: 3, revisionHistoryLimit: 4, progressDeadlineSeconds: 700, template };
  const metadata = { labels: { "search.example/a": "b" }, annotations: { "search.example/c": "d" } };
  const patch = { metadata, spec: { ...spec, paused: true, strategy: { rollingUpdate: { maxSurge: 2 } } } };
  expect(await tried(patch)).toBe("done");
  expect(await marked(patch)).toEqual({ said: "done" });
});

test("with a stolen operator the policies refuse a grant's account an owner", async () => {
  // The group gives every right: what is refused, policies refuse.
  const as = [`--as=system:serviceaccount:${DEFAULT_NAMES.grantsNamespace}:of-a-grant`, "--as-group=system:masters"];
  const patch = (metadata: object) =>
    cluster().kubectl(["patch", "deployment", "web", "-n", SHOP, ...as, "-p", JSON.stringify({ metadata })]);
  expect(await patch({ labels: { "search.example/mark": "yes" } })).toMatchObject({ code: 0 });
  const refused = await patch({ ownerReferences: [OWNER] });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("nothing of its pods");
});

test.each([
  ["search/more", "RuleMissing", "RuleMissing", "search/more needs list pods, which its rules in the install values"],
  ["search/off", "UnknownOperation", "OperationMissing", "the install values (plugins) do not enable it"],
])("%s is shown as what cannot run, and held with %s", async (command, reason, permitted, words) => {
  const params = { namespace: SHOP, patch: "{}" };
  // What is not enabled counts as destructive, and the plan has to say so.
  const risk = reason === "RuleMissing" ? "mutating" : "destructive";
  const grant = await world.ask([{ command, params }], risk);
  const shown = await world.grant(grant, (each) => condition(each, "Permitted")?.startsWith("False") === true);
  expect(condition(shown, "Permitted")).toBe(`False/${permitted}`);
  await world.decide(grant, {
    approvedForMinutes: 30,
    ...(risk === "destructive" && { approvedPlanHash: grant.spec.planHash }),
  });
  await world.grant(grant, ({ status }) => status?.state === "Approved");
  const ended = await world.ended(await world.invoke(command, params, { grantName: grant.metadata.name, tier: risk }));
  expect([ended.status?.state, condition(ended, "Authorized")]).toEqual(["Held", `False/${reason}`]);
  expect(JSON.stringify(ended.status)).toContain(words);
});
