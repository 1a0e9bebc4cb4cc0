import { createHash } from "node:crypto";

/** Random whole numbers below `bound`, repeatable by the seed. */
export function seeded(seed: string): (bound: number) => number {
  let drawn = 0;
  return (bound) => {
    drawn += 1;
    return createHash("sha256").update(`${seed} ${drawn}`).digest().readUInt32BE() % bound;
  };
}
