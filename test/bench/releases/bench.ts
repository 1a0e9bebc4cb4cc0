import type { Row } from "../table.ts";
import { installing } from "./installing.ts";
import { memory } from "./memory.ts";
import { neighbours } from "./neighbours.ts";
import type { ReleasesOptions } from "./options.ts";
import { promoting } from "./promoting.ts";
import { together } from "./together.ts";
import { unchanged } from "./unchanged.ts";
import { ReleaseWorld } from "./world.ts";

/** Releases on a real API server with controllers and simulated nodes, beside kubectl and helm. */
export async function benchReleases(options: ReleasesOptions, signal: AbortSignal): Promise<Row[]> {
  const { wanted, say } = options;
  const rows: Row[] = [];
  const add = (...more: readonly Row[]): void => {
    rows.push(...more);
    // A run that is stopped has said what it had measured.
    for (const { what, measured } of more) say(`${what}: ${measured}`);
  };
  if (wanted("memory")) {
    await using stack = new AsyncDisposableStack();
    add(await memory(await ReleaseWorld.start(stack, false, say, signal), options, signal));
  }
  if (["install", "unchanged"].some(wanted)) {
    await using stack = new AsyncDisposableStack();
    const world = await ReleaseWorld.start(stack, true, say, signal);
    if (wanted("install")) add(...(await installing(world, options)));
    if (wanted("unchanged")) add(await unchanged(world, options, signal));
  }
  if (wanted("promote")) add(await promoting(options, signal));
  if (wanted("together")) add(await together(options, signal));
  if (wanted("neighbours")) add(await neighbours(options, signal));
  return rows;
}
