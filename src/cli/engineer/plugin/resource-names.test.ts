import { expect, it } from "vitest";
import { resourceIssues } from "./resource-names.ts";

const words = (...rules: readonly object[]) =>
  resourceIssues({ operations: [{ rules }] }).map(({ path, message }) => `${path} ${message}`);

it.each([
  [{ apiGroups: [""], resources: ["pods", "pods/log"] }],
  [{ apiGroups: ["", "apps"], resources: ["pods", "deployments/scale"] }],
  [{ apiGroups: ["example.com"], resources: ["page"] }],
  [{ apiGroups: ["", "example.com"], resources: ["page"] }],
  // In words of their own.
  [{ apiGroups: [""], resources: ["nodes"] }],
  [{ apiGroups: 1, resources: {} }],
])("nothing is said of %j", (rule) => {
  expect(words(rule)).toEqual([]);
});

it.each([
  ["pod", [""], "pod is no kind of the core group that lies in a namespace: write pods or podtemplates"],
  [
    "deployment/scale",
    ["apps"],
    "deployment/scale is no kind of the group apps that lies in a namespace: write deployments/scale",
  ],
  [
    "pods",
    ["apps", "batch"],
    "pods is no kind of the group apps or the group batch that lies in a namespace: there are controllerrevisions, ",
  ],
  ["ingressclasses", ["networking.k8s.io"], "that lies in a namespace: there are ingresses, networkpolicies"],
])("%s of %j is told", (resource, apiGroups, told) => {
  expect(
    words({ apiGroups: [""], resources: ["pods"] }, { apiGroups, resources: ["x".repeat(200), resource] }),
  ).toEqual([
    expect.stringMatching(/^\/operations\/0\/rules\/1\/resources\/0 x{80} is no kind/),
    expect.stringContaining(`/operations/0/rules/1/resources/1 ${resource}`),
  ]);
  expect(words({ apiGroups, resources: [resource] })[0]).toContain(told);
});

it.each([undefined, null, [], { operations: {} }, { operations: [null, { rules: [null, 1] }] }])(
  "%j has no rules",
  (value) => {
    expect(resourceIssues(value)).toEqual([]);
  },
);
