import { expect, test } from "vitest";
import type { ReleaseManifest } from "../../../../crds/kinds/release-content.ts";
import type { LiveObject } from "../release-api.ts";
import { choiceLines, claimLines } from "./met.ts";

const workload = (kind: string, name: string, more: object = {}): ReleaseManifest => {
  const template = { metadata: { labels: { app: "db", tier: "back" } } };
  const spec = kind === "CronJob" ? { jobTemplate: { spec: { template } } } : { template };
  return {
    ...{ apiVersion: kind === "CronJob" ? "batch/v1" : "apps/v1", kind, metadata: { name, namespace: "shop" } },
    spec: { ...spec, ...more },
  };
};
const live = (name: string, spec: object): LiveObject => ({
  ...{ apiVersion: "v1", kind: "X", spec },
  metadata: { name, namespace: "shop", uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T12:00:00Z" },
});

test("claims that lie ready for a StatefulSet are named: by template, set and number alone", () => {
  const templates = { volumeClaimTemplates: [{ metadata: { name: "data" } }, { metadata: { name: "logs" } }] };
  const names = ["data-web-0", "data-web-12", "logs-web-0", "data-web-x", "data-web", "data-web-api-0", "other-web-0"];
  const claims = names.map((name) => live(name, {}));
  const sets = [
    workload("StatefulSet", "web", templates),
    workload("StatefulSet", "bare"),
    workload("Deployment", "web"),
  ];
  expect(claimLines(sets, claims)).toEqual(
    ["data-web-0", "data-web-12", "logs-web-0"].map((name) => `uses existing claim shop/${name} for StatefulSet web`),
  );
});

const inTiers = (operator: string) => ({ matchExpressions: [{ key: "tier", operator, values: ["back"] }] });
test.each<[string, string, object, boolean]>([
  ["Service", "some of their labels", { selector: { app: "db" } }, true],
  ["Service", "another label", { selector: { app: "db", version: "1" } }, false],
  ["Service", "none", {}, false],
  ["Service", "nothing in it", { selector: {} }, false],
  ["NetworkPolicy", "nothing in it", { podSelector: {} }, true],
  ["NetworkPolicy", "another label", { podSelector: { matchLabels: { app: "web" } } }, false],
  ["PodDisruptionBudget", "none", {}, false],
  ["PodDisruptionBudget", "nothing in it", { selector: {} }, true],
  ["PodDisruptionBudget", "a set", { selector: inTiers("In") }, true],
  ["PodDisruptionBudget", "a set without them", { selector: inTiers("NotIn") }, false],
])("a %s whose selector has %s", (kind, _, spec, matches) => {
  const pods = [workload("Deployment", "web"), workload("CronJob", "nightly")];
  expect(choiceLines(pods, { kind }, [live("theirs", spec)])).toEqual(
    matches
      ? ["Deployment shop/web", "CronJob shop/nightly"].map((each) => `pods of ${each} match your ${kind} shop/theirs`)
      : [],
  );
});
