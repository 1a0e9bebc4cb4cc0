import fc from "fast-check";
import { expect } from "vitest";
import type { Real } from "./real.ts";
import { agree, type Step, step } from "./step.ts";
import {
  ENDS,
  type End,
  GRACE_MS,
  isApproved,
  isOver,
  isUndecided,
  isUnfinished,
  MINUTE_MS,
  type Model,
  OUTCOMES,
  stop,
  type Twin,
} from "./twin.ts";

const pick = fc.nat({ max: 1 });

function createStep(kind: string, length: number, maxMinutes: number, decideWithinMinutes: number): Step {
  return {
    check: ({ twins }) => twins.length < 2,
    toString: () => `create ${kind} ${length} max ${maxMinutes} within ${decideWithinMinutes}`,
    async run(model, real) {
      const debug = kind === "debug";
      const destructive = kind !== "mutating";
      const command = debug ? "debug/exec" : destructive ? "kubernetes/delete-pod" : "kubernetes/restart-pod";
      const commands = Array.from({ length }, () => command);
      const record = await real.create(model, { commands, debug, maxMinutes, decideWithinMinutes });
      model.twins.push({
        ...{ id: record.id, planHash: record.planHash, debug, destructive, maxMinutes },
        decideBeforeMs: model.nowMs + decideWithinMinutes * MINUTE_MS,
        ...{ status: "pending-approval", execution: "idle", untilMs: undefined, outcome: undefined },
        lines: commands.map(() => ""),
      });
      await agree(model, real);
    },
  };
}

const creating = fc
  .tuple(
    fc.constantFrom("mutating", "destructive", "debug"),
    fc.integer({ min: 1, max: 3 }),
    fc.constantFrom(1, 60),
    fc.constantFrom(5, 60),
  )
  .map(([kind, length, maxMinutes, decideWithinMinutes]) => createStep(kind, length, maxMinutes, decideWithinMinutes));

const moveStep = (index: number, move: "queue" | "reject"): Step =>
  step(move, index, async (model, real, twin) => {
    const legal = move === "queue" ? twin.status === "pending-approval" : isUndecided(twin);
    real.topics.length = 0;
    expect(await real.move(model, twin.id, move)).toBe(legal);
    expect(real.topics).toEqual(legal ? ["access-requests"] : []);
    if (legal && move === "queue") twin.status = "queued";
    if (legal && move === "reject") stop(twin, "rejected", "denied");
  });

const moving = fc
  .tuple(pick, fc.constantFrom<"queue" | "reject">("queue", "queue", "queue", "queue", "reject"))
  .map(([index, move]) => moveStep(index, move));

const HASHES = ["right", "right", "wrong", "none"] as const;
/** Ends of windows, from the instant of the report on: in the past, sane, the longest, and too long. */
const WINDOWS = ["over", "now", "1 ms", "short", "longest", "longest", "too long"] as const;

function approveStep(index: number, hash: (typeof HASHES)[number], window: (typeof WINDOWS)[number]): Step {
  return step(`approve (${hash} hash, ${window})`, index, async (model, real, twin) => {
    const longestMs = twin.maxMinutes * MINUTE_MS + GRACE_MS;
    const lengthMs = { over: -1, now: 0, "1 ms": 1, short: 30_000, longest: longestMs, "too long": longestMs + 1 }[
      window
    ];
    const untilMs = model.nowMs + lengthMs;
    const planHash = { right: twin.planHash, wrong: `sha256:${"0".repeat(64)}`, none: undefined }[hash];
    const outcome = await real.approve(model, twin.id, untilMs, planHash);
    if (twin.status !== "queued" && !isApproved(twin)) return expect(outcome).toBe("INVALID_STATE_TRANSITION");
    if (hash === "wrong" || (hash === "none" && twin.destructive)) return expect(outcome).toBe("PLAN_HASH_MISMATCH");
    if (isApproved(twin)) return expect(outcome).toBe(untilMs === twin.untilMs ? "duplicate" : "CONFLICT");
    if (lengthMs <= 0 || lengthMs > longestMs) return expect(outcome).toBe("VALIDATION_ERROR");
    expect(outcome).toBe("recorded");
    Object.assign(twin, { status: "customer-approved", untilMs, outcome: "approved" });
    if (twin.debug) return;
    twin.execution = "running";
    twin.lines[0] = "PENDING";
  });
}

const approving = fc
  .tuple(pick, fc.constantFrom(...HASHES), fc.constantFrom(...WINDOWS))
  .map(([index, hash, window]) => approveStep(index, hash, window));

const repeating = pick.map((index) =>
  step("approve the same again", index, async (model, real, twin) => {
    if (twin.untilMs === undefined) return;
    const outcome = await real.approve(model, twin.id, twin.untilMs, twin.planHash);
    expect(outcome).toBe(isApproved(twin) ? "duplicate" : "INVALID_STATE_TRANSITION");
  }),
);

