import fc from "fast-check";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../../base/testing/runs.ts";
import { DEBUG_SESSION_STATES, type DebugSessionState } from "../../../contract/debug-sessions/debug-sessions.ts";
import { type Answer, onEachDatabase, type World } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

// The routes against a naive twin of §6: the manager and people say things in random order while time runs; what is
// refused is a 409 and leaves the session as it was.

const arrows = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));
/** Only time makes a session `expired`. */
const MOVES = arrows(`
  pending>running pending>stopping pending>failed running>stopping running>failed stopping>stopped stopping>failed`);
const OVER: readonly string[] = ["stopped", "expired", "failed"];

interface Twin {
  state: DebugSessionState;
  endMs: number;
  nowMs: number;
  hasError: boolean;
  /** Who or what ended it: the first one counts. */
  closeReason: "agent" | "killed" | "expired" | null;
}
interface Real {
  readonly world: World;
  readonly site: Site;
  readonly id: string;
  readonly seen: Set<string>;
  readonly startMs: number;
}

abstract class Step implements fc.AsyncCommand<Twin, Real> {
  check = () => true;
  abstract act(twin: Twin, real: Real): Promise<void>;
  abstract toString(): string;

  async run(twin: Twin, real: Real): Promise<void> {
    await this.act(twin, real);
    const { body } = await real.site.call("GET", `/v1/debug-sessions/${real.id}`);
    const story = [body.state, body.error !== null, body.closeReason];
    expect(story, `${this}`).toEqual([twin.state, twin.hasError, twin.closeReason]);
    real.seen.add(twin.state);
  }

  patch({ world, id }: Real, key: string, body: object): Promise<Answer> {
    return world.call("PATCH", `/v1/debug-sessions/${id}`, { key, body });
  }
}

class Say extends Step {
  readonly to: DebugSessionState;
  readonly withError: boolean;
  constructor(to: DebugSessionState, withError: boolean) {
    super();
    this.to = to;
    this.withError = withError;
  }
  toString = () => `manager: ${this.to}${this.withError ? " with an error" : ""}`;
  async act(twin: Twin, real: Real): Promise<void> {
    const error = this.withError ? { error: { reason: "it broke" } } : {};
    const answer = await this.patch(real, real.site.manager.key, { state: this.to, ...error });
    const legal = this.to === twin.state || MOVES.has(`${twin.state}>${this.to}`);
    expect([answer.status, answer.body.code], `${this} at ${twin.state}`).toEqual(
      legal ? [200, undefined] : [409, "INVALID_STATE_TRANSITION"],
    );
    if (!legal || this.to === twin.state) return;
    twin.state = this.to;
    twin.hasError ||= this.withError || this.to === "failed";
    if (this.to !== "running") twin.closeReason ??= "agent";
  }
}

/** The kill switch, which is all that people have. */
class Kill extends Step {
  toString = () => "an engineer: stopping";
  async act(twin: Twin, real: Real): Promise<void> {
    const answer = await this.patch(real, real.site.member, { state: "stopping" });
    const legal = twin.state === "stopping" || MOVES.has(`${twin.state}>stopping`);
    expect(answer.status, `${this} at ${twin.state}`).toBe(legal ? 200 : 409);
    if (!legal) return;
    twin.state = "stopping";
    twin.closeReason ??= "killed";
  }
}

/** An error alone: the session has failed, or what is over is explained, once. */
class Explain extends Step {
  toString = () => "manager: an error";
  async act(twin: Twin, real: Real): Promise<void> {
    const answer = await this.patch(real, real.site.manager.key, { error: { message: "it broke" } });
    const legal = !OVER.includes(twin.state) || !twin.hasError;
    expect(answer.status, `${this} at ${twin.state}`).toBe(legal ? 200 : 409);
    if (!legal) return;
    if (!OVER.includes(twin.state)) {
      twin.state = "failed";
      twin.closeReason ??= "agent";
    }
    twin.hasError = true;
  }
}

/** Time that never meets an end exactly: real time runs on as well. */
class Wait extends Step {
  readonly minutes: number;
  constructor(minutes: number) {
    super();
    this.minutes = minutes;
  }
  toString = () => `wait ${this.minutes} min`;
  async act(twin: Twin, { world }: Real): Promise<void> {
    world.clock.advance(this.minutes * 60_000);
    twin.nowMs += this.minutes * 60_000;
    if (OVER.includes(twin.state) || twin.nowMs < twin.endMs) return;
    twin.state = "expired";
    twin.closeReason ??= "expired";
  }
}

/** The end comes nearer, and never farther. */
class Hasten extends Step {
  readonly minutes: number;
  constructor(minutes: number) {
    super();
    this.minutes = minutes;
  }
  toString = () => `end in ${this.minutes} min`;
  async act(twin: Twin, real: Real): Promise<void> {
    const endMs = twin.nowMs + this.minutes * 60_000;
    const expiresAt = new Date(real.startMs + endMs).toISOString();
    const answer = await this.patch(real, real.site.manager.key, { expiresAt });
    const expected = OVER.includes(twin.state) ? 409 : endMs > twin.endMs ? 400 : 200;
    expect(answer.status, `${this} at ${twin.state}: ${JSON.stringify(answer.body)}`).toBe(expected);
    if (expected === 200) twin.endMs = endMs;
  }
}

const state = fc.constantFrom(...DEBUG_SESSION_STATES);
const STEPS = [
  fc.tuple(state, fc.boolean()).map(([to, withError]) => new Say(to, withError)),
  fc.tuple(state, fc.boolean()).map(([to, withError]) => new Say(to, withError)),
  fc.constant(new Kill()),
  fc.constant(new Explain()),
  fc.constantFrom(7, 31).map((minutes) => new Wait(minutes)),
  fc.constantFrom(20, 47, 200).map((minutes) => new Hasten(minutes)),
];
const WAYS: readonly (readonly Step[])[] = [
  [new Say("running", false), new Kill(), new Say("stopped", false), new Explain(), new Explain()],
  [new Say("running", false), new Say("failed", true), new Say("running", false)],
  [new Hasten(20), new Wait(31), new Say("running", false), new Explain()],
  [new Kill(), new Wait(31), new Wait(31), new Say("stopped", false)],
];

onEachDatabase("a debug session's life", (world) => {
  it("is the same for the routes and for the naive twin", { timeout: 240_000 }, async () => {
    const site = await newSite(world);
    const deploymentId = await site.deploy("debugged");
    const seen = new Set<string>();
    const walk = async (steps: Iterable<fc.AsyncCommand<Twin, Real>>): Promise<void> => {
      const startMs = world.clock.wallNow().getTime();
      const expiresAt = new Date(startMs + 3_600_000).toISOString();
      const opened = await world.call("POST", "/v1/debug-sessions", {
        key: site.manager.key,
        body: { deploymentId, expiresAt },
      });
      const model: Twin = { state: "pending", endMs: 3_600_000, nowMs: 0, hasError: false, closeReason: null };
      const real = { world, site, id: opened.body.id, seen, startMs };
      await fc.asyncModelRun(() => ({ model, real }), steps);
    };
    for (const way of WAYS) await walk(way);
    expect([...seen].toSorted()).toEqual([...DEBUG_SESSION_STATES].toSorted());
    await fc.assert(fc.asyncProperty(fc.commands(STEPS, { maxCommands: 20, size: "max" }), walk), {
      numRuns: runs(20, FEWEST_WALKS),
    });
  });
});
