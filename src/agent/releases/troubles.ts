import type { Clock } from "../../base/clock.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import { type Installed, type Member, troubleOf } from "./installed.ts";
import type { ReleaseRecord } from "./release-record.ts";

/** What is unhealthy for less may be a restart. */
const UNHEALTHY_FOR_MS = 10 * 60_000;

/** Why what is installed is not as it was released. Remembers since when workloads are unhealthy. */
export class Troubles {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By deployment and name of the workload. Bounded by what the platform lists, and by what is observed of it. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Undefined: there is none. @param members as of this look */
  of(
    { id, status, wanted }: ReleaseRecord,
    installed: Installed | undefined,
    members: readonly Member[],
    tellsWords: boolean,
  ): StoredError | undefined {
    if (installed === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const before = this.#sinceMs.get(id);
    // A restart of this process makes nothing healthy that the platform was told of.
    const isKnown = before === undefined && status === "refresh-failed" && wanted.error?.code === "RESOURCE_UNHEALTHY";
    const firstMs = isKnown ? nowMs - UNHEALTHY_FOR_MS : nowMs;
    const ill = members.filter(({ isUnhealthy }) => isUnhealthy);
    const since = new Map(ill.map(({ name }) => [name, before?.get(name) ?? firstMs]));
    this.#sinceMs.set(id, since);
    const long = [...since].filter(([, atMs]) => nowMs - atMs >= UNHEALTHY_FOR_MS).map(([name]) => name);
    return troubleOf(installed, long, tellsWords);
  }

  forget(id: string): void {
    this.#sinceMs.delete(id);
  }
}
