import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES, GROUP } from "../../../src/crds/group.ts";
import { lentBinding, lentRole } from "../../../src/crds/kinds/lending.ts";
import { openCluster } from "../../../src/crds/manifests/installation.ts";
import { BUILT_IN, OPERATIONS } from "../../../src/crds/operations/catalog.ts";
import { INSTALLED, namespace } from "../../world/installation.ts";
import { eventually } from "../../world/wait.ts";
import { isObject, type Json, type JsonObject, mergePatch } from "./json.ts";
import { type Change, Schemas } from "./openapi.ts";
import { inParallel, type Patch, Requests } from "./requests.ts";
import { NAMESPACE, WORKLOADS, type WorkloadPlural, workload } from "./workloads.ts";

/**
 * Each field that the API server's own OpenAPI document has for a kind that a shipped operation role may patch is
 * changed by a grant account that holds every such role. So the test also covers fields of later Kubernetes versions.
 */

const ADMIN = "other-admin";
const { grantsNamespace } = DEFAULT_NAMES;
const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt";
/** A policy of ours must refuse each field of these in at least one change. */
const LEVELS = [["metadata"], ["spec"], ["spec", "template", "metadata"], ["spec", "template", "spec"]];
/**
 * Except these fields: the API server refuses a change of them by any user. A further field here needs a value in
 * `PLAUSIBLE`.
 */
const METADATA = ["creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "name"];
const COMMON = [
  ...[...METADATA, "namespace", "resourceVersion", "uid"].map((field) => `metadata.${field}`),
  ...["activeDeadlineSeconds", "ephemeralContainers", "restartPolicy"].map((field) => `spec.template.spec.${field}`),
  "spec.selector",
];
const UNCHANGEABLE = {
  deployments: COMMON,
  statefulsets: [...COMMON, "spec.podManagementPolicy", "spec.serviceName", "spec.volumeClaimTemplates"],
  daemonsets: COMMON,
};

const UNSCHEDULABLE = "spec.unschedulable";
const NODE = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "node-1", labels: { disk: "ssd" }, annotations: { "example.com/note": "text" } },
  spec: { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"], taints: [{ key: "spot", effect: "NoSchedule" }] },
};
/** The fields of a node of which a policy of ours must refuse at least one change. */
const GUARDED_OF_NODE = [
  ...["metadata.labels", "metadata.annotations", "metadata.finalizers", "metadata.ownerReferences"],
  ...["spec.taints", "spec.providerID"],
];

const cluster = useCluster({ tokenUsers: [{ user: ADMIN, groups: ["system:masters"] }], holds: INSTALLED });
let requests: Requests;
let grant: Patch;
let admin: Patch;
let schemas: Schemas;

beforeAll(async () => {
  const account = { name: "grant-0123456789ab", namespace: grantsNamespace };
  const bindings = OPERATIONS.flatMap(({ command }) => lentRole(command, NAMESPACE, BUILT_IN) ?? []).map((lent) =>
    lentBinding(lent, account.name, { grantsNamespace }, {}),
  );
  await cluster().apply([
    namespace(NAMESPACE),
    ...[...INSTALLED, ...openCluster()],
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
    ...bindings.map((each) => ({ ...each })),
    NODE,
    ...WORKLOADS.map(({ plural }) => workload(plural)),
  ]);
  requests = new Requests(cluster());
  grant = requests.patchAs(await cluster().serviceAccountToken(account.namespace, account.name));
  admin = requests.patchAs(cluster().tokenFor(ADMIN));
  schemas = new Schemas((await cluster().request({ path: "/openapi/v3/apis/apps/v1" })).body);
  const paused = { spec: { paused: true } };
  await eventually(() => grant(`${pathOf("deployments")}?dryRun=All`, paused), refusedByUs);
  const labelled = { metadata: { labels: { probe: "x" } } };
  await eventually(() => grant("/api/v1/nodes/node-1?dryRun=All", labelled), refusedByUs);
});
afterAll(() => requests?.close());

