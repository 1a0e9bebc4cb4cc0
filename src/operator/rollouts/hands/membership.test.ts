import { describe, expect, test } from "vitest";
import type { ReleaseManifest } from "../../../crds/kinds/release-content.ts";
import { APPLYSET_LABEL, DEPLOYMENT_ID_LABEL } from "../../../crds/release-names.ts";
import { unfit, whoseElse } from "./membership.ts";
import type { LiveObject } from "./release-api.ts";

const OURS = { [DEPLOYMENT_ID_LABEL]: "dep_1", [APPLYSET_LABEL]: "applyset-1-v1" };

test.each<[string, object, string | undefined]>([
  ["the customer's", {}, undefined],
  ["the customer's, with one of the labels", { labels: { [DEPLOYMENT_ID_LABEL]: "dep_1" } }, undefined],
  [
    "another deployment's",
    { labels: { ...OURS, [DEPLOYMENT_ID_LABEL]: "dep_2\u202e" } },
    "its label says that it is of deployment dep_2: where that is gone, delete the object; else the release has to use another name",
  ],
  [
    "another tool's",
    { labels: { [APPLYSET_LABEL]: "applyset-2-v1" } },
    "it is of another ApplySet, whose tool would prune it: delete it, or the release has to use another name",
  ],
  [
    "a controller's",
    { ownerReferences: [{ controller: true }] },
    "a controller owns it: the release has to use another name",
  ],
])("an object in the way that is %s", (_, metadata, says) => {
  expect(whoseElse({ metadata } as LiveObject, OURS)).toBe(says);
});

const workload = (kind: string, app: string) => ({
  apiVersion: "apps/v1",
  kind,
  spec: { selector: { matchLabels: { app } } },
});
const job = (labels: object) => ({ apiVersion: "batch/v1", kind: "Job", spec: { template: { metadata: { labels } } } });
const service = (app: string) => ({ apiVersion: "v1", kind: "Service", spec: { selector: { app } } });

describe("what cannot be changed", () => {
  test.each<[string, object, object, string | undefined]>([
    ["a Deployment of another selector", workload("Deployment", "a"), workload("Deployment", "b"), "selector"],
    ["a StatefulSet of another selector", workload("StatefulSet", "a"), workload("StatefulSet", "b"), "selector"],
    ["a DaemonSet of another selector", workload("DaemonSet", "a"), workload("DaemonSet", "b"), "selector"],
    ["a Deployment of this selector", workload("Deployment", "a"), workload("Deployment", "a"), undefined],
    ["a Job of others", job({ "controller-uid": "1" }), job(OURS), "template"],
    ["a Job that was let go", job({ ...OURS, "controller-uid": "1" }), job(OURS), undefined],
    ["a Service of another selector", service("a"), service("b"), undefined],
  ])("keeps %s from being taken over, or not", (_, seen, manifest, what) => {
    const says = `it cannot be taken over, because its ${what} cannot be changed: delete it, or the release has to use another name`;
    expect(unfit(seen as LiveObject, manifest as ReleaseManifest)).toBe(what === undefined ? undefined : says);
  });
});
