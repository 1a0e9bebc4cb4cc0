import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Informer } from "../cache/informer.ts";
import type { Cached } from "../cache/store.ts";
import type { Controller } from "../controller/controller.ts";
import { type LeaderElector, LeadershipLostError } from "../election/leader-election.ts";
import type { EventRecorder } from "../events/event-recorder.ts";
import { EventLoopLag } from "../metrics/event-loop-lag.ts";
import type { MetricsServer } from "../serving/metrics-server.ts";
import type { HealthServer } from "./health.ts";
import { RunGroup } from "./run-group.ts";

/** Something that works until its signal aborts. A throw before that ends the whole process; a return does not. */
export interface Runnable {
  /** For logs. */
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Whether it runs on the leader only; default true, as in controller-runtime: forgetting it is the safe side. */
  readonly needsLeader?: boolean;
}

export interface ManagerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Started first and stopped late, so that a slow start and a slow stop can be seen. */
  readonly health?: Pick<HealthServer, "addCheck" | "listen" | "close">;
  /** Starts and stops with `health`. Absent: the metrics are there, or nowhere. */
  readonly metrics?: Pick<MetricsServer, "listen" | "run" | "close">;
  /** Absent: this process is the leader. */
  readonly leaderElection?: Pick<LeaderElector, "run" | "check">;
  /** Stopped last: the other parts may have news until they end. */
  readonly events?: Pick<EventRecorder, "run">;
  /** How long a stop may take; default 30,000, as long as Kubernetes waits before it kills. */
  readonly shutdownGraceMs?: number;
}

type AnyInformer = Pick<Informer<Cached>, "run" | "whenSettled" | "synced" | "refusal" | "resource">;

