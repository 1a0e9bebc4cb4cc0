import { expect, test } from "vitest";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Exchange, ExchangeRequest } from "../../../kube/client/exchange.ts";
import { applyObject } from "./apply-object.ts";
import { type LiveObject, ReleaseApi } from "./release-api.ts";

const signal = new AbortController().signal;
const MEMBERSHIP = { "example.com/member": "yes" };
const JOBS = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };

/** The names that a plan has asked for because this Job failed before, in two dry runs. */
async function triedFor(name: string): Promise<readonly string[]> {
  const tried: string[] = [];
  const json = async ({ method, path, query }: ExchangeRequest): Promise<unknown> => {
    const asked = path.split("/").at(-1) ?? "";
    tried.push(asked);
    expect([method, query?.dryRun]).toEqual(["PATCH", "All"]);
    if (asked.endsWith("-again")) throw new ApiError("there", { status: 409, reason: "Conflict" });
    return {};
  };
  // It may be deleted, too, which is tried before.
  const bytes = async ({ method, query }: ExchangeRequest): Promise<unknown> => [method, query?.dryRun];
  const api = new ReleaseApi({ json, bytes } as unknown as Exchange, () => undefined);
  const metadata = { name, namespace: "shop", labels: MEMBERSHIP };
  const manifest = { apiVersion: "batch/v1", kind: "Job", metadata, spec: {} };
  const listed = {
    ...manifest,
    metadata: { ...metadata, uid: "u-1", resourceVersion: "7", creationTimestamp: "2026-01-01T10:00:00Z" },
    status: { conditions: [{ type: "Failed", status: "True" }] },
  } as unknown as LiveObject;
  const how = {
    isDryRun: true,
    takesOver: false,
    isFrozen: false,
    wasInstalled: true,
    isDone: false,
    keepsReplicas: false,
    recreates: false,
  };
  const wish = { ...how, resource: JOBS, manifest, listed, startedAt: undefined };
  for (let run = 0; run < 2; run += 1) {
    expect(await applyObject(api, MEMBERSHIP, wish, signal)).toMatchObject({ did: "changed", fields: [".status"] });
  }
  return tried;
}

test.each([
  ["migrate", "migrate-"],
  [`${"m".repeat(53)}-9876543210`.slice(0, 63), `${"m".repeat(53)}-`],
  [`${"m".repeat(52)}.-9.876543`, `${"m".repeat(52)}-`],
  ["m".repeat(63), `${"m".repeat(54)}-`],
])("a Job that failed is tried out under a valid name that no one has: %s", async (name, start) => {
  const tried = await triedFor(name);
  expect(tried).toHaveLength(2);
  expect(new Set(tried).size).toBe(2);
  for (const each of tried) {
    expect(each.startsWith(start)).toBe(true);
    expect(each).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    expect(each.length).toBeLessThanOrEqual(63);
  }
});

const DEPLOYMENTS = { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true };
const OWN_REPLICAS = { manager: "sallyport-release", operation: "Apply", fieldsV1: { "f:spec": { "f:replicas": {} } } };
const SCALED = { manager: "kube-controller-manager", operation: "Update", subresource: "scale" };
const live = (replicas: number, managedFields: readonly object[]): LiveObject =>
  ({
    ...{ apiVersion: "apps/v1", kind: "Deployment", spec: { replicas } },
    metadata: {
      ...{ name: "web", namespace: "shop", labels: MEMBERSHIP, uid: "u-1", resourceVersion: "7" },
      ...{ creationTimestamp: "2026-01-01T10:00:00Z", managedFields },
    },
  }) as unknown as LiveObject;

/** The numbers of copies that are applied to these objects, one after the other as they are read. */
async function appliedTo(keepsReplicas: boolean, ...[listed, ...read]: readonly LiveObject[]): Promise<unknown[]> {
  const sent: unknown[] = [];
  const json = async ({ method, body }: ExchangeRequest): Promise<unknown> => {
    if (method === "GET") return read.shift();
    sent.push((body as { spec: { replicas?: number } }).spec.replicas);
    if (read.length === 0) return live(0, []);
    const causes = [{ reason: "FieldManagerConflict", field: ".spec.replicas", message: 'conflict with "x"' }];
    throw new ApiError("conflict", { status: 409, reason: "Conflict", body: { details: { causes } } });
  };
  const api = new ReleaseApi({ json } as unknown as Exchange, () => undefined);
  const metadata = { name: "web", namespace: "shop", labels: MEMBERSHIP };
  const manifest = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { paused: false } };
  const how = { isDryRun: false, takesOver: false, isFrozen: false, wasInstalled: true, isDone: false };
  const wish = {
    ...how,
    keepsReplicas,
    recreates: false,
    resource: DEPLOYMENTS,
    manifest,
    listed,
    startedAt: undefined,
  };
  expect(await applyObject(api, MEMBERSHIP, wish, signal)).toMatchObject({ overrides: [] });
  return sent;
}

test("a workload that gets an autoscaler keeps its copies until that has written another number", async () => {
  expect(await appliedTo(true, live(3, [OWN_REPLICAS]))).toEqual([3]);
  expect(await appliedTo(true, live(5, [SCALED]))).toEqual([undefined]);
  expect(await appliedTo(false, live(3, [OWN_REPLICAS]))).toEqual([undefined]);
  // Of one that has none an autoscaler would never make more.
  expect(await appliedTo(true, live(0, [OWN_REPLICAS]))).toEqual([undefined]);
});

