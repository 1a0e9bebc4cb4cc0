import fc from "fast-check";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../../base/testing/runs.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../operations/testing/site.ts";
import { Real } from "./testing/real.ts";
import { ANY_STEPS, STRAIGHT_WAY } from "./testing/steps.ts";
import { type Model, START_MS } from "./testing/twin.ts";

// The services against a naive twin, in one made-up time: people, managers (also lying ones), commands and the clock
// do random things in random order, right up to the edges of every window. The twin keeps what §2.5, §2.6
// and §17 say, in the plainest words; after each step both must tell the same story.

const TWIN_TIMEOUT_MS = 240_000;

onEachDatabase("an access request's life", (world) => {
  it("is the same for the services and for the naive twin", { timeout: TWIN_TIMEOUT_MS }, async () => {
    const seen = new Set<string>();
    const start = fc.nat({ max: STRAIGHT_WAY.length });
    const steps = fc.commands(ANY_STEPS, { maxCommands: 40, size: "max" });
    const walk = async (length: number, commands: Iterable<fc.AsyncCommand<Model, Real>>): Promise<void> => {
      const real = new Real(world, seen, await newSite(world));
      const model: Model = { nowMs: START_MS, twins: [] };
      for (const step of STRAIGHT_WAY.slice(0, length)) await step.run(model, real);
      await fc.asyncModelRun(() => ({ model, real }), commands);
    };
    await walk(STRAIGHT_WAY.length, []);
    // Otherwise the steps no longer reach what they are here for.
    expect([...seen]).toEqual(expect.arrayContaining(["customer-approved running", "customer-approved succeeded"]));
    await fc.assert(fc.asyncProperty(start, steps, walk), { numRuns: runs(60, FEWEST_WALKS) });
  });
});
