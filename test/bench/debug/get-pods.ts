import { type Row, spread } from "../table.ts";
import type { DebugOptions } from "./options.ts";
import { DIRECT, OURS, type Way } from "./ways.ts";

const GOAL_MS = 25;

/** What each way adds to `kubectl get pods`, from its start to its end: rounds of all ways in turn, each against the same round's direct one. */
export async function getPods(
  ways: readonly Way[],
  { rounds, say }: DebugOptions,
  signal: AbortSignal,
): Promise<Row[]> {
  say(`debug: ${rounds} rounds of get pods, ${ways.length} ways in turn`);
  const times = new Map(ways.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, kubectl } of ways) {
      signal.throwIfAborted();
      times.get(name)?.push(await kubectl(["get", "pods"]).done());
    }
  }
  const direct = times.get(DIRECT) ?? [];
  return [...times].map(([name, values]) => {
    const added = spread(values.map((value, round) => value - (direct[round] ?? Number.NaN)));
    const all = spread(values);
    const isOurs = name === OURS;
    return {
      what: `get pods, ${name}`,
      measured:
        name === DIRECT
          ? `median ${all.median.toFixed(0)} ms`
          : `${added.median.toFixed(1)} ms more than direct (median ${all.median.toFixed(0)} ms, p99 ${all.p99.toFixed(0)} ms)`,
      goal: isOurs ? `at most ${GOAL_MS} ms more` : "",
      ...(isOurs && { reached: added.median <= GOAL_MS }),
      figures: { all, added, values },
    };
  });
}
