import { appendFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { persist, unexpected } from "./persist.ts";
import { Plays } from "./plays.ts";
import { Chance } from "./random.ts";
import { type Hit, storm } from "./storm.ts";
import { accessLeft, judge } from "./verdict.ts";
import { Witness } from "./witness.ts";
import { startWorld, type World } from "./world.ts";

// SALLYPORT_FAULT_SEED repeats the draws of a run. SALLYPORT_FAULT_POINTS is the number of hits. SALLYPORT_FAULT_KEEP
// keeps the logs of a run that passed.
const SEED = Number(process.env.SALLYPORT_FAULT_SEED ?? Date.now() % 1_000_000);
const POINTS = Number(process.env.SALLYPORT_FAULT_POINTS ?? 200);
/** A full run lets windows run out; a short one has no time for it. */
const MAX_MINUTES = POINTS >= 100 ? 2 : 1;
/** Everything must have ended by then: leases, windows, the platform's minute of grace, back-offs. */
const SETTLE_LIMIT_MS = 300_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

test(`hit ${POINTS} times anywhere, every story ends on both sides and nothing runs twice (seed ${SEED})`, async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-faults-"));
  say(`seed ${SEED}, ${POINTS} points, logs in ${folder}/logs`);
  const stop = new AbortController();
  const { signal } = stop;
  const world = await startWorld({ folder, env: ENVIRONMENT }, stack, signal);
  stack.defer(() => stop.abort(new Error("the test is over")));
  const witness = new Witness(world);
  await witness.look(signal);
  for (const target of Object.values(world.processes)) target.start(signal);
  await Promise.all(Object.values(world.processes).map((target) => target.kept(signal)));

  const plays = new Plays(world, witness, SEED, MAX_MINUTES, signal);
  plays.open();
  const startedAt = systemClock.monotonicMs();
  const diary = new Diary(folder, startedAt);
  const hits = await storm(
    world,
    witness,
    { points: POINTS, chance: new Chance(SEED + 1), inFlight: () => plays.inFlight, told: diary.hit },
    signal,
  );
  const stormSeconds = (systemClock.monotonicMs() - startedAt) / 1_000;
  const settleFrom = systemClock.monotonicMs();
  const unfinished = await plays.close(SETTLE_LIMIT_MS);
  const settleSeconds = (systemClock.monotonicMs() - settleFrom) / 1_000;
  expect(unfinished, "stories without an end").toEqual([]);

  const verdict = await judge(world, witness, plays.stories, plays.automatic, signal);
  const left = await nothingLeft(world, signal);
  say(report({ hits, plays, stormSeconds, settleSeconds, world }));
  say(`lines ${JSON.stringify(verdict.lines)}, automatic ${JSON.stringify(verdict.automatic)}, late ${verdict.late}`);
  expect(verdict.broken).toEqual([]);
  expect(left, "access that outlives its grant").toEqual([]);
  expect(unexpected, "answers that no outage explains").toEqual([]);
  expect(world.processes.platform.endedByItself, "the platform ended by itself").toBe(0);
  expect(world.processes.apiserver.endedByItself, "the API server ended by itself").toBe(0);
  if (process.env.SALLYPORT_FAULT_KEEP === undefined) stack.defer(() => rm(folder, { recursive: true, force: true }));
}, 3_600_000);

/** Times for a storm with a hit every few seconds; they serve the same purposes as the usual ones. */
const ENVIRONMENT = {
  agent: {
    // The next agent has the same identity, as the same pod: it goes on with the lease and need not wait until it runs
    // out.
    SALLYPORT_IDENTITY: "sallyport-agent-0",
    SALLYPORT_RECONNECT_SPREAD: "500ms",
    SALLYPORT_RESYNC_INTERVAL: "3s",
    SALLYPORT_HEARTBEAT_INTERVAL: "5s",
  },
  operator: {
    // No identity: each start waits for the lease of the one before, as two replicas do.
    SALLYPORT_LEASE_DURATION: "5s",
    SALLYPORT_RENEW_DEADLINE: "3s",
    SALLYPORT_RETRY_PERIOD: "300ms",
    SALLYPORT_SWEEP_INTERVAL: "2s",
  },
} as const;

/** Waits for the operator's sweep, every two seconds, which removes what an operator killed while closing left. */
async function nothingLeft(world: World, signal: AbortSignal): Promise<readonly string[]> {
  for (let tries = 0; ; tries += 1) {
    const left = await persist((each) => accessLeft(world, each), signal);
    if (left.length === 0 || tries === 60) return left;
    await sleep(systemClock, 500, signal);
  }
}

/** Writes every hit into a file beside the logs, and every tenth to the terminal. */
class Diary {
  readonly #file: string;
  readonly #startedAt: number;

  constructor(folder: string, startedAt: number) {
    this.#file = join(folder, "logs", "storm.log");
    this.#startedAt = startedAt;
  }

  readonly hit = ({ target, how, when, inFlight }: Hit, number: number): void => {
    const seconds = ((systemClock.monotonicMs() - this.#startedAt) / 1_000).toFixed(1);
    const line = `${number} after ${seconds} s: ${target} ${how} at ${when}, ${inFlight} stories under way`;
    appendFileSync(this.#file, `${new Date().toISOString()} ${line}\n`);
    if (number % 10 === 0) say(`  ${line}`);
  };
}

function report(run: {
  readonly hits: readonly Hit[];
  readonly plays: Plays;
  readonly stormSeconds: number;
  readonly settleSeconds: number;
  readonly world: World;
}): string {
  const { hits, plays, stormSeconds, settleSeconds, world } = run;
  const count = (words: readonly string[]): string =>
    Object.entries(Object.groupBy(words, (word) => word))
      .map(([word, all]) => `${word} ${all?.length ?? 0}`)
      .join(", ");
  const ends = Object.values(world.processes).map((target) => `${target.name} ${target.endedByItself}`);
  return [
    `${hits.length} hits in ${stormSeconds.toFixed(0)} s, all over ${settleSeconds.toFixed(0)} s later; seed ${SEED}`,
    `${plays.stories.length} stories: ${count(plays.stories.map(({ answer }) => answer))}; ${plays.automatic.length} automatic operations`,
    `hit: ${count(hits.map(({ target, how }) => `${target} ${how}`))}`,
    `when: ${count(hits.map(({ when }) => when))}`,
    `ended by themselves and started again: ${ends.join(", ")}`,
  ].join("\n");
}