/**
 * Starts and stops the parts of a process in an order in which none misses another:
 *
 * - start: health, metrics → events → caches (until synced, or refused) → others → election → what needs the leader;
 * - stop: others → what needs the leader → caches → health, metrics → election, which gives the lease back → events.
 *
 * Source: controller-runtime `pkg/manager/internal.go`.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #informers: AnyInformer[] = [];
  readonly #leaderRunnables: Runnable[] = [];
  readonly #otherRunnables: Runnable[] = [];
  readonly #lag: EventLoopLag;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.#lag = new EventLoopLag(options.clock);
    const { health, leaderElection } = options;
    health?.addCheck("livez", { name: "event-loop", check: () => this.#lag.check() });
    if (leaderElection) health?.addCheck("livez", { name: "leader-election", check: () => leaderElection.check() });
    // Not leadership: a standby is ready, or a rolling update would wait for it for ever.
    health?.addCheck("readyz", { name: "caches", check: () => this.#unsynced() });
  }

  addInformer(informer: AnyInformer): this {
    this.#informers.push(informer);
    return this;
  }

  addController(controller: Pick<Controller, "name" | "needsLeader" | "run">): this {
    return this.addRunnable({
      name: controller.name,
      needsLeader: controller.needsLeader,
      run: (signal) => controller.run(signal),
    });
  }

  addRunnable(runnable: Runnable): this {
    (runnable.needsLeader === false ? this.#otherRunnables : this.#leaderRunnables).push(runnable);
    return this;
  }

  /**
   * Runs everything until `signal` aborts, then stops it in order and returns. Call once.
   *
   * @throws what a part threw, after stopping the others; LeadershipLostError at once, without waiting for the others:
   * another process may lead by now, and this one should end. Error when parts had not stopped after `shutdownGraceMs`:
   * end the process. As long as it lives the lease is renewed, because those parts may still be writing.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const failure = Promise.withResolvers<never>();
    // It may reject before it is awaited.
    failure.promise.catch(() => undefined);
    const failed = (error: unknown): void => {
      // Too late to be thrown, so it is logged.
      if (stop.signal.aborted) this.#options.log.warn({ err: error }, "a part failed while the others were stopping");
      failure.reject(error);
    };
    const group = (name: string): RunGroup => new RunGroup(name, this.#options.log, failed);
    const groups: Groups = {
      events: group("events"),
      caches: group("caches"),
      others: group("others"),
      leader: group("leader"),
      election: group("election"),
    };
    const stopped = Promise.withResolvers<void>();
    const onAbort = (): void => {
      stop.abort(signal.reason);
      stopped.resolve();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    let cause: unknown;
    try {
      await Promise.race([this.#start(groups, stop.signal), failure.promise]);
      await Promise.race([stopped.promise, failure.promise]);
    } catch (error) {
      if (!signal.aborted) cause = error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      stop.abort(cause ?? signal.reason);
    }
    await this.#stop(groups, cause);
    if (cause !== undefined) throw cause;
  }

  async #start(groups: Groups, signal: AbortSignal): Promise<void> {
    const { health, metrics, events, leaderElection, log } = this.#options;
    this.#lag.start();
    await health?.listen();
    await metrics?.listen();
    if (metrics) groups.caches.start({ name: "metrics certificate", run: (each) => metrics.run(each) });
    if (events) groups.events.start({ name: "event recorder", run: (each) => events.run(each) });
    for (const informer of this.#informers) {
      groups.caches.start({ name: informer.resource.plural, run: (each) => informer.run(each) });
    }
    // A kind that may not be read holds up only the controllers that wait for it themselves.
    await Promise.all(this.#informers.map(async (informer) => informer.whenSettled(signal)));
    signal.throwIfAborted();
    const unsynced = this.#unsynced();
    if (unsynced === undefined) log.info({ caches: this.#informers.length }, "caches synced");
    else log.warn({ reason: unsynced }, "started without all caches");
    for (const runnable of this.#otherRunnables) groups.others.start(runnable);
    const lead = (): void => {
      // Leadership that arrives during a stop starts nothing.
      if (signal.aborted) return;
      for (const runnable of this.#leaderRunnables) groups.leader.start(runnable);
    };
    if (!leaderElection) {
      lead();
      return;
    }
    const whileLeading = async (leadership: AbortSignal): Promise<void> => {
      const over = new Promise<void>((resolve) => {
        leadership.addEventListener("abort", () => resolve(), { once: true });
        if (leadership.aborted) resolve();
      });
      lead();
      // Over when the lease is lost, or when its turn has come in the stop: it is kept until then.
      await over;
      groups.leader.abort(leadership.reason);
      await groups.leader.whenStopped();
    };
    groups.election.start({ name: "leader election", run: (each) => leaderElection.run(whileLeading, each) });
  }

  async #stop(groups: Groups, cause: unknown): Promise<void> {
    const { clock, log, shutdownGraceMs = 30_000 } = this.#options;
    const inOrder = [groups.others, groups.leader, groups.caches, groups.election, groups.events] as const;
    if (cause instanceof LeadershipLostError) {
      log.error({ err: cause }, "leader election lost");
      for (const group of inOrder) group.abort(cause);
      this.#lag.stop();
      await this.#closeServers();
      return;
    }
    log.info({ graceMs: shutdownGraceMs }, "stopping");
    const timeUp = Promise.withResolvers<"time up">();
    const cancel = clock.after(shutdownGraceMs, () => timeUp.resolve("time up"));
    try {
      for (const group of inOrder) {
        if (group === groups.election) await this.#closeServers();
        group.abort(cause);
        if ((await Promise.race([group.whenStopped(), timeUp.promise])) !== "time up") continue;
        const running = inOrder.flatMap((each) => each.running);
        for (const each of inOrder) each.abort(cause);
        throw new Error(`not stopped within ${shutdownGraceMs / 1000} s: ${running.join(", ")}`, { cause });
      }
    } finally {
      cancel();
      this.#lag.stop();
      await this.#closeServers();
    }
    log.info({}, "stopped");
  }

  async #closeServers(): Promise<void> {
    await Promise.all([this.#options.health?.close(), this.#options.metrics?.close()]);
  }

  #unsynced(): string | undefined {
    const missing = this.#informers
      .filter((informer) => !informer.synced)
      .map(({ resource, refusal }) => resource.plural + (refusal === undefined ? "" : ` (${refusal})`));
    return missing.length === 0 ? undefined : `not synced: ${missing.join(", ")}`;
  }
}

type Groups = Readonly<Record<"events" | "caches" | "others" | "leader" | "election", RunGroup>>;
