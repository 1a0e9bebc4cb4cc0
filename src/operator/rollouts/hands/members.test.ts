import { expect, test } from "vitest";
import { DEPLOYMENT_ID_LABEL } from "../../../crds/release-names.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import { resources } from "../../../kube/objects/resource.ts";
import { memberPods, membersOf } from "./members.ts";
import { type LiveObject, MAX_LISTED, type ReleaseApi } from "./release-api.ts";

const MEMBERSHIP = { [DEPLOYMENT_ID_LABEL]: "dep_1" };
const signal = new AbortController().signal;

const named = (name: string): LiveObject =>
  ({ metadata: { name, namespace: "shop", uid: name, resourceVersion: "7" } }) as LiveObject;

/** Its lists by namespace; what has none is refused. */
function api(lists: Readonly<Record<string, readonly LiveObject[]>>): { api: ReleaseApi; readonly asked: string[] } {
  const asked: string[] = [];
  const list: ReleaseApi["list"] = async ({ plural }, namespace, selector) => {
    asked.push(`${plural} ${namespace} ${selector}`);
    const found = lists[namespace];
    if (found === undefined) throw new ApiError("no", { status: 403, reason: "Forbidden" });
    return found;
  };
  return { api: { list } as ReleaseApi, asked };
}

function target(name: string, namespace = "shop") {
  const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } };
  const line = { wave: 0, frozen: false, resourceId: "x", manifest };
  return { ref: `ConfigMap/${namespace}/${name}`, line, resource: resources.configMaps };
}

test("one request a kind and namespace; strangers of the list, and what cannot be listed, are not told", async () => {
  const { api: server, asked } = api({ shop: [named("one"), named("of-an-older-release")] });
  const targets = [target("one"), target("two"), target("one", "closed")];
  const found = await membersOf(server, MEMBERSHIP, targets, signal);
  const selector = `${DEPLOYMENT_ID_LABEL}=dep_1`;
  expect(asked.toSorted()).toEqual([`configmaps closed ${selector}`, `configmaps shop ${selector}`]);
  // A list does not say of each object what it is.
  expect([...found]).toEqual([["ConfigMap/shop/one", { ...named("one"), apiVersion: "v1", kind: "ConfigMap" }]]);
});

test("pods that are too many for a list, or cannot be listed, are asked for workload by workload", async () => {
  const many = Array.from({ length: MAX_LISTED }, (_, index) => named(`pod-${index}`));
  const pods = (...places: readonly string[]) =>
    memberPods(api({ shop: many.slice(1), jobs: [named("job")], full: many }).api, MEMBERSHIP, places, signal);
  expect(await pods("shop", "jobs")).toHaveLength(MAX_LISTED);
  expect(await pods("jobs", "full")).toBeUndefined();
  expect(await pods("jobs", "closed")).toBeUndefined();
});
