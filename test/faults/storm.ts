import { sleep, systemClock } from "../../src/base/clock.ts";
import type { Chance } from "./random.ts";
import { MOMENTS, type Moment, type Witness } from "./witness.ts";
import type { ProcessName, World } from "./world.ts";

/** How often each process is hit. An API server takes seconds to come back, so it is hit less often. */
const WEIGHTS: Readonly<Record<ProcessName, number>> = { operator: 38, agent: 32, platform: 20, apiserver: 10 };
/**
 * The share of hits right after a step of the protocol, where a promise could be half kept; the others come at any
 * time.
 */
const AIMED = 0.6;
/** A hit waits at most this long for its step. */
const AIM_LIMIT_MS = 4_000;
const FROZEN = 0.08;
/** The share of hits that do not wait until all processes are up again. */
const AMID_STARTS = 0.15;

export interface Hit {
  readonly target: ProcessName;
  readonly how: "killed" | "frozen";
  readonly when: Moment | "command dispatched" | "any time";
  /** Stories and automatic operations that were under way. */
  readonly inFlight: number;
}

/**
 * Kills one process after the other, `points` times, and starts each again at once or later. At the end all of them
 * run.
 */
export async function storm(
  { processes, engineer }: World,
  witness: Witness,
  {
    points,
    chance,
    inFlight,
    told,
  }: {
    readonly points: number;
    readonly chance: Chance;
    readonly inFlight: () => number;
    readonly told: (hit: Hit, number: number) => void;
  },
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  const hits: Hit[] = [];
  const returning: Promise<void>[] = [];
  while (hits.length < points) {
    const target = chance.weighted(WEIGHTS);
    const when = chance.isLucky(AIMED) ? chance.pick<Hit["when"]>(["command dispatched", ...MOMENTS]) : "any time";
    // A starting process is hit less often: most of what could break is in running ones.
    if (!chance.isLucky(AMID_STARTS)) await allStand();
    const isSeen = await waitFor(when);
    const how = target !== "apiserver" && chance.isLucky(FROZEN) ? "frozen" : "killed";
    const hit: Hit = { target, how, when: isSeen ? when : "any time", inFlight: inFlight() };
    hits.push(hit);
    told(hit, hits.length);
    const pauseMs = how === "frozen" ? chance.between(300, 6_000) : chance.isLucky(0.5) ? 0 : chance.between(50, 1_500);
    if (how === "killed") await processes[target].kill();
    else processes[target].program.pause();
    const back = comeBack(target, how, pauseMs);
    returning.push(back);
    // Sometimes the next process is hit while this one is down.
    if (!chance.isLucky(0.25)) await back;
  }
  await Promise.all(returning);
  await allStand();
  return hits;

  async function allStand(): Promise<void> {
    await Promise.all(Object.values(processes).map((target) => target.kept(signal)));
  }

  async function waitFor(moment: Hit["when"]): Promise<boolean> {
    if (moment === "any time") {
      await sleep(systemClock, chance.between(20, 2_000), signal);
      return true;
    }
    const seen = moment === "command dispatched" ? dispatched() : witness.next(moment, AIM_LIMIT_MS);
    const came = await seen;
    // A short random delay: what follows the step takes milliseconds.
    await sleep(systemClock, chance.pick([0, 0, 5, 15, 40]), signal);
    return came;
  }

  /** Only the platform knows of this step first, so it is asked. */
  async function dispatched(): Promise<boolean> {
    const deadline = systemClock.monotonicMs() + AIM_LIMIT_MS;
    while (systemClock.monotonicMs() < deadline) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(1_000)]);
      const { items } = await engineer.commands
        .list({ query: { state: ["DISPATCHED"], limit: 1 } }, limit)
        .catch(() => ({ items: [] }));
      if (items.length > 0) return true;
      await sleep(systemClock, 20, signal);
    }
    return false;
  }

  async function comeBack(name: ProcessName, how: Hit["how"], pauseMs: number): Promise<void> {
    await sleep(systemClock, pauseMs, signal);
    if (how === "frozen") processes[name].program.resume();
    else processes[name].start(signal);
    if (name !== "apiserver") return;
    await processes[name].kept(signal);
    await witness.look(signal);
  }
}
