import { expect, test } from "vitest";
import { noteAnswer, type RefusedRight } from "./lacking-rule.ts";
import type { Subject } from "./subject.ts";

const exec: Subject = {
  ...{ verb: "create", group: "", version: "v1", resource: "pods", subresource: "exec" },
  ...{ namespace: "shop", name: "api-0", container: "main", command: ["true"] },
};
const list: Subject = { verb: "list", group: "apps", version: "v1", resource: "deployments", namespace: "shop" };
const rbac = (verb: string): string =>
  `pods "api-0" is forbidden: User "x" cannot ${verb} resource "pods/exec" in API group "" in the namespace "shop"`;
const POLICY = 'pods "api-0" is forbidden: ValidatingAdmissionPolicy "no-shells" denied request: no shells here';
const right = { group: "", resource: "pods", subresource: "exec", namespace: "shop", name: "api-0" };

test.each<readonly [string, Subject | undefined, number, string | undefined, RefusedRight | undefined]>([
  ["an exec that the authorizer refuses", exec, 403, rbac("create"), { verb: "create", ...right }],
  ["one whose WebSocket an older API server takes for a get", exec, 403, rbac("get"), { verb: "get", ...right }],
  [
    "a list that is refused",
    list,
    403,
    undefined,
    { verb: "list", group: "apps", resource: "deployments", namespace: "shop" },
  ],
  ["an exec that a policy refuses", exec, 403, POLICY, undefined],
  ["a pod that is not there", exec, 404, "not found", undefined],
  ["an exec that works", exec, 101, undefined, undefined],
  ["discovery", undefined, 403, undefined, undefined],
])("%s", (_, subject, status, words, refused) => {
  const counts: Parameters<typeof noteAnswer>[0] = { refused: undefined };
  noteAnswer(counts, subject, status, words);
  expect(counts.refused).toEqual(refused);
});