const deciding = fc.tuple(pick, fc.constantFrom(...OUTCOMES)).map(([index, outcome]) =>
  step(outcome, index, async (model, real, twin) => {
    const got = await real.decide(model, twin.id, outcome);
    const legal = {
      denied: twin.status === "queued",
      revoked: isApproved(twin) && (isUnfinished(twin) || model.nowMs < (twin.untilMs ?? 0)),
      expired: twin.status === "queued" || (isApproved(twin) && isUnfinished(twin)),
    }[outcome];
    if (!legal) {
      const again = isOver(twin) && twin.outcome === outcome;
      return expect(got).toBe(again ? "duplicate" : "INVALID_STATE_TRANSITION");
    }
    expect(got).toBe("recorded");
    stop(twin, outcome === "expired" ? "expired" : "rejected", outcome);
  }),
);

const materializing = fc.tuple(pick, fc.constantFrom("a", "b")).map(([index, namespace]) =>
  step(`materialize in ${namespace}`, index, async (model, real, twin) => {
    const before = (await real.read(model, twin.id)).materialized?.namespace;
    const got = await real.materialize(model, twin.id, namespace);
    const legal = twin.status === "queued";
    expect(got).toBe(legal ? (before === namespace ? "duplicate" : "recorded") : "INVALID_STATE_TRANSITION");
    expect((await real.read(model, twin.id)).materialized?.namespace).toBe(legal ? namespace : before);
  }),
);

/** The line that a manager would work on; `back` steps to earlier ones, for reports that come again. */
async function commandOf(model: Model, real: Real, twin: Twin, back: number) {
  const { commands } = (await real.read(model, twin.id)).execution;
  const last = commands.findLastIndex(({ commandId }) => commandId !== null);
  const index = Math.max(0, last - back);
  const commandId = commands[index]?.commandId ?? undefined;
  return commandId === undefined ? undefined : { index, commandId };
}

const back = fc.constantFrom(0, 0, 0, 1);

async function dispatchLine(model: Model, real: Real, twin: Twin, steps: number): Promise<void> {
  const line = await commandOf(model, real, twin, steps);
  if (line === undefined) return;
  const legal = twin.lines[line.index] === "PENDING";
  expect(await real.dispatch(model, line.commandId)).toBe(legal);
  if (legal) twin.lines[line.index] = "DISPATCHED";
}

async function completeLine(model: Model, real: Real, twin: Twin, steps: number, end: End): Promise<void> {
  const line = await commandOf(model, real, twin, steps);
  if (line === undefined) return;
  const state = twin.lines[line.index];
  const legal = state === "DISPATCHED" || (state === "PENDING" && end !== "SUCCEEDED");
  expect(await real.complete(model, line.commandId, end)).toBe(legal);
  if (!legal) return;
  twin.lines[line.index] = end;
  if (!isApproved(twin) || twin.execution !== "running") return;
  if (end !== "SUCCEEDED") twin.execution = "failed";
  else if (line.index + 1 < twin.lines.length) twin.lines[line.index + 1] = "PENDING";
  else twin.execution = "succeeded";
}

const dispatching = fc
  .tuple(pick, back)
  .map(([index, steps]) => step("dispatch", index, (model, real, twin) => dispatchLine(model, real, twin, steps)));

const completing = fc
  .tuple(pick, back, fc.constantFrom(...ENDS))
  .map(([index, steps, end]) =>
    step(`complete ${end}`, index, (model, real, twin) => completeLine(model, real, twin, steps, end)),
  );

function runStep(index: number): Step {
  return step("run a line", index, async (model, real, twin) => {
    await dispatchLine(model, real, twin, 0);
    await completeLine(model, real, twin, 0, "SUCCEEDED");
  });
}

const EDGES = ["grace of the decision", "window", "result"] as const;

/** To an edge of one request's life, or one millisecond before it. Never back. */
const waiting = fc.tuple(pick, fc.constantFrom(...EDGES), fc.constantFrom(-1, 0)).map(([index, edge, offsetMs]) =>
  step(`wait for the ${edge} ${offsetMs}`, index, async (model, _, twin) => {
    const untilMs = twin.untilMs ?? 0;
    const edgeMs = {
      "grace of the decision": twin.decideBeforeMs + GRACE_MS,
      window: untilMs,
      result: untilMs + MINUTE_MS,
    };
    model.nowMs = Math.max(model.nowMs, edgeMs[edge] + offsetMs);
  }),
);

const strolling = fc.constantFrom(1, 1000).map((ms) =>
  step(`wait ${ms} ms`, 0, async (model) => {
    model.nowMs += ms;
  }),
);

const sweeping = fc.constant(
  step("sweep", 0, async (model, real) => {
    await real.sweep(model);
  }),
);

/** Everything that can happen, the mishaps a little less often than the rest. */
export const ANY_STEPS: fc.Arbitrary<Step>[] = [
  ...[creating, moving, moving, approving, approving, repeating, deciding],
  ...[dispatching, completing, completing, pick.map(runStep), pick.map(runStep)],
  ...[materializing, waiting, strolling, sweeping],
];

/** The straight way, of which a run starts with any number of steps: or few plans would come to their end. */
export const STRAIGHT_WAY: readonly Step[] = [
  createStep("mutating", 2, 60, 60),
  moveStep(0, "queue"),
  approveStep(0, "right", "longest"),
  runStep(0),
  runStep(0),
];
