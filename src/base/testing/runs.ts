import { isFull } from "./full.ts";

const FEWEST = 20;

/** For walks: a run of theirs is many steps, and the property is tried at each of them. */
export const FEWEST_WALKS = 5;

/**
 * How often a property is tried: as often as is given in a full run, else a tenth of it, and not less than `fewest`.
 * Each run draws its own seed, so that what one misses another finds; whatever has to be seen in each run is an example
 * of the property and not left to chance.
 */
export function runs(inFull: number, fewest = FEWEST): number {
  return isFull ? inFull : Math.min(inFull, Math.max(fewest, Math.ceil(inFull / 10)));
}
