import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { orAborted } from "../../base/or-aborted.ts";
import { lookRepeatedly } from "../../kube/access/repeated-look.ts";
import type { Client } from "../../kube/client/client.ts";
import type { AdmissionMode, Enforcement } from "../gate/enforcement.ts";
import { readEnforcement } from "../gate/enforcement.ts";
import type { OperatorMetrics } from "../kernel/metrics.ts";

export interface AdmissionWatchOptions {
  readonly client: Pick<Client, "get" | "rawGet">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<OperatorMetrics, "policies">;
  readonly mode: AdmissionMode;
  /** Validating policies of what is switched on: debug sessions, releases. @default none */
  readonly others?: readonly string[];
  /** Between two looks. A policy that goes is noticed that late: the operator may only get policies, not watch them. */
  readonly everyMs: number;
  /** How long an API server may take to enforce policies that are there; of several, each by itself. */
  readonly settleMs: number;
}

const RETRY_MS = 1_000;

/** Keeps an eye on the admission policies, by name, from the start of the process to its end. */
export class AdmissionWatch {
  readonly name = "admission policies";
  readonly #options: AdmissionWatchOptions;
  readonly #first = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  #current: Enforcement | undefined;
  #othersMissing: readonly string[] = [];
  /** Looks in a row that found policies missing. */
  #missing = 0;

  constructor(options: AdmissionWatchOptions) {
    this.#options = options;
  }

  /** Of the last look; `since` is when each API server had taken up the policies. @throws Error before the first: wait for {@link whenSynced}. */
  get current(): Enforcement {
    if (this.#current === undefined) throw new Error("the admission policies have not been looked at yet");
    return this.#current;
  }

  /** Those of `names`, of what is switched on, that the last look did not find. In words; undefined: none. */
  obstacleOf(names: readonly string[]): string | undefined {
    const missing = this.#othersMissing.filter((name) => names.includes(name));
    return missing.length === 0 ? undefined : `admission policies are missing: ${missing.join(", ")}`;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return orAborted(this.#first.promise, signal);
  }

  /** Looks again and again until `signal` aborts; a look that fails leaves the last one standing. */
  run(signal: AbortSignal): Promise<void> {
    const options = {
      ...this.#options,
      everyMs: () => this.#pauseMs(),
      retryMs: RETRY_MS,
      failed: "admission policies not read",
    };
    return lookRepeatedly((each) => this.look(each), options, signal);
  }

  async look(signal: AbortSignal): Promise<void> {
    const { client, log, metrics, mode, others = [], settleMs } = this.#options;
    const { enforcement: found, missing, ...policies } = await readEnforcement(client, mode, signal, others);
    const enforcement = "since" in found ? { ...found, since: new Date(found.since.getTime() + settleMs) } : found;
    metrics.policies(policies);
    const before = this.#current;
    const missingBefore = this.#othersMissing;
    this.#current = enforcement;
    this.#othersMissing = missing;
    this.#missing = enforcement.kind === "none" || missing.length > 0 ? this.#missing + 1 : 0;
    this.#first.resolve();
    if (!isDeepStrictEqual(missingBefore, missing)) {
      if (missing.length > 0) log.warn({ missing }, "policies of what is switched on are missing");
      if (isDeepStrictEqual(before, enforcement)) for (const listener of this.#listeners) listener();
    }
    if (isDeepStrictEqual(before, enforcement)) return;
    if (enforcement.kind === "none") log.warn({ missing: enforcement.missing }, "admission policies are missing");
    else if (enforcement.kind === "unseen") log.warn({}, "not allowed to look at the admission policies");
    else log.info({ kind: enforcement.kind, since: enforcement.since }, "admission policies are in force");
    for (const listener of this.#listeners) listener();
  }

  /**
   * Helm installs the policies after the operator's Deployment. A missing one is looked for again after 1 s, 2 s, 4 s and
   * so on, or decisions of the first half minute would have no verified name.
   */
  #pauseMs(): number {
    const { everyMs } = this.#options;
    return this.#missing === 0 ? everyMs : Math.min(everyMs, RETRY_MS * 2 ** (this.#missing - 1));
  }
}
