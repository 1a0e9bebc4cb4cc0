import { expect, test } from "vitest";
import { noteAnswer } from "./lacking-rule.ts";
import type { Subject } from "./subject.ts";

const exec: Subject = {
  verb: "create",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "exec",
  name: "api-0",
};
const list: Subject = { verb: "list", group: "apps", version: "v1", resource: "deployments" };
const RBAC =
  'pods "api-0" is forbidden: User "x" cannot create resource "pods/exec" in API group "" in the namespace "shop"';
const POLICY = 'pods "api-0" is forbidden: ValidatingAdmissionPolicy "no-shells" denied request: no shells here';
const after = (...answers: readonly Parameters<typeof noteAnswer>[]): string | undefined => {
  const counts = { forbidden: undefined as string | undefined };
  for (const [, ...rest] of answers) noteAnswer(counts, ...rest);
  return counts.forbidden;
};
const to = (subject: Subject | undefined, status: number, words?: string): Parameters<typeof noteAnswer> => [
  { forbidden: undefined },
  subject,
  status,
  words,
];

test.each([
  ["an exec that the authorizer refuses", [to(exec, 403, RBAC)], "create pods/exec"],
  ["a list that is refused", [to(list, 403)], "list deployments"],
  ["an exec that a policy refuses", [to(exec, 403, POLICY)], undefined],
  ["a pod that is not there", [to(exec, 404, "not found")], undefined],
  ["an exec that works again", [to(exec, 403, RBAC), to(exec, 101)], undefined],
  ["another request that works", [to(exec, 403, RBAC), to(list, 200)], "create pods/exec"],
  ["an exec of a pod that is gone meanwhile", [to(exec, 403, RBAC), to(exec, 404)], "create pods/exec"],
  ["discovery", [to(undefined, 403)], undefined],
] as const)("%s", (_title, answers, forbidden) => {
  expect(after(...answers)).toBe(forbidden);
});
