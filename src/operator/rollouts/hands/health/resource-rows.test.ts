import { expect, test } from "vitest";
import { line } from "../../../testing/release-cluster.ts";
import { RolloutWorld } from "../../../testing/rollout-world.ts";
import type { ResourceState } from "../hands.ts";
import { withoutLater } from "./resource-rows.ts";

test.each([
  ["install", "provisioning"],
  ["update", "updating"],
] as const)("of an %s, a resource that has objects in a later wave is %s", (action, word) => {
  const rollout = new RolloutWorld().add("r", action);
  const objects = [line("api"), line("api", { wave: 1 }), line("web"), line("bad"), line("bad", { wave: 1 })];
  const row = (resourceId: string, state: ResourceState["state"]): ResourceState => ({
    ...{ resourceId, state, health: "healthy", message: "" },
  });
  const rows = [row("api", "running"), row("web", "running"), row("bad", "failed")];
  const states = (wave: number) => withoutLater(rows, { rollout, objects }, wave).map(({ state }) => state);
  expect(states(0)).toEqual([word, "running", "failed"]);
  expect(states(1)).toEqual(["running", "running", "failed"]);
});
