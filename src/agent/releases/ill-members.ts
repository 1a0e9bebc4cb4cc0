import type { Clock } from "../../base/clock.ts";
import { type Member, UNHEALTHY_FOR_MS } from "./installed.ts";

/** Since when workloads of releases are unhealthy. Bounded by what is observed of what the platform lists. */
export class IllMembers {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By deployment and name of the workload. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Names of those that have been unhealthy for long, as of this look.
   *
   * @param isKnown the platform was told so before: a restart of this process makes nothing healthy
   */
  seen(deploymentId: string, members: readonly Member[], isKnown: boolean): readonly string[] {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#sinceMs.get(deploymentId);
    const firstMs = before === undefined && isKnown ? nowMs - UNHEALTHY_FOR_MS : nowMs;
    const ill = members.filter(({ isUnhealthy }) => isUnhealthy);
    const since = new Map(ill.map(({ name }) => [name, before?.get(name) ?? firstMs]));
    this.#sinceMs.set(deploymentId, since);
    return [...since].filter(([, atMs]) => nowMs - atMs >= UNHEALTHY_FOR_MS).map(([name]) => name);
  }

  forget(deploymentId: string): void {
    this.#sinceMs.delete(deploymentId);
  }
}
