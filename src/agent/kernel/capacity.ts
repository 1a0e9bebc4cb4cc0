import type { Clock } from "../../base/clock.ts";
import { fullBecause, type OpenCounts } from "../../crds/kinds/open-cap.ts";
import type { OpenObjects } from "../../crds/kinds/open-objects.ts";

interface Counted {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly deploymentId: string };
}

interface CapacityOptions {
  readonly clock: Clock;
  /** Of the cache. */
  readonly open: Pick<OpenObjects<never>, "counts">;
  /** How many may be there, and what they may be. @default as many as may be open */
  readonly max?: OpenCounts & { readonly word: string };
}

/** How long an object that this process has made may be missing from the cache; longer, and it was deleted. */
const CACHE_LAG_MS = 60_000;

/** Whether one more object of a kind may be made: what the cache shows open, and what was made and is not shown yet. */
export class Capacity {
  readonly #options: CapacityOptions;
  /** By name. Bounded by the cap itself: nothing is made beyond it. */
  readonly #made = new Map<string, { readonly object: Counted; readonly atMs: number }>();

  constructor(options: CapacityOptions) {
    this.#options = options;
  }

  fullBecause(deploymentId: string): string | undefined {
    const { open, clock, max } = this.#options;
    const since = clock.monotonicMs() - CACHE_LAG_MS;
    const shown = open.counts(deploymentId);
    let [same, all] = [shown.ofDeployment, shown.inAll];
    for (const [name, { object, atMs }] of this.#made) {
      if (atMs < since) this.#made.delete(name);
      else {
        all += 1;
        if (object.spec.deploymentId === deploymentId) same += 1;
      }
    }
    return fullBecause({ ofDeployment: same, inAll: all }, max, max?.word);
  }

  /** The cache shows it: `open` counts it from here on, as long as it is open. */
  readonly shown = ({ object }: { readonly object: Pick<Counted, "metadata"> }): void => {
    this.#made.delete(object.metadata.name);
  };

  /** Right before it is sent, so that two at once cannot both be the last. */
  made(object: Counted): void {
    this.#made.set(object.metadata.name, { object, atMs: this.#options.clock.monotonicMs() });
  }

  /** It was refused: it is not there. */
  unmade({ metadata }: Counted): void {
    this.#made.delete(metadata.name);
  }
}
