import { expect, test } from "vitest";
import { checkPush, type PushFlags } from "./push.ts";

const NONE: PushFlags = { push: false, registry: undefined, npm: false, isTrial: false, parts: ["chart"] };

test.each<readonly [string, Partial<PushFlags>]>([
  ["nothing", {}],
  ["a chart", { push: true, registry: "registry.example.com/acme" }],
  ["packages", { push: true, npm: true, parts: ["npm", "krew"] }],
])("%s may be pushed", (_, flags) => {
  expect(() => checkPush({ ...NONE, ...flags })).not.toThrow();
});

test.each<readonly [string, Partial<PushFlags>, RegExp]>([
  ["to no place", { push: true }, /--push goes with --registry NAME, --npm/],
  ["without the flag", { npm: true, parts: ["npm"] }, /--push goes with/],
  ["a trial", { push: true, npm: true, parts: ["npm"], isTrial: true }, /trial with --dirty/],
  ["packages that are not made", { push: true, npm: true }, /add --only npm/],
  ["images that are not made", { push: true, registry: "a", parts: ["npm"] }, /add --only images/],
])("what is pushed %s is refused before anything is made", (_, flags, words) => {
  expect(() => checkPush({ ...NONE, ...flags })).toThrow(words);
});
