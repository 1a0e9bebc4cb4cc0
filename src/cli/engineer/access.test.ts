import { expect, test } from "vitest";
import { toldOf } from "./access.ts";

const { signal } = new AbortController();

test.each([
  ["expired", null, "unknown", "ar_1: over, expired: in words"],
  ["denied", null, "unknown", "ar_1: over, denied: in words"],
  ["denied", "bob", "verified", "ar_1: over, denied by bob (verified): in words"],
  ["approved", null, "unknown", "ar_1: over, approved by an unknown person: in words"],
])("an end, %s by %s (%s), is told without what is not known", async (outcome, by, identity, words) => {
  const request = {
    ...{ id: "ar_1", status: "over", kubectlApprove: null, execution: { commands: [] } },
    decision: { outcome, by, identity, reason: "in words" },
  } as unknown as Parameters<typeof toldOf>[0];
  const call = () => expect.unreachable();
  expect(await toldOf(request, call as never, signal)).toBe(words);
});
