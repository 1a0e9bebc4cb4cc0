import { type Clock, type Random, sleep, systemRandom } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import { ApiError } from "../client/api-error.ts";
import type { ElectionMetrics, KubeMetrics } from "../metrics/metrics.ts";
import { resources } from "../objects/resource.ts";
import { DEFAULT_ELECTION_TIMES, type ElectionTimes, electionTimesProblems, JITTER_FACTOR } from "./election-times.ts";
import {
  type Lease,
  type LeaseClient,
  type LeaseSpec,
  newLease,
  ObservedLease,
  released,
  renewed,
  taken,
} from "./lease.ts";

export interface LeaderElectorOptions extends Partial<ElectionTimes> {
  /** Best on a connection of its own: behind a full pool a renewal comes late. */
  readonly client: LeaseClient;
  readonly namespace: string;
  /** Of the Lease, and label of the metrics. */
  readonly name: string;
  /** Unique to this process, also across restarts: `hostname_uuid`. Two processes of one identity both lead. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<KubeMetrics, "election">;
  readonly random?: Random;
}

/** This process must not act as the leader any more, or does not yet. */
export class LeadershipLostError extends Error {
  override readonly name = "LeadershipLostError";
}

/** client-go's health adaptor, as kube-controller-manager sets it up. */
const OVERDUE_TOLERANCE_MS = 20_000;

type Leadership =
  | { readonly is: "standby" }
  | { readonly is: "leading"; readonly lease: Lease; readonly renewedMs: number }
  | { readonly is: "lost"; readonly renewedMs: number };

/**
 * One leader among the processes that share a Lease.
 *
 * Two leaders at once are kept apart by time alone, so each side counts on the safe side: the leader from before it
 * *sent* its last successful renewal, the others from when they *received* it. Only the local monotonic clock is read;
 * its assumption is that machines' clocks run about equally fast, {@link LeaderElector.fence} pays for "about". A write
 * that passed the fence and is then delayed on the network can still arrive late: writes must carry a
 * resourceVersion, or be the same from every sender. A machine that is suspended may stop its monotonic clock too.
 *
 * Source: client-go `tools/leaderelection`. Stricter in three points: the time of a renewal is when it was sent; a
 * leader that reads another holder stops at once; a lease that was deleted while held is waited out like a held one.
 */
export class LeaderElector {
  readonly #options: Required<Omit<LeaderElectorOptions, "metrics">>;
  readonly #metrics: ElectionMetrics;
  /** client-go's: a slow API server gets two tries before the deadline. */
  readonly #requestTimeoutMs: number;
  #leadership: Leadership = { is: "standby" };
  readonly #observed = new ObservedLease();
  #failing = false;

