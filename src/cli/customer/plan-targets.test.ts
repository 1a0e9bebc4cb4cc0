import { expect, test } from "vitest";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { objectPath } from "../../kube/objects/paths.ts";
import type { ObjectKey, Resource } from "../../kube/objects/resource.ts";
import { foundByEach } from "./plan-targets.ts";

const { signal } = new AbortController();
const SCALE = { kind: "deployment", namespace: "shop", name: "web", replicas: 3 };
const POD = { namespace: "shop", pod: "web-0" };

/** A server that answers each path; of what it does not name there is none. */
function server(answers: Readonly<Record<string, object | number>>) {
  const asked: string[] = [];
  const get = async (resource: Resource, key: ObjectKey) => {
    const path = objectPath(resource, key);
    asked.push(path);
    const answer = answers[path];
    if (typeof answer === "number") throw new ApiError("no", { status: answer, reason: "" });
    return answer;
  };
  return { asked, client: { get, getScale: get } as unknown as Pick<Client, "get" | "getScale"> };
}

const WEB = "/apis/apps/v1/namespaces/shop/deployments/web";
const WEB_0 = "/api/v1/namespaces/shop/pods/web-0";
const deployment = "Deployment web in namespace shop";
const pod = "Pod web-0 in namespace shop";

test.each([
  ["kubernetes/scale", SCALE, { [WEB]: { spec: { replicas: 2 } } }, { replicas: 2 }, deployment, "there"],
  ["kubernetes/scale", SCALE, { [WEB]: { spec: {} } }, { replicas: 0 }, deployment, "there"],
  ["kubernetes/scale", SCALE, {}, {}, deployment, "absent"],
  ["kubernetes/scale", SCALE, { [WEB]: 403 }, {}, deployment, "forbidden"],
  ["kubernetes/scale", SCALE, { [WEB]: 405 }, {}, deployment, "unread"],
  ["kubernetes/scale", { ...SCALE, name: ".." }, {}, {}, "Deployment .. in namespace shop", "unread"],
  ["kubernetes/rollout-restart", SCALE, { [WEB]: {} }, {}, deployment, "there"],
  ["kubernetes/rollout-status", SCALE, {}, {}, deployment, "absent"],
  ["kubernetes/describe", { kind: "pod", namespace: "shop", name: "web-0" }, {}, {}, pod, "absent"],
  ["kubernetes/logs", POD, { [WEB_0]: {} }, {}, pod, "there"],
  ["kubernetes/restart-pod", POD, {}, {}, pod, "absent"],
  ["kubernetes/delete-pod", POD, { [WEB_0]: 403 }, {}, pod, "forbidden"],
  ["kubernetes/cordon-node", { name: "node-1" }, {}, {}, "Node node-1", "absent"],
  ["kubernetes/uncordon-node", { name: "node-1" }, { "/api/v1/nodes/node-1": {} }, {}, "Node node-1", "there"],
  ["kubernetes/logs", { namespace: "shop", pod: "a is there" }, {}, {}, 'Pod "a is there" in namespace shop', "absent"],
])("of %s %j it says whether its object is there", async (command, params, answers, current, object, state) => {
  const found = await foundByEach(server(answers).client, [{ command, params }], signal);
  expect(found).toEqual([{ current, target: { object, state } }]);
});

test.each([
  ["kubernetes/get-pods", { namespace: "shop" }],
  ["kubernetes/events", { namespace: "shop", kind: "Pod", name: "web-0" }],
  ["kubernetes/scale", { ...SCALE, kind: "constructor" }],
  ["kubernetes/logs", { pod: "web-0" }],
  ["acme/flush", { namespace: "shop", pod: "web-0" }],
  ["debug/exec", { namespace: "shop" }],
])("%s %j names no object that is looked up", async (command, params) => {
  const { asked, client } = server({});
  expect(await foundByEach(client, [{ command, params }], signal)).toEqual([{ current: {} }]);
  expect(asked).toEqual([]);
});

test("an API server that cannot answer now is an error, so that the plan is asked for again", async () => {
  const { client } = server({ [WEB]: 503 });
  await expect(foundByEach(client, [{ command: "kubernetes/scale", params: SCALE }], signal)).rejects.toThrow("no");
});
