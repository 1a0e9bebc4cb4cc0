import { expect, it } from "vitest";
import { ApiError as ServerError } from "../../../kube/client/api-error.ts";
import type { Exchange, ExchangeRequest } from "../../../kube/client/exchange.ts";
import type { PluginOperation } from "../../../plugins/metadata.ts";
import { TrialClient } from "./trial-client.ts";

const DEPLOYMENTS = { group: "apps", version: "v1", plural: "deployments" };
const CONFIG_MAPS = { group: "", version: "v1", plural: "configmaps" };
const KEY = { namespace: "shop", name: "web" };

const operation: PluginOperation = {
  ...{ name: "set", tier: "mutating", description: "", timeLimitSeconds: 1, result: {} },
  paramsSchema: { type: "object" },
  rules: [
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "create", "patch", "delete"] },
    { apiGroups: ["apps"], resources: ["deployments/scale"], verbs: ["patch"] },
  ],
};

function trial(apply: boolean, answer: (request: ExchangeRequest) => object) {
  const sent: ExchangeRequest[] = [];
  const told: string[] = [];
  const exchange = {
    async bytes(request: ExchangeRequest) {
      sent.push(request);
      return { body: Buffer.from(JSON.stringify(answer(request))), contentType: "application/json" };
    },
  } as unknown as Exchange;
  const { signal } = new AbortController();
  const client = new TrialClient({
    exchange,
    operation,
    namespace: "shop",
    apply,
    tell: (line) => told.push(line),
    signal,
  });
  return { client, sent, told };
}

it("sends each change as a dry run, and says each request", async () => {
  const { client, told } = trial(false, () => ({}));
  const object = { metadata: { namespace: "shop", name: "web" }, data: { a: "b" } };
  await client.create(CONFIG_MAPS, object);
  await client.patch(CONFIG_MAPS, KEY, { data: { a: "c" } });
  await client.patch(DEPLOYMENTS, KEY, { spec: { replicas: 2 } }, { subresource: "scale", type: "strategic" });
  await client.delete(CONFIG_MAPS, KEY);
  await client.get(CONFIG_MAPS, KEY);
  const query = "?fieldManager=sallyport-plugin-test&dryRun=All";
  expect(told).toEqual([
    `POST /api/v1/namespaces/shop/configmaps${query} ${JSON.stringify(object)}`,
    `PATCH /api/v1/namespaces/shop/configmaps/web${query} {"data":{"a":"c"}}`,
    `PATCH /apis/apps/v1/namespaces/shop/deployments/web/scale${query} {"spec":{"replicas":2}}`,
    `DELETE /api/v1/namespaces/shop/configmaps/web${query}`,
    "GET /api/v1/namespaces/shop/configmaps/web",
  ]);
});

it("really changes when it is told to", async () => {
  const { client, sent } = trial(true, () => ({}));
  await client.patch(CONFIG_MAPS, KEY, [{ op: "remove", path: "/data/a" }], { type: "json" });
  expect(sent).toMatchObject([
    { contentType: "application/json-patch+json", query: { fieldManager: expect.any(String) } },
  ]);
  expect(sent[0]?.query).not.toHaveProperty("dryRun");
});

it("sends nothing that the operator would not send", async () => {
  const { client, sent } = trial(true, () => ({}));
  const owned = client.patch(CONFIG_MAPS, KEY, { metadata: { ownerReferences: [] } });
  await expect(owned).rejects.toMatchObject({
    name: "ApiError",
    status: 400,
    message: expect.stringContaining("ownerReferences"),
  });
  await expect(client.get(CONFIG_MAPS, { ...KEY, name: "../secrets/x" })).rejects.toMatchObject({ status: 400 });
  expect(sent).toEqual([]);
});

it("gives back no more of a list than the operator, of all its pages together", async () => {
  const page = { metadata: { continue: "next" }, items: [{ data: "x".repeat(3 * 1024 * 1024) }] };
  const { client, sent } = trial(false, () => page);
  await expect(client.list(CONFIG_MAPS, { namespace: "shop" })).rejects.toMatchObject({ status: 413 });
  expect(sent).toHaveLength(3);
});

it("sends nothing that no rule covers, and nothing for another namespace", async () => {
  const { client, sent } = trial(true, () => ({}));
  const refused = { name: "ApiError", status: 403 };
  await expect(client.get(DEPLOYMENTS, KEY)).rejects.toMatchObject({
    ...refused,
    message: "no rule of set lets it get apps/deployments: add one to plugin.yaml",
  });
  await expect(client.patch(DEPLOYMENTS, KEY, {}, { subresource: "status" })).rejects.toMatchObject(refused);
  await expect(client.podLogs(KEY)).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining("get pods/log"),
  });
  await expect(client.list(CONFIG_MAPS, { namespace: "other" })).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining("in namespace shop alone"),
  });
  // As a module without types may.
  await expect(client.list(CONFIG_MAPS, {} as never)).rejects.toMatchObject({
    status: 400,
    message: "a request names the namespace of the operation",
  });
  expect(sent).toEqual([]);
});

it("lists page by page, up to a bound", async () => {
  const items = Array.from({ length: 500 }, (_, index) => ({ metadata: { name: `c${index}` } }));
  const pages = (count: number) => {
    let page = 0;
    return trial(false, () => {
      page += 1;
      return { items, metadata: page < count ? { continue: "more" } : {} };
    });
  };
  const few = pages(10);
  expect(await few.client.list(CONFIG_MAPS, { namespace: "shop", labelSelector: "a=b" })).toHaveLength(5_000);
  expect(few.sent).toHaveLength(10);
  expect(few.told[0]).toBe("GET /api/v1/namespaces/shop/configmaps?labelSelector=a%3Db&limit=500");
  await expect(pages(11).client.list(CONFIG_MAPS, { namespace: "shop" })).rejects.toMatchObject({ status: 413 });
});

it("gives what the API server refuses to the plugin by its status, and an absent object as undefined", async () => {
  const failing = (status: number) =>
    trial(true, () => {
      throw new ServerError("server", { status, reason: "", body: { message: "in its words" } });
    }).client;
  expect(await failing(404).get(CONFIG_MAPS, KEY)).toBeUndefined();
  await expect(failing(404).patch(CONFIG_MAPS, KEY, {})).rejects.toMatchObject({ name: "ApiError", status: 404 });
  await expect(failing(409).patch(CONFIG_MAPS, KEY, {})).rejects.toMatchObject({
    status: 409,
    message: "in its words",
  });
});
