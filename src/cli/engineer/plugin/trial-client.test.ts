import { Readable } from "node:stream";
import { expect, it } from "vitest";
import type { Connection, WireRequest } from "../../../kube/client/connection.ts";
import { TrialClient } from "./trial-client.ts";

const DEPLOYMENTS = { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true };
const CONFIG_MAPS = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
const PODS = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const KEY = { namespace: "shop", name: "web" };
const { signal } = new AbortController();

function trial(apply: boolean, answer: (request: WireRequest) => object = () => ({ metadata: {} })) {
  const sent: string[] = [];
  const told: string[] = [];
  const connection = {
    server: "https://example.com",
    userAgent: "test",
    async request(request: WireRequest) {
      sent.push(`${request.method} ${request.path.replace(/^.*namespaces\/shop\//, "")}`);
      return { status: 200, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(answer(request)))]) };
    },
  } as unknown as Connection;
  return { client: new TrialClient(connection, { apply, tell: (line) => told.push(line) }), sent, told };
}

/** A Deployment as the API server answers with it: `now` to a patch, `was` to a read. */
const deployment = (was: object, now: object) => (request: WireRequest) => ({
  metadata: { name: "web" },
  spec: request.method === "PATCH" ? now : was,
});

it("sends each change as a dry run, and says each request", async () => {
  const { client, told } = trial(false);
  const object = { metadata: { namespace: "shop", name: "web" }, data: { a: "b" } };
  await client.create(CONFIG_MAPS, object, signal);
  await client.patch(CONFIG_MAPS, KEY, { type: "merge", body: { data: { a: "c" } } }, {}, signal);
  await client.delete(CONFIG_MAPS, KEY, {}, signal);
  await client.get(CONFIG_MAPS, KEY, signal);
  const query = "?fieldManager=sallyport-plugin-test&dryRun=All";
  expect(told).toEqual([
    `POST /api/v1/namespaces/shop/configmaps${query} ${JSON.stringify(object)}`,
    `PATCH /api/v1/namespaces/shop/configmaps/web${query} {"data":{"a":"c"}}`,
    "DELETE /api/v1/namespaces/shop/configmaps/web?dryRun=All",
    "GET /api/v1/namespaces/shop/configmaps/web",
  ]);
});

it("says dryRun in the body of a deletion, because the API server does not read the query of one with a body", async () => {
  const bodies: unknown[] = [];
  const { client } = trial(false, ({ body }) => bodies.push(JSON.parse(body ?? "")) && {});
  await client.delete(CONFIG_MAPS, KEY, { propagationPolicy: "Background" }, signal);
  expect(bodies).toMatchObject([{ kind: "DeleteOptions", propagationPolicy: "Background", dryRun: ["All"] }]);
});

it("really changes when it is told to", async () => {
  const { client, sent } = trial(true);
  await client.patch(CONFIG_MAPS, KEY, { type: "json", body: [{ op: "remove", path: "/data/a" }] }, {}, signal);
  expect(sent).toEqual(["PATCH configmaps/web?fieldManager=sallyport-plugin-test"]);
});

const TEMPLATE = { spec: { containers: [{ name: "web", image: "a" }] } };
const OTHER = { spec: { containers: [{ name: "web", image: "b" }] } };
const DRY = "PATCH deployments/web?fieldManager=sallyport-plugin-test&dryRun=All";

it.each([
  ["another image", { template: OTHER, replicas: 1 }, "nothing of its pods"],
  ["another selector", { template: TEMPLATE, replicas: 1, selector: {} }, "nothing of its pods"],
  ["5000 replicas", { template: TEMPLATE, replicas: 5_000 }, "at most 1000 replicas"],
])("refuses a patch that gives a workload %s, in a dry run and before it is applied", async (_, now, words) => {
  for (const apply of [false, true]) {
    const { client, sent } = trial(apply, deployment({ template: TEMPLATE, replicas: 1 }, now));
    const patched = client.patch(DEPLOYMENTS, KEY, { type: "merge", body: { spec: now } }, {}, signal);
    await expect(patched).rejects.toMatchObject({ status: 422, message: expect.stringContaining(words) });
    expect(sent).toEqual(["GET deployments/web", DRY]);
  }
});

it("applies what the policies let through, once", async () => {
  const restarted = { ...TEMPLATE, metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "now" } } };
  const now = { template: restarted, replicas: 1_000 };
  const { client, sent, told } = trial(true, deployment({ template: TEMPLATE, replicas: 1 }, now));
  await client.patch(DEPLOYMENTS, KEY, { type: "merge", body: { spec: now } }, {}, signal);
  expect(sent).toEqual(["GET deployments/web", DRY, DRY.replace("&dryRun=All", "")]);
  expect(told).toHaveLength(1);
});

it("refuses a scale beyond the bound", async () => {
  const { client } = trial(false, () => ({ metadata: {}, spec: { replicas: 5_000 } }));
  const scaled = client.patch(DEPLOYMENTS, KEY, { type: "merge", body: {} }, { subresource: "scale" }, signal);
  await expect(scaled).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining("at most 1000 replicas"),
  });
});

it.each([
  ["has no owner", undefined, false],
  ["is a node's own", { controller: true, kind: "Node" }, false],
  ["has an owner that is no controller", { kind: "ReplicaSet" }, false],
  ["a controller replaces", { controller: true, kind: "ReplicaSet" }, true],
])("a pod that %s: whether it is deleted", async (_, owner, isDeleted) => {
  const metadata = owner === undefined ? {} : { ownerReferences: [owner] };
  const { client, sent } = trial(true, () => ({ metadata }));
  const deleted = client.delete(PODS, KEY, {}, signal);
  if (isDeleted) await deleted;
  else await expect(deleted).rejects.toMatchObject({ status: 422, message: expect.stringContaining("replaces") });
  expect(sent).toEqual(["GET pods/web", ...(isDeleted ? ["DELETE pods/web"] : [])]);
});
