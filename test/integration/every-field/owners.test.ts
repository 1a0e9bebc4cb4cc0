import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { lentBinding, lentRole } from "../../../src/crds/kinds/lending.ts";
import { openCluster } from "../../../src/crds/manifests/installation.ts";
import { BUILT_IN, OPERATIONS } from "../../../src/crds/operations/catalog.ts";
import { INSTALLED, namespace } from "../../world/installation.ts";
import { eventually } from "../../world/wait.ts";
import type { JsonObject } from "./json.ts";
import { type Answer, type Patch, Requests } from "./requests.ts";
import { NAMESPACE, workload } from "./workloads.ts";

// What a grant account may write into `managedFields` of the objects that it may patch.

const ADMIN = "other-admin";
const APPLY = "application/apply-patch+yaml";
const { grantsNamespace } = DEFAULT_NAMES;
const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt";
const REFUSED = "may not rewrite who owns which field";
/** The API server's CPU time. A refusal that compares a thousand entries with each other takes tens of seconds. */
const QUICK_SECONDS = 6;

const KINDS = [
  {
    kind: "Node",
    apiVersion: "v1",
    path: "/api/v1/nodes/node-1",
    change: { spec: { unschedulable: true } } as JsonObject,
    owned: (leaf: JsonObject): JsonObject => ({ "f:spec": { "f:unschedulable": leaf } }),
  },
  {
    kind: "Deployment",
    apiVersion: "apps/v1",
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/web`,
    change: { spec: { template: { metadata: { annotations: { [RESTARTED_AT]: "2026-01-01T00:00:00Z" } } } } },
    owned: (leaf: JsonObject): JsonObject => ({
      "f:spec": { "f:template": { "f:metadata": { "f:annotations": { [`f:${RESTARTED_AT}`]: leaf } } } },
    }),
  },
];

const cluster = useCluster({ tokenUsers: [{ user: ADMIN, groups: ["system:masters"] }], holds: INSTALLED });
const cpuSeconds = async (): Promise<number> =>
  Number(/^process_cpu_seconds_total (\S+)$/m.exec(String((await cluster().request({ path: "/metrics" })).body))?.[1]);
let requests: Requests;
let grant: Patch;
let admin: Patch;

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
    { apiVersion: "v1", kind: "Node", metadata: { name: "node-1", labels: { disk: "ssd" } } },
    workload("deployments"),
  ]);
  requests = new Requests(cluster());
  grant = requests.patchAs(await cluster().serviceAccountToken(account.namespace, account.name));
  admin = requests.patchAs(cluster().tokenFor(ADMIN));
  for (const { path } of KINDS)
    await eventually(() => grant(`${path}?dryRun=All`, { metadata: { labels: { probe: "x" } } }), refusedByUs);
});
afterAll(() => requests?.close());

describe.each(KINDS)("owners of fields of a $kind", ({ path, apiVersion, change, owned, kind }) => {
  const dry = `${path}?dryRun=All`;
  const owners = async (): Promise<readonly JsonObject[]> => {
    const { metadata } = (await cluster().request({ path })).body as { metadata: JsonObject };
    return metadata.managedFields as readonly JsonObject[];
  };
  const entry = (more: object = {}): JsonObject => ({
    ...{ manager: "theirs", operation: "Update", apiVersion, fieldsType: "FieldsV1" },
    ...{ time: "2026-01-01T00:00:00Z", fieldsV1: owned({}) },
    ...(more as JsonObject),
  });
  const written = (managedFields: readonly JsonObject[]): Promise<Answer> =>
    grant(dry, { ...change, metadata: { managedFields } });

  // A write that changes the field takes it from all others, so that their entries go: only a repeat can leave them.
  beforeAll(async () => {
    expect((await grant(`${path}?fieldManager=theirs`, change)).status).toBe(200);
  });

  test.each([2, 400, 1000].flatMap((count) => ["Apply", "Update"].map((operation) => ({ count, operation }))))(
    "$count new entries ($operation) are refused, and quickly",
    async ({ count, operation }) => {
      const made = (at: number) => entry({ operation, manager: `m${at}-`.padEnd(128, "x") });
      const many = Array.from({ length: count }, (_, at) => made(at));
      const all = [...(await owners()), ...many];
      const before = await cpuSeconds();
      expectRefused(await written(all));
      expect((await cpuSeconds()) - before).toBeLessThan(QUICK_SECONDS);
    },
  );

  test.each([
    ["of a server-side apply", { operation: "Apply" }],
    ["of a subresource", { subresource: "status" }],
    ["with something below the field", { fieldsV1: owned({ "f:x": {} }) }],
    ["of another field", { fieldsV1: { "f:metadata": { "f:labels": { "f:x": {} } } } }],
    ["that passes for a merged one", { manager: "ancient-changes", fieldsV1: { "f:metadata": { "f:x": {} } } }],
  ])("one new entry %s is refused", async (_, more) => {
    const others = (await owners()).filter(({ manager }) => manager !== "theirs");
    expectRefused(await written([...others, entry(more)]));
  });

  test("a server-side apply by a grant account is refused, which would leave an entry each time", async () => {
    const name = path.split("/").at(-1) ?? "";
    const applied = { apiVersion, kind, metadata: { name }, ...change };
    expectRefused(await grant(`${dry}&fieldManager=m1&force=true`, applied, APPLY));
  });

  test("the field is written beside server-side applies of others, which go on, and beside more writers than are kept", async () => {
    const name = path.split("/").at(-1) ?? "";
    const applied = { apiVersion, kind, metadata: { name, labels: { applied: "x" } }, ...change };
    const apply = (): Promise<Answer> => admin(`${path}?fieldManager=flux&force=true`, applied, APPLY);
    for (const value of ["a", "b"]) {
      expect((await apply()).status).toBe(200);
      expect((await grant(`${path}?fieldManager=sallyport`, changed(change, value))).status).toBe(200);
    }
    expect((await apply()).status).toBe(200);
    for (let at = 0; at < 12; at += 1) {
      const labels = { [`shared-${at % 3}`]: `${at}`, [`own-${at}`]: "x" };
      expect((await admin(`${path}?fieldManager=writer-${at}`, { metadata: { labels } })).status).toBe(200);
      expect((await grant(`${path}?fieldManager=sallyport-${at}`, changed(change, `${at}`))).status).toBe(200);
    }
    const all = await owners();
    expect(all.filter(({ operation }) => operation === "Update").length).toBeLessThanOrEqual(10);
    expect(all.map(({ manager }) => manager)).toContain("ancient-changes");
    // The merged entry gains nothing that no merged writer had, and the writers in it are not dropped.
    const merged = (fieldsV1: JsonObject): readonly JsonObject[] =>
      all.map((each) => (each.manager === "ancient-changes" ? { ...each, fieldsV1 } : each));
    expectRefused(await written(merged({ "f:metadata": { "f:labels": { "f:applied": {} } } })));
    expectRefused(await written(merged({ "f:metadata": { "f:labels": { "f:own-0": { "f:x": {} } } } })));
    expectRefused(await written(merged({})));
    expect((await written(all)).status).toBe(200);
  });
});

/** The same operation once more, with another value: a node's direction stays open to both accounts. */
function changed(change: JsonObject, value: string): JsonObject {
  const text = JSON.stringify(change);
  if (!text.includes(RESTARTED_AT)) return { spec: { unschedulable: value.charCodeAt(value.length - 1) % 2 === 0 } };
  const second = String(value.charCodeAt(0) % 60).padStart(2, "0");
  return JSON.parse(text.replace("00:00:00Z", `00:${String(value.length).padStart(2, "0")}:${second}Z`)) as JsonObject;
}

function expectRefused({ status, body }: Answer): void {
  expect([status, body.message]).toEqual([403, expect.stringContaining(REFUSED)]);
}

function refusedByUs({ status, body }: Answer): boolean {
  return status === 403 && String(body.message).includes("ValidatingAdmissionPolicy 'sallyport-");
}
