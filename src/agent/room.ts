import { fullBecause, isOpen } from "../crds/open-cap.ts";
import type { Clock } from "../kube/clock.ts";

interface Counted {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly deploymentId: string };
  readonly status?: { readonly state?: string };
}

interface RoomOptions<T> {
  readonly clock: Clock;
  /** From the cache. */
  readonly all: () => readonly T[];
}

/** How long an object that this process has made may be missing from the cache; longer, and it was deleted. */
const CACHE_LAG_MS = 60_000;

/** Whether one more object of a kind may be made: what the cache shows open, and what was made and is not shown yet. */
export class Room<T extends Counted> {
  readonly #options: RoomOptions<T>;
  /** By name. Bounded by the cap itself: nothing is made beyond it. */
  readonly #made = new Map<string, { readonly object: Counted; readonly atMs: number }>();

  constructor(options: RoomOptions<T>) {
    this.#options = options;
  }

  fullBecause(deploymentId: string): string | undefined {
    const { all, clock } = this.#options;
    const shown = all();
    for (const { metadata } of shown) this.#made.delete(metadata.name);
    const since = clock.monotonicMs() - CACHE_LAG_MS;
    for (const [name, { atMs }] of this.#made) if (atMs < since) this.#made.delete(name);
    return fullBecause(
      [...shown.filter(isOpen), ...[...this.#made.values()].map(({ object }) => object)],
      deploymentId,
    );
  }

  /** Right before it is sent, so that two at once cannot both be the last. */
  made(object: Counted): void {
    this.#made.set(object.metadata.name, { object, atMs: this.#options.clock.monotonicMs() });
  }

  /** It was refused: it is not there. */
  unmade({ metadata }: Counted): void {
    this.#made.delete(metadata.name);
  }
}
