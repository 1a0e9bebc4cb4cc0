import { expect, test } from "vitest";
import type { ReleaseManifest } from "../../../../crds/kinds/release-content.ts";
import { ApiError } from "../../../../kube/client/api-error.ts";
import type { LiveObject, ReleaseApi } from "../release-api.ts";
import { choiceLines, claimLines, whatIsMet } from "./met.ts";

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

const peer = (podSelector: object, more: object = {}) => ({ podSelector, ...more });
const BACK = { matchLabels: { tier: "back" } };
const here = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } } };
test.each<[string, object, boolean]>([
  ["some of their labels", { ingress: [{ from: [peer({ matchLabels: { app: "web" } }), peer(BACK)] }] }, true],
  ["to some of their labels", { egress: [{ ports: [] }, { to: [peer(BACK)] }] }, true],
  ["nothing in it", { ingress: [{ from: [peer({})] }] }, true],
  ["the name of their namespace", { ingress: [{ from: [peer(BACK, here)] }] }, true],
  ["any namespace", { ingress: [{ from: [peer(BACK, { namespaceSelector: {} })] }] }, true],
  [
    "another namespace",
    { ingress: [{ from: [peer(BACK, { namespaceSelector: { matchLabels: { team: "x" } } })] }] },
    false,
  ],
  ["another label", { ingress: [{ from: [peer({ matchLabels: { app: "web" } })] }] }, false],
  ["addresses alone", { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }, {}] }, false],
])("a NetworkPolicy that lets through what has %s", (_, rules, isThrough) => {
  const spec = { podSelector: { matchLabels: { app: "other" } }, ...rules };
  expect(choiceLines([workload("Deployment", "web")], { kind: "NetworkPolicy" }, [live("db", spec)])).toEqual(
    isThrough ? ["pods of Deployment shop/web may come through your NetworkPolicy shop/db"] : [],
  );
});

test("what another deployment's release has made is told as its", () => {
  const service = live("db", { selector: { app: "db" } });
  const labels = { "sallyport.dev/deployment-id": "dep_2" };
  const made = { ...service, metadata: { ...service.metadata, labels } };
  expect(choiceLines([workload("Deployment", "web")], { kind: "Service" }, [made])).toEqual([
    "pods of Deployment shop/web match the Service shop/db of deployment dep_2",
  ]);
});

const listing = (list: (kind: string) => readonly LiveObject[]) =>
  ({ list: async ({ kind }: { kind: string }) => list(kind) }) as unknown as ReleaseApi;
const line = (manifest: ReleaseManifest) => ({ wave: 0, frozen: false, resourceId: "a", manifest });
const met = (api: ReleaseApi, signal = new AbortController().signal) =>
  whatIsMet(api, { a: "b" }, [line(workload("Deployment", "web"))], signal);
const KINDS = ["NetworkPolicy", "PodDisruptionBudget", "Service"];
const UNSEEN = KINDS.map((kind) => `does not see each ${kind} of shop`);

test.each([403, 0, 500, 429])("a list that cannot be had (%i) ends no plan, and is told", async (status) => {
  const fails = listing(() => {
    throw new ApiError("no list", { status, reason: "" });
  });
  expect(await met(fails)).toEqual(UNSEEN);
});

test("an abort ends the lists", async () => {
  const gone = new Error("gone");
  const aborted = listing(() => {
    throw gone;
  });
  await expect(met(aborted)).rejects.toBe(gone);
});

test("more lines, and longer lists, than are told are said to be", async () => {
  const all = Array.from({ length: 500 }, (_, index) => live(`s-${index}`, { selector: { app: "other" } }));
  expect(await met(listing((kind) => (kind === "Service" ? all : [])))).toEqual(["does not see each Service of shop"]);
  const policy = live("p", { podSelector: {}, ingress: [{ from: [peer({})] }] });
  const lines = await met(listing((kind) => (kind === "NetworkPolicy" ? Array(400).fill(policy) : [])));
  expect(lines).toHaveLength(501);
  expect(lines[0]).toBe("does not see each NetworkPolicy of shop");
});
