import { expect, test } from "vitest";
import { doubledHeader } from "./doubled-header.ts";

test.each([
  [["Authorization", "Bearer a", "host", "a", "authorization", "Bearer a"], "authorization"],
  [["host", "a", "HOST", "b"], "host"],
  [["content-type", "a", "Content-Type", "a"], "content-type"],
  // Of these there may be several, and a value is no name.
  [["cookie", "a=1", "cookie", "b=2", "accept", "a", "accept", "b"], undefined],
  [["x-a", "authorization", "authorization", "x"], undefined],
])("of %j the doubled one is %s", (raw, name) => {
  expect(doubledHeader(raw)).toBe(name);
});
