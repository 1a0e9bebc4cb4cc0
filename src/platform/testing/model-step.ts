import fc from "fast-check";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../base/testing/runs.ts";
import type { Answer, World } from "./harness.ts";

// For models: the routes against a naive twin, to both of which the same random things are done.

export interface ModelTime {
  nowMs: number;
}

/** The side of the routes. */
export interface ModelReal<Model> {
  readonly world: World;
  /** What each kind of step was answered. */
  readonly seen: Set<string>;
  /** Fails unless both tell the same story. */
  agree(model: Model): Promise<void>;
}

/** Done to both; then both must tell the same story, and what is refused has left it as it was. */
export abstract class ModelStep<Model extends ModelTime, Real extends ModelReal<Model>>
  implements fc.AsyncCommand<Model, Real>
{
  abstract act(model: Model, real: Real): Promise<Answer | undefined>;
  /** The first word is the kind of step. A shrunk failure reads like a story. */
  abstract toString(): string;
  check = (_: Model): boolean => true;

  async run(model: Model, real: Real): Promise<void> {
    const answer = await this.act(model, real);
    if (answer !== undefined) real.seen.add(`${this.toString().split(" ")[0]} ${answer.body?.code ?? answer.status}`);
    await real.agree(model);
  }

  refused(answer: Answer, status: number, code: string): Answer {
    expect([answer.status, answer.body?.code], JSON.stringify(answer.body)).toEqual([status, code]);
    return answer;
  }
}

export const MINUTE_MS = 60_000;

/** Choose minutes that never add up to an end exactly: real time runs on as well. */
export class Wait extends ModelStep<ModelTime, ModelReal<ModelTime>> {
  readonly minutes: number;
  constructor(minutes: number) {
    super();
    this.minutes = minutes;
  }
  toString = () => `wait ${this.minutes}`;
  async act(model: ModelTime, { world }: ModelReal<ModelTime>): Promise<undefined> {
    world.clock.advance(this.minutes * MINUTE_MS);
    model.nowMs += this.minutes * MINUTE_MS;
  }
}

type Command<Model extends object, Real> = fc.AsyncCommand<Model, Real>;

export interface Walks<Model extends object, Real> {
  readonly walk: (steps: Iterable<Command<Model, Real>>, seen: Set<string>) => Promise<void>;
  /** Each answer once on purpose, so that none is left to chance; "" where there is none. */
  readonly known: readonly (readonly [step: Command<Model, Real>, answer: string])[];
  readonly steps: fc.Arbitrary<Command<Model, Real>>[];
}

/** The tests of a model. */
export function tellTheSame<Model extends object, Real>({ walk, known, steps }: Walks<Model, Real>): void {
  it("knows each answer", async () => {
    const seen = new Set<string>();
    await walk(
      known.map(([step]) => step),
      seen,
    );
    expect([...seen]).toEqual(known.flatMap(([, answer]) => answer || []));
  });

  it("is the same for the routes and for the naive twin", { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(steps, { maxCommands: 40, size: "max" }), (walked) => walk(walked, new Set())),
      { numRuns: runs(12, FEWEST_WALKS) },
    );
  });
}
