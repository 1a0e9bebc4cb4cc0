import { expect, test } from "vitest";
import { type Condition, timestamp, withCondition } from "./conditions.ts";

const THEIRS: Condition = {
  type: "Theirs",
  status: "True",
  reason: "Fine",
  message: "",
  observedGeneration: 1,
  lastTransitionTime: "2025-01-01T00:00:00Z",
};
const READY = { type: "Ready", status: "False", reason: "Waiting", message: "", observedGeneration: 1 } as const;
const NOON = new Date("2026-01-01T12:00:00.900Z");
const ONE = new Date("2026-01-01T13:00:00Z");

test("a new condition goes to the end with the time of now, others untouched", () => {
  const [first, second] = withCondition([THEIRS], READY, NOON);
  expect(first).toBe(THEIRS);
  expect(second).toEqual({ ...READY, lastTransitionTime: "2026-01-01T12:00:00Z" });
});

test("the time moves with the status only", () => {
  const before = withCondition([THEIRS], READY, NOON);
  const sameStatus = withCondition(before, { ...READY, reason: "StillWaiting", observedGeneration: 2 }, ONE);
  expect(sameStatus[1]).toMatchObject({ reason: "StillWaiting", lastTransitionTime: "2026-01-01T12:00:00Z" });
  const changed = withCondition(sameStatus, { ...READY, status: "True" }, ONE);
  expect(changed[1]?.lastTransitionTime).toBe("2026-01-01T13:00:00Z");
});

test("an equal condition makes an equal list: no write needed", () => {
  const before = withCondition([THEIRS], READY, NOON);
  expect(withCondition(before, READY, ONE)).toEqual(before);
});

test("times are whole seconds, rounded down", () => {
  expect(timestamp(NOON)).toBe("2026-01-01T12:00:00Z");
});
