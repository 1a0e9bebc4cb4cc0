import type { Clock } from "../../../base/clock.ts";
import type { Rollout } from "../../../crds/kinds/rollout.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Client } from "../../../kube/client/client.ts";
import type { RolloutAccess } from "../../access/rollout-access.ts";
import { ReleaseApi } from "./release-api.ts";

/** A token is good for ten minutes; it is asked for anew before its end. */
const KEPT_MS = 8 * 60_000;
/** Rollouts that run at once have one each; a binding that is found again costs three requests. */
const MAX_KEPT = 256;

interface Kept {
  readonly api: ReleaseApi;
  readonly namespaces: ReadonlySet<string>;
  readonly endsAtMs: number;
}

export interface AccountPorts {
  readonly access: RolloutAccess;
  readonly clientFor: (token: string) => Pick<Client, "exchange">;
  readonly fence: () => void;
  readonly clock: Clock;
}

/** The API server as the account of a rollout sees it. What was opened is kept: a gate looks every few seconds. */
export class RolloutAccounts {
  readonly #ports: AccountPorts;
  readonly #kept = new Map<string, Kept>();

  constructor(ports: AccountPorts) {
    this.#ports = ports;
  }

  /**
   * Runs `work` as the rollout's account, whose bindings end at `until`.
   * @param made called when the account was opened just now: a right may take a moment to count.
   */
  async as<T>(
    rollout: Rollout,
    namespaces: readonly string[],
    until: Date,
    signal: AbortSignal,
    work: (api: ReleaseApi) => Promise<T>,
    made: (api: ReleaseApi) => Promise<unknown>,
  ): Promise<T> {
    const { uid } = rollout.metadata;
    try {
      const { clock } = this.#ports;
      const kept = this.#kept.get(uid);
      const isGood = kept !== undefined && clock.monotonicMs() < kept.endsAtMs;
      if (isGood && namespaces.every((each) => kept.namespaces.has(each))) return await work(kept.api);
      const places = new Set([...namespaces, ...(isGood ? kept.namespaces : [])]);
      const api = await this.open("rollout", rollout, [...places], until, signal);
      await made(api);
      if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
      const endsAtMs = Math.min(clock.monotonicMs() + KEPT_MS, clock.monotonicMs() + msUntil(until, clock));
      this.#kept.set(uid, { api, namespaces: places, endsAtMs });
      return await work(api);
    } catch (error) {
      if (error instanceof ApiError && (error.isForbidden || error.isUnauthorized)) this.forget(uid);
      throw error;
    }
  }

  async open(
    kind: "plan" | "rollout",
    rollout: Rollout,
    namespaces: readonly string[],
    until: Date,
    signal: AbortSignal,
  ): Promise<ReleaseApi> {
    this.#ports.fence();
    const token = await this.#ports.access.open(kind, rollout, namespaces, until, signal);
    return new ReleaseApi(this.#ports.clientFor(token).exchange, this.#ports.fence);
  }

  /** The account is opened anew at the next use. */
  forget(rolloutUid: string): void {
    this.#kept.delete(rolloutUid);
  }
}

function msUntil(until: Date, clock: Clock): number {
  return until.getTime() - clock.wallNow().getTime();
}
