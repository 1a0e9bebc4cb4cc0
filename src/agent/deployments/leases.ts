import { randomUUID } from "node:crypto";
import { ApiError } from "../../api-client/api-error.ts";
import type { Clock } from "../../base/clock.ts";
import type { DeploymentModel } from "../../contract/deployments/deployment-state.ts";
import { isGone } from "../platform-link/platform-answer.ts";
import type { Platform } from "../platform-link/routes.ts";
import { type HeldLease, leaseAfter } from "./deployment.ts";

export interface LeasesOptions {
  readonly platform: Pick<Platform["sync"], "acquire" | "renew" | "release">;
  readonly clock: Clock;
  /** How many are held, after each change. */
  readonly changed: (held: number) => void;
}

/** A deployment can be leased once a minute (§15.2). */
const ACQUIRE_EVERY_MS = 60_000;

/** The deployments that this process holds. */
export class Leases {
  /** One a process: leases of a process that died are not taken for ours (§15.2). */
  readonly session = `agent-${randomUUID()}`;
  readonly #options: LeasesOptions;
  readonly #held = new Map<string, HeldLease>();
  readonly #acquireAtMs = new Map<string, number>();

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  of(id: string): HeldLease | undefined {
    return this.#held.get(id);
  }

  /** When a lease on it may be asked for again. */
  acquireAtMs(id: string): number {
    return this.#acquireAtMs.get(id) ?? 0;
  }

  async acquire(id: string, deploymentModel: DeploymentModel, signal: AbortSignal): Promise<void> {
    const atMs = this.#options.clock.monotonicMs();
    this.#acquireAtMs.set(id, atMs + ACQUIRE_EVERY_MS);
    const request = { session: this.session, requestId: randomUUID(), deploymentModel, deploymentIds: [id], limit: 1 };
    const { deployments } = await this.#options.platform.acquire({ body: request }, signal);
    if (deployments.some((item) => item.deploymentId === id)) this.#hold(id, leaseAfter("acquire", atMs));
  }

  /** Confirms and extends. False: it is lost, to another session or with the deployment. */
  async renew(id: string, signal: AbortSignal): Promise<boolean> {
    const atMs = this.#options.clock.monotonicMs();
    try {
      const { leases } = await this.#options.platform.renew(
        { body: { session: this.session, deploymentIds: [id] } },
        signal,
      );
      const isRenewed = leases.some((lease) => lease.deploymentId === id && lease.renewed);
      if (isRenewed) this.#hold(id, leaseAfter("renew", atMs));
      else this.lost(id);
      return isRenewed;
    } catch (error) {
      if (!isLeaseLost(error) && !isGone(error)) throw error;
      this.lost(id);
      return false;
    }
  }

  /** Nothing may be done under it any more. Its new holder keeps it for a while, so the next try comes late. */
  lost(id: string): void {
    this.#acquireAtMs.set(id, this.#options.clock.monotonicMs() + ACQUIRE_EVERY_MS);
    this.#hold(id, undefined);
  }

  /** Given back, so that another agent need not wait five minutes. Over for us even when the call fails. */
  async release(id: string, signal: AbortSignal): Promise<void> {
    this.#hold(id, undefined);
    await this.#options.platform.release({ body: { deploymentId: id, session: this.session } }, signal);
  }

  /** At the end of this process; a failure costs another agent five minutes, and this one nothing. */
  async releaseAll(signal: AbortSignal): Promise<void> {
    await Promise.allSettled([...this.#held.keys()].map((id) => this.release(id, signal)));
  }

  /** The deployment is not served here any more. */
  forget(id: string): void {
    this.#acquireAtMs.delete(id);
    this.#hold(id, undefined);
  }

  #hold(id: string, lease: HeldLease | undefined): void {
    if (lease === undefined) this.#held.delete(id);
    else this.#held.set(id, lease);
    this.#options.changed(this.#held.size);
  }
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof ApiError && error.code === "LEASE_LOST";
}