test("this file knows all that a shipped role may write", () => {
  // Resources of our own group stand for rights that a policy asks for; the API serves no such object.
  const writes = OPERATIONS.flatMap(({ rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      resources.flatMap((resource) =>
        (apiGroups.includes(GROUP) ? [] : verbs)
          .filter((verb) => !["get", "list", "watch"].includes(verb))
          .map((verb) => `${verb} ${resource}`),
      ),
    ),
  );
  const known = WORKLOADS.map(({ plural }) => `patch ${plural}`);
  const scales = ["patch deployments/scale", "patch statefulsets/scale"];
  expect(new Set(writes)).toEqual(new Set([...known, ...scales, "delete pods", "patch nodes"]));
});

describe.each(WORKLOADS)("a grant account and a $kind", ({ kind, plural }) => {
  test("may set the restart annotation, and no other field", async () => {
    const live = (await cluster().request({ path: pathOf(plural) })).body as JsonObject;
    const schema = schemas.ofKind("apps", "v1", kind);
    const holes: string[] = [];
    const guarded = new Set<string>();
    const changes = [...schemas.changes(schema, live)].filter(
      // A pod template accepts no ephemeral containers.
      ({ path }) => !isAnnotation(path) && !(path.includes("ephemeralContainers") && path.length > 4),
    );
    await inParallel(changes, 16, async (change) => {
      const fate = await fateOf(pathOf(plural), live, change);
      if (fate === "guarded") for (const level of LEVELS) guarded.add(change.path.slice(0, level.length + 1).join("."));
      if (fate === "stored") holes.push(change.path.join("."));
    });
    expect(holes).toEqual([]);
    const fields = LEVELS.flatMap((level) => schemas.fields(schema, level).map((field) => [...level, field].join(".")));
    expect(new Set(fields.filter((field) => !guarded.has(field)))).toEqual(new Set(UNCHANGEABLE[plural]));
    const restart = { spec: { template: { metadata: { annotations: { [RESTARTED_AT]: "2026-01-01T00:00:00Z" } } } } };
    expect((await grant(pathOf(plural), restart)).status).toBe(200);
  });
});

describe("a grant account and a Node", () => {
  test("may set spec.unschedulable, and no other field", async () => {
    const path = "/api/v1/nodes/node-1";
    const live = (await cluster().request({ path })).body as JsonObject;
    const core = new Schemas((await cluster().request({ path: "/openapi/v3/api/v1" })).body);
    const schema = core.ofKind("", "v1", "Node");
    const holes: string[] = [];
    const guarded = new Set<string>();
    const changes = [...core.changes(schema, live)].filter((change) => change.path.join(".") !== UNSCHEDULABLE);
    await inParallel(changes, 16, async (change) => {
      const fate = await fateOf(path, live, change);
      if (fate === "guarded") guarded.add(change.path.slice(0, 2).join("."));
      if (fate === "stored") holes.push(change.path.join("."));
    });
    expect(holes).toEqual([]);
    expect([...guarded]).toEqual(expect.arrayContaining(GUARDED_OF_NODE));
    for (const unschedulable of [true, false])
      expect((await grant(path, { spec: { unschedulable } })).status).toBe(200);
  });

  test("cannot forge who owns a field of it, so that the owner's next apply deletes it", async () => {
    const path = "/api/v1/nodes/node-1?dryRun=All";
    const live = (await cluster().request({ path })).body as JsonObject;
    const metadata = live.metadata as JsonObject;
    const [owner, ...others] = metadata.managedFields as readonly JsonObject[];
    const fieldsV1 = { "f:metadata": { "f:labels": { "f:disk": {} } }, "f:spec": { "f:taints": {} } };
    const forged = [{ ...owner, manager: "theirs", fieldsV1 }, ...others];
    expect(refusedByUs(await grant(path, { metadata: { managedFields: forged } }))).toBe(true);
    expect((await admin(path, { metadata: { managedFields: forged } })).status).toBe(200);
  });
});

type Fate = "guarded" | "impossible" | "nothing changes" | "stored";

/** `impossible`: the API server refuses it from an admin too. */
async function fateOf(of: string, live: JsonObject, { value }: Change): Promise<Fate> {
  const path = `${of}?dryRun=All&fieldValidation=Ignore`;
  const patch = mergePatch(live, value as JsonObject);
  const answer = await grant(path, patch);
  if (refusedByUs(answer)) return "guarded";
  if (answer.status === 200) return same(live, answer.body) ? "nothing changes" : "stored";
  expect((await admin(path, patch)).status, JSON.stringify([patch, answer.body])).toBe(answer.status);
  return "impossible";
}

function pathOf(plural: WorkloadPlural): string {
  return `/apis/apps/v1/namespaces/${NAMESPACE}/${plural}/web`;
}

function refusedByUs({ status, body }: { readonly status: number; readonly body: JsonObject }): boolean {
  return status === 403 && String(body.message).includes("ValidatingAdmissionPolicy 'sallyport-");
}

function isAnnotation(path: readonly string[]): boolean {
  return path.join("/") === `spec/template/metadata/annotations/${RESTARTED_AT}`;
}

function same(one: JsonObject, other: JsonObject): boolean {
  const plain = ({ metadata, ...rest }: JsonObject): Json => {
    const { resourceVersion: _, generation: __, ...kept } = isObject(metadata) ? metadata : {};
    return sorted({ ...rest, metadata: kept });
  };
  return JSON.stringify(plain(one)) === JSON.stringify(plain(other));
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}
