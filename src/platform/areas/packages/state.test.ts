import { describe, expect, it } from "vitest";
import { type Build, holds, statusAt } from "./state.ts";

const END = new Date("2026-01-01T00:10:00.000Z");
const at = (ms: number): Date => new Date(END.getTime() + ms);
const building = (more: Partial<Build> = {}): Build => ({
  status: "building",
  retries: 0,
  locked_by: "b-1",
  lease_expires_at: END,
  ...more,
});

describe("a build", () => {
  it.each([
    ["a last try in its last millisecond", building({ retries: 3 }), -1, "building"],
    ["a last try at the lease's exact end", building({ retries: 3 }), 0, "failed"],
    ["an earlier try past its end", building({ retries: 2 }), 1, "building"],
    ["a waiting one", building({ status: "pending", lease_expires_at: null }), 1, "pending"],
    ["a ready one", building({ status: "ready", retries: 3, lease_expires_at: null }), 1, "ready"],
  ] as const)("%s is seen for what it is", (_, build, ms, status) => {
    expect(statusAt(build, at(ms))).toBe(status);
  });

  it.each([
    ["its builder, in time", building(), "b-1", -1, true],
    ["its builder, late, while nobody else has taken it", building(), "b-1", 1, true],
    ["its builder, late for the last time", building({ retries: 3 }), "b-1", 0, false],
    ["another builder", building(), "b-2", -1, false],
    ["its builder after the end", building({ status: "canceled" }), "b-1", -1, false],
  ] as const)("is held by %s: %s", (_, build, builder, ms, held) => {
    expect(holds(build, builder, at(ms))).toBe(held);
  });
});
