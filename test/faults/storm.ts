import { sleep, systemClock } from "../../src/base/clock.ts";
import type { Chance } from "./random.ts";
import { MOMENTS, type Moment, type Witness } from "./witness.ts";
import type { VictimName, World } from "./world.ts";

/** How often each is hit. An API server takes seconds to come back, so it gets fewer. */
const WEIGHTS: Readonly<Record<VictimName, number>> = { operator: 38, agent: 32, platform: 20, apiserver: 10 };
/** Right after a step, where a promise could be half kept; else at any time. */
const AIMED = 0.6;
/** A step that does not come within this is not waited for. */
const AIM_LIMIT_MS = 4_000;
const FROZEN = 0.08;
/** The others may still be coming back from earlier hits. */
const AMID_STARTS = 0.15;

export interface Hit {
  readonly victim: VictimName;
  readonly how: "killed" | "frozen";
  readonly when: Moment | "command dispatched" | "any time";
  /** Stories and automatic operations that were under way. */
  readonly inFlight: number;
}

/** Hits one process after the other, `points` times, and brings each back at once or later. All of them stand at the end. */
export async function storm(
  { victims, engineer }: World,
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
    const victim = chance.weighted(WEIGHTS);
    const when = chance.isLucky(AIMED) ? chance.pick<Hit["when"]>(["command dispatched", ...MOMENTS]) : "any time";
    // One that is starting is a rarer target: most of what could break is in those that work.
    if (!chance.isLucky(AMID_STARTS)) await allStand();
    const isSeen = await waitFor(when);
    const how = victim !== "apiserver" && chance.isLucky(FROZEN) ? "frozen" : "killed";
    const hit: Hit = { victim, how, when: isSeen ? when : "any time", inFlight: inFlight() };
    hits.push(hit);
    told(hit, hits.length);
    const pauseMs = how === "frozen" ? chance.between(300, 6_000) : chance.isLucky(0.5) ? 0 : chance.between(50, 1_500);
    if (how === "killed") await victims[victim].kill();
    else victims[victim].program.pause();
    const back = comeBack(victim, how, pauseMs);
    returning.push(back);
    // Now and then the next one falls while this one is away.
    if (!chance.isLucky(0.25)) await back;
  }
  await Promise.all(returning);
  await allStand();
  return hits;

  async function allStand(): Promise<void> {
    await Promise.all(Object.values(victims).map((victim) => victim.kept(signal)));
  }

  async function waitFor(moment: Hit["when"]): Promise<boolean> {
    if (moment === "any time") {
      await sleep(systemClock, chance.between(20, 2_000), signal);
      return true;
    }
    const seen = moment === "command dispatched" ? dispatched() : witness.next(moment, AIM_LIMIT_MS);
    const came = await seen;
    // Not always the very instant: what follows the step takes milliseconds.
    await sleep(systemClock, chance.pick([0, 0, 5, 15, 40]), signal);
    return came;
  }

  /** The platform alone knows of it first, and has to be asked. */
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

  async function comeBack(name: VictimName, how: Hit["how"], pauseMs: number): Promise<void> {
    await sleep(systemClock, pauseMs, signal);
    if (how === "frozen") victims[name].program.resume();
    else victims[name].start(signal);
    if (name !== "apiserver") return;
    await victims[name].kept(signal);
    await witness.look(signal);
  }
}
