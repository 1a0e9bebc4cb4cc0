import type fc from "fast-check";
import { expect } from "vitest";
import type { Real } from "./real.ts";
import { type Model, shown, type Twin, tick } from "./twin.ts";

export type Step = fc.AsyncCommand<Model, Real>;

/** One step on some request. Says what it does, so that a shrunk failure reads like a story. */
export function step(name: string, pick: number, run: (model: Model, real: Real, twin: Twin) => Promise<void>): Step {
  return {
    check: ({ twins }) => twins.length > 0,
    toString: () => `${name} #${pick}`,
    async run(model, real) {
      const twin = model.twins[pick % model.twins.length];
      if (twin === undefined) return;
      await run(model, real, twin);
      await agree(model, real);
    },
  };
}

/** Both tell the same story of every request, and the manager is asked for the right ones. */
export async function agree(model: Model, real: Real): Promise<void> {
  tick(model);
  for (const twin of model.twins) {
    const { status, execution, decision, approvedUntil } = await real.read(model, twin.id);
    real.seen.add(`${status} ${execution.state}`);
    expect({
      status,
      execution: execution.state,
      lines: execution.commands.map(({ state }) => state),
      outcome: decision?.outcome,
      until: approvedUntil === null ? undefined : Date.parse(approvedUntil),
    }).toEqual({
      status: twin.status,
      execution: twin.execution,
      lines: shown(twin),
      outcome: twin.outcome,
      until: twin.untilMs,
    });
    expect(await real.withStatus(model, twin.status)).toContain(twin.id);
  }
  const queued = (await real.pending(model)).queued.map(({ id }) => id);
  const expected = model.twins.filter(({ status }) => status === "queued").map(({ id }) => id);
  expect(new Set(queued)).toEqual(new Set(expected));
}