test("it has written it between the look and the write: the next try leaves it out, and nothing is told", async () => {
  expect(await appliedTo(true, live(3, [OWN_REPLICAS]), live(5, [SCALED]))).toEqual([3, undefined]);
});

const immutable = {
  reason: "FieldValueInvalid",
  field: "spec.selector",
  message: "Invalid value: {}: field is immutable",
};
const claims = { volumeClaimTemplates: [{ metadata: { name: "data" } }] };

/** What is sent for an object of which a field cannot be changed, and what comes of it. */
async function ofLasting(
  wanted: { readonly isDryRun?: boolean; readonly recreates?: boolean; readonly takesOver?: boolean },
  {
    kind = "Deployment",
    spec = {},
    causes = [immutable] as readonly object[],
    isApplied = true,
    others = [] as readonly object[],
  } = {},
): Promise<{ readonly sent: readonly string[]; readonly result: object }> {
  const sent: string[] = [];
  const listed = { ...live(1, isApplied ? [OWN_REPLICAS, ...others] : []), kind, spec } as unknown as LiveObject;
  const send = async ({ method, path, query }: ExchangeRequest): Promise<unknown> => {
    const name = path.split("/").at(-1) ?? "";
    if (method === "GET") return listed;
    sent.push(`${method} ${name.replace(/-[0-9a-f]{8}$/, "-…")}${query?.dryRun === undefined ? "" : " dry"}`);
    if (method === "PATCH" && name === "web") {
      throw new ApiError("invalid", { status: 422, reason: "Invalid", body: { details: { causes } } });
    }
    return {};
  };
  const api = new ReleaseApi({ json: send, bytes: send } as unknown as Exchange, () => undefined);
  const apiVersion = kind === "PersistentVolumeClaim" ? "v1" : "apps/v1";
  const manifest = { apiVersion, kind, metadata: { name: "web", namespace: "shop", labels: MEMBERSHIP } };
  const how = { isDryRun: false, takesOver: false, isFrozen: false, wasInstalled: isApplied, isDone: false };
  const wish = { ...how, keepsReplicas: false, recreates: true, resource: DEPLOYMENTS, manifest, startedAt: undefined };
  const result = await applyObject(api, MEMBERSHIP, { ...wish, listed, ...wanted }, signal);
  return { sent, result };
}

test("a controller's status is no field of others", async () => {
  const others = [{ manager: "kube-controller-manager", operation: "Update", subresource: "status" }];
  expect((await ofLasting({ isDryRun: true }, { others })).result).toMatchObject({ did: "recreates" });
});

test("what cannot be changed is deleted, and made by the next try; a dry run shows that both may be done", async () => {
  expect(await ofLasting({ isDryRun: true })).toEqual({
    sent: ["PATCH web dry", "DELETE web dry", "PATCH web-… dry"],
    result: { did: "recreates", overrides: [], fields: [".spec.selector"] },
  });
  expect(await ofLasting({})).toMatchObject({
    sent: ["PATCH web", "DELETE web"],
    result: { message: "what cannot be changed is deleted, and made again", isTemporary: true },
  });
});

test.each<[string, Parameters<typeof ofLasting>[0], Parameters<typeof ofLasting>[1]]>([
  ["without the customer's word", { recreates: false }, {}],
  ["of what the customer lets it take over", { takesOver: true }, {}],
  ["of what it has not made", { takesOver: true }, { isApplied: false }],
  ["of a StatefulSet with claims", {}, { kind: "StatefulSet", spec: claims }],
  ["of what others own fields of", {}, { others: [{ manager: "kubectl-edit", operation: "Update" }] }],
  ["of what an autoscaler has scaled", {}, { others: [SCALED] }],
  ["of a volume claim", {}, { kind: "PersistentVolumeClaim" }],
  [
    "with another field that is wrong",
    {},
    { causes: [{ field: "spec.x", message: "Invalid value: 1: no" }, immutable] },
  ],
])("nothing is made anew %s", async (_, wanted, of) => {
  const { sent, result } = await ofLasting(wanted, of);
  expect(sent.filter((each) => each !== "PATCH web")).toEqual([]);
  expect(result).toMatchObject({ isTemporary: false, message: expect.stringContaining("field is immutable") });
});

test.each([
  ["without labels", {}, "it may be labelled example.com/member=yes and named in spec.takeOver"],
  ["with the labels", MEMBERSHIP, "it has the labels, and spec.takeOver may name it"],
])("an object of the customer %s waits for the word that is missing, or for its deletion", async (_, labels, how) => {
  const api = new ReleaseApi({} as Exchange, () => undefined);
  const manifest = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" } };
  const flags = { isDryRun: true, takesOver: false, isFrozen: false, wasInstalled: false, isDone: false };
  const wish = { ...flags, keepsReplicas: false, recreates: true, resource: DEPLOYMENTS, startedAt: undefined };
  const seen = live(1, []);
  const listed = { ...seen, metadata: { ...seen.metadata, labels } } as LiveObject;
  const said = async (spec: object) => {
    const result = await applyObject(api, MEMBERSHIP, { ...wish, listed, manifest: { ...manifest, spec } }, signal);
    return [(result as { isAdoptable?: boolean }).isAdoptable, (result as { message: string }).message];
  };
  const notOurs = "NotOurs: an object of this name is there that this deployment has not made; ";
  expect(await said({})).toEqual([true, `${notOurs}${how}`]);
  expect(await said({ selector: { matchLabels: { app: "web" } } })).toEqual([
    true,
    expect.stringContaining(`${notOurs}it cannot be taken over, because its selector`),
  ]);
});
