import fc from "fast-check";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../../base/testing/runs.ts";
import type { PackageStatus } from "../../../contract/packages/packages.ts";
import { OWN_PLATFORM, onEachDatabase, type World } from "../../testing/harness.ts";
import { release } from "../releases/testing/releases.ts";
import { BUILD_ERROR, type BuildSite, HELM_OUTPUTS, newBuildSite } from "./testing/builds.ts";

// The routes against a naive twin that keeps §7 in the plainest words: people, builders and time do random things in
// random order; after each step both must tell the same story, and what is refused must leave it as it was.

interface Twin {
  readonly id: string;
  status: PackageStatus;
  retries: number;
  builder: string | undefined;
  untilMs: number;
}
interface Model {
  nowMs: number;
  /** Oldest first. */
  readonly twins: Twin[];
}
interface Real {
  readonly world: World;
  readonly site: BuildSite;
  readonly seen: Set<string>;
}

const MINUTE_MS = 60_000;
const BUILDERS = ["b-1", "b-2"] as const;

const isOpen = ({ status }: Twin) => status === "pending" || status === "building";
const silent = (twin: Twin, { nowMs }: Model) => twin.status === "building" && twin.untilMs <= nowMs;

abstract class Step implements fc.AsyncCommand<Model, Real> {
  abstract check(model: Model): boolean;
  abstract act(model: Model, real: Real): Promise<void>;
  abstract toString(): string;

  async run(model: Model, real: Real): Promise<void> {
    await this.act(model, real);
    const told = (await real.site.packages()).reverse();
    const story = told.map(({ id, status, retries, lockedBy }) => [id, status, retries, lockedBy ?? undefined]);
    expect(story).toEqual(model.twins.map((twin) => [twin.id, twin.status, twin.retries, twin.builder]));
    for (const { status, retries } of model.twins) real.seen.add(`${status} ${retries}`);
  }
}

class Rebuild extends Step {
  check = () => true;
  toString = () => "rebuild";
  async act(model: Model, { site, world }: Real): Promise<void> {
    // Two packages of one millisecond have no order.
    world.clock.advance(2);
    await site.rebuild();
    for (const twin of model.twins) if (twin.status === "pending") twin.status = "canceled";
    const [newest] = await site.packages({ limit: 1 });
    model.twins.push({ id: newest.id, status: "pending", retries: 0, builder: undefined, untilMs: 0 });
  }
}

class Lease extends Step {
  readonly builder: string;
  constructor(builder: string) {
    super();
    this.builder = builder;
  }
  check = () => true;
  toString = () => `lease ${this.builder}`;
  async act(model: Model, { site }: Real): Promise<void> {
    const [leased] = (await site.builder("lease", { builderId: this.builder })).body.packages;
    const next =
      model.twins.find(({ status }) => status === "pending") ?? model.twins.find((each) => silent(each, model));
    expect(leased?.id).toBe(next?.id);
    if (next === undefined) return;
    if (next.status === "building") next.retries += 1;
    next.status = "building";
    next.builder = this.builder;
    next.untilMs = model.nowMs + 10 * MINUTE_MS;
  }
}

/** What is said of one package, legal or not. */
class Say extends Step {
  readonly what: "progress" | "ready" | "failed" | "cancel";
  readonly builder: string;
  readonly pick: number;
  constructor(what: Say["what"], builder: string, pick: number) {
    super();
    this.what = what;
    this.builder = builder;
    this.pick = pick;
  }
  check = ({ twins }: Model) => twins.length > 0;
  toString = () => `${this.what} ${this.builder} ${this.pick}`;

  async act(model: Model, { site }: Real): Promise<void> {
    const twin = model.twins[this.pick % model.twins.length];
    if (twin === undefined) return;
    const legal = this.what === "cancel" ? isOpen(twin) : twin.status === "building" && twin.builder === this.builder;
    const repeat = twin.status === this.what && twin.builder === this.builder;
    const answer = await this.#send(twin, site);
    expect(answer.status, JSON.stringify(answer.body)).toBe(legal || repeat ? 200 : 409);
    if (answer.status === 409) {
      expect(answer.body.code).toBe(this.what === "cancel" ? "INVALID_STATE_TRANSITION" : "LEASE_LOST");
    }
    if (!legal) return;
    if (this.what === "progress") twin.untilMs = model.nowMs + 10 * MINUTE_MS;
    else twin.status = this.what === "cancel" ? "canceled" : this.what;
  }

  #send({ id }: Twin, site: BuildSite) {
    const { builder: builderId } = this;
    switch (this.what) {
      case "cancel":
        return site.call("POST", `/v1/packages/${id}/cancel`);
      case "progress":
        return site.builder(`${id}/progress`, { builderId, buildPhase: "building" });
      case "ready":
        return site.builder(`${id}/complete`, { builderId, status: "ready", outputs: HELM_OUTPUTS });
      case "failed":
        return site.builder(`${id}/complete`, { builderId, status: "failed", error: BUILD_ERROR });
    }
  }
}

/** Minutes that never add up to the end of a lease exactly: real time runs on as well. */
class Wait extends Step {
  readonly minutes: number;
  constructor(minutes: number) {
    super();
    this.minutes = minutes;
  }
  check = () => true;
  toString = () => `wait ${this.minutes}`;
  async act(model: Model, { world }: Real): Promise<void> {
    world.clock.advance(this.minutes * MINUTE_MS);
    model.nowMs += this.minutes * MINUTE_MS;
    for (const twin of model.twins) if (silent(twin, model) && twin.retries === 3) twin.status = "failed";
  }
}

const builder = fc.constantFrom(...BUILDERS);
const what = fc.constantFrom("progress" as const, "ready" as const, "failed" as const, "cancel" as const);
const STEPS = [
  fc.constant(new Rebuild()),
  builder.map((each) => new Lease(each)),
  builder.map((each) => new Lease(each)),
  fc.tuple(what, builder, fc.nat({ max: 8 })).map((said) => new Say(...said)),
  fc.constantFrom(3, 11).map((minutes) => new Wait(minutes)),
  fc.constant(new Wait(11)),
];

/** The long ways through the machine: chance alone does not take each of them in every run. */
const WAYS: readonly (readonly Step[])[] = [
  [new Rebuild(), new Lease("b-1"), new Say("ready", "b-1", 0)],
  [new Rebuild(), new Say("cancel", "b-1", 0)],
  [new Rebuild(), ...[0, 1, 2, 3].flatMap(() => [new Lease("b-1"), new Wait(11)])],
];

onEachDatabase(
  "a package's life",
  (world) => {
    it("is the same for the routes and for the naive twin", { timeout: 240_000 }, async () => {
      const seen = new Set<string>();
      const walk = async (steps: Iterable<fc.AsyncCommand<Model, Real>>): Promise<void> => {
        const site = await newBuildSite(world, {});
        await release(site, { channel: "production" });
        await site.call("PATCH", `/v1/projects/${site.project.name}`, {
          body: { packagesConfig: { helm: { enabled: true, chartName: "shop", description: "" } } },
        });
        await fc.asyncModelRun(() => ({ model: { nowMs: 0, twins: [] }, real: { world, site, seen } }), steps);
      };
      for (const way of WAYS) await walk(way);
      expect([...seen]).toEqual(expect.arrayContaining(["ready 0", "failed 3", "canceled 0", "building 2"]));
      await fc.assert(fc.asyncProperty(fc.commands(STEPS, { maxCommands: 40, size: "max" }), walk), {
        numRuns: runs(25, FEWEST_WALKS),
      });
    });
  },
  OWN_PLATFORM,
);
