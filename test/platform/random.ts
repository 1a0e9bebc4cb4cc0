import { createHash } from "node:crypto";

/** Whole numbers below `bound`, the same for the same seed. */
export function seeded(seed: string): (bound: number) => number {
  let drawn = 0;
  return (bound) => {
    drawn += 1;
    return createHash("sha256").update(`${seed} ${drawn}`).digest().readUInt32BE() % bound;
  };
}