  constructor(options: LeaderElectorOptions) {
    const { metrics, ...rest } = options;
    this.#options = { random: systemRandom, ...DEFAULT_ELECTION_TIMES, ...rest };
    const problem = electionTimesProblems(this.#options).map(({ setting, must }) => `${setting} must ${must}`);
    if (problem.length > 0) throw new Error(problem.join("; "));
    this.#requestTimeoutMs = Math.max(1000, this.#options.renewDeadlineMs / 2);
    this.#metrics = metrics.election(options.name);
  }

  get isLeader(): boolean {
    return this.#leadership.is === "leading";
  }

  /**
   * Call right before each write. Synchronous, so that no stalled event loop lies between the check and the send.
   *
   * @throws LeadershipLostError when another process may have taken over.
   */
  fence(): void {
    const { leaseDurationMs, fenceMarginMs, clock, name } = this.#options;
    const leadership = this.#leadership;
    const isSafe =
      leadership.is === "leading" && clock.monotonicMs() < leadership.renewedMs + leaseDurationMs - fenceMarginMs;
    if (!isSafe) throw new LeadershipLostError(`not the leader of ${name}`);
  }

  /** What is wrong, for liveness: this process ought to have renewed or ended long ago. */
  check(): string | undefined {
    if (this.#leadership.is === "standby") return undefined;
    const overdueMs = this.#options.clock.monotonicMs() - this.#leadership.renewedMs - this.#options.leaseDurationMs;
    return overdueMs > OVERDUE_TOLERANCE_MS ? `lease ${this.#options.name} is overdue` : undefined;
  }

  /**
   * Waits to lead, then calls `onLead` once. Its signal aborts when leadership ends, with `signal` or without.
   *
   * Returns after `onLead` has returned and the lease is given back, or when `signal` aborts before this process led.
   * The lease is renewed as long as `onLead` runs, and given back only if it returned: a throw leaves open whether all
   * workers have stopped, so the lease then runs out by itself.
   *
   * @throws LeadershipLostError without waiting for `onLead`: time is up, the process should end.
   */
  async run(onLead: (leadership: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await this.#acquire(signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    const term = new AbortController();
    const renewals = new AbortController();
    const forward = (): void => term.abort(signal.reason);
    signal.addEventListener("abort", forward, { once: true });
    if (signal.aborted) forward();
    const work = (async () => onLead(term.signal))();
    const renewing = this.#keepRenewing(renewals.signal);
    try {
      await Promise.race([work, renewing]);
    } catch (error) {
      this.#end({ is: "lost", renewedMs: this.#renewedMs() });
      term.abort(error);
      throw error;
    } finally {
      renewals.abort();
      signal.removeEventListener("abort", forward);
      // The loser of the race has no caller left: the renewals end by our abort, the work by its term's.
      for (const each of [work, renewing]) each.catch(() => undefined);
    }
    await this.#release();
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { clock, random, retryPeriodMs, name, identity, log } = this.#options;
    log.info({ lease: name, identity }, "waiting to lead");
    while (!(await this.#try("acquire", signal))) {
      await sleep(clock, retryPeriodMs * (1 + JITTER_FACTOR * random()), signal);
    }
    log.info({ lease: name, identity }, "leading");
    this.#metrics.leading(true);
  }

  /** Rejects: with `LeadershipLostError` when it cannot renew in time, or when `signal` aborts. */
  async #keepRenewing(signal: AbortSignal): Promise<never> {
    const { clock, retryPeriodMs, renewDeadlineMs, name } = this.#options;
    for (;;) {
      const leftMs = this.#renewedMs() + renewDeadlineMs - clock.monotonicMs();
      const round = async (deadline: AbortSignal): Promise<void> => {
        do await sleep(clock, retryPeriodMs, deadline);
        while (!(await this.#try("renew", deadline)));
      };
      try {
        // One round is as many tries as it takes; its deadline also cuts a request that hangs.
        await withDeadline(clock, leftMs, signal, round);
      } catch (error) {
        if (signal.aborted || error instanceof LeadershipLostError) throw error;
        throw new LeadershipLostError(`lease ${name} not renewed in time`, { cause: error });
      }
    }
  }

  /** One try. False: not now. */
  async #try(what: "acquire" | "renew", signal: AbortSignal): Promise<boolean> {
    const { clock, log, name } = this.#options;
    try {
      const held = await withDeadline(clock, this.#requestTimeoutMs, signal, (each) => this.#acquireOrRenew(each));
      if (this.#failing) log.info({ lease: name }, `lease ${what} works again`);
      this.#failing = false;
      return held;
    } catch (error) {
      if (signal.aborted || error instanceof LeadershipLostError) throw error;
      log[this.#failing ? "debug" : "warn"]({ lease: name, err: error }, `lease ${what} failed`);
      this.#failing = true;
      return false;
    }
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const leadership = this.#leadership;
    if (leadership.is === "leading") {
      try {
        // Optimistic: no other process writes while we hold it, so one request does.
        await this.#write(leadership.lease, renewed, signal);
        return true;
      } catch (error) {
        if (signal.aborted || !(error instanceof ApiError)) throw error;
        this.#metrics.slowPath();
      }
    }
    return this.#slowPath(signal);
  }

  async #slowPath(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name, identity, clock, leaseDurationMs } = this.#options;
    const sentMs = clock.monotonicMs();
    const lease = await client.get<Lease>(resources.leases, { namespace, name }, signal);
    if (lease) this.#observed.see(lease.spec ?? {}, clock.monotonicMs());
    const holder = this.#observed.holder;
    if (holder !== undefined && holder !== identity) {
      if (this.#leadership.is === "leading") throw new LeadershipLostError(`lease ${name} is held by another process`);
      if (this.#observed.isValid(clock.monotonicMs(), leaseDurationMs)) return false;
    }
    if (lease === undefined) {
      const spec = taken(this.#observed.spec, identity, leaseDurationMs, clock.wallNow());
      this.#hold(await client.create<Lease>(resources.leases, newLease(namespace, name, spec), signal), sentMs);
    } else if (holder === identity) {
      // Ours already: a renewal that raced with some other write, or an answer that never reached us.
      await this.#write(lease, renewed, signal);
    } else {
      await this.#write(lease, (spec, leaseMs, now) => taken(spec, identity, leaseMs, now), signal);
    }
    return true;
  }

  async #write(
    lease: Lease,
    change: (spec: LeaseSpec | undefined, leaseMs: number, now: Date) => LeaseSpec,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, leaseDurationMs } = this.#options;
    const sentMs = clock.monotonicMs();
    const spec = change(lease.spec, leaseDurationMs, clock.wallNow());
    // The resourceVersion in the metadata makes this fail with 409 after a write in between.
    this.#hold(await client.replace<Lease>(resources.leases, { ...lease, spec }, {}, signal), sentMs);
  }

  #hold(lease: Lease, sentMs: number): void {
    this.#observed.see(lease.spec ?? {}, this.#options.clock.monotonicMs());
    this.#leadership = { is: "leading", lease, renewedMs: sentMs };
  }

  #renewedMs(): number {
    return this.#leadership.is === "standby" ? this.#options.clock.monotonicMs() : this.#leadership.renewedMs;
  }

  #end(leadership: Leadership): void {
    this.#leadership = leadership;
    this.#metrics.leading(false);
  }

  async #release(): Promise<void> {
    const { client, clock, log, namespace, name, identity } = this.#options;
    if (this.#leadership.is !== "leading") return;
    const { lease } = this.#leadership;
    // First, so that the fence is shut before another process can see the lease free.
    this.#end({ is: "standby" });
    const write = (latest: Lease, signal: AbortSignal): Promise<Lease> =>
      client.replace<Lease>(resources.leases, { ...latest, spec: released(latest.spec, clock.wallNow()) }, {}, signal);
    const replace = async (signal: AbortSignal): Promise<void> => {
      try {
        await write(lease, signal);
      } catch (error) {
        if (!(error instanceof ApiError && error.isConflict)) throw error;
        // A renewal that was under way when the work ended has arrived after all: the lease is still ours.
        const latest = await client.get<Lease>(resources.leases, { namespace, name }, signal);
        if (latest?.spec?.holderIdentity === identity) await write(latest, signal);
      }
    };
    try {
      // A signal of its own: the shutdown that brings us here has aborted the others.
      await withDeadline(clock, this.#requestTimeoutMs, new AbortController().signal, replace);
      log.info({ lease: name }, "lease released");
    } catch (error) {
      log.warn({ lease: name, err: error }, "lease not released, it runs out by itself");
    }
  }
}
