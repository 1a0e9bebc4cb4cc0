import { expect, test } from "vitest";
import { PendingRequest } from "../access-requests/access-relay.ts";
import { misfit } from "./misfit.ts";

const FIELDS = ["id", "title", "reason", "commands", "risk", "maxMinutes", "decideBefore"] as const;
const good = {
  id: `ar_${"0".repeat(28)}`,
  title: "Scale",
  reason: null,
  commands: [{ command: "kubernetes/scale", summary: "to three", params: { replicas: 3 } }],
  risk: "mutating",
  maxMinutes: 60,
  decideBefore: "2026-01-02T00:00:00.000Z",
};

test("a record of the contract fits, with keys that a newer platform added at any depth", () => {
  expect(misfit(PendingRequest, good, FIELDS)).toBeUndefined();
  const newer = { ...good, more: 1, commands: [{ ...good.commands[0], more: { a: 1 } }] };
  expect(misfit(PendingRequest, newer, FIELDS)).toBeUndefined();
});

test.each([
  ["nothing at all", undefined, "it is not an object"],
  ["a list", [], "it is not an object"],
  ["a missing field", { ...good, title: undefined }, "title is missing"],
  ["a wrong type", { ...good, maxMinutes: "60" }, "maxMinutes must be integer"],
  ["an unknown word", { ...good, risk: "harmless" }, "risk must be equal to one of the allowed values"],
  [
    "a control character deep inside",
    { ...good, commands: [{ command: "a/b", summary: "x\u202ey" }] },
    /^commands\.0\.summary must match/,
  ],
])("%s does not", (_, value, problem) => {
  expect(misfit(PendingRequest, value, FIELDS)).toMatch(problem);
});

test("what is not named is not looked at", () => {
  expect(misfit(PendingRequest, { id: good.id }, ["id"])).toBeUndefined();
});
