import { type Clock, sleep } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import type { KubernetesEvent } from "../../contract/resources/resource-heartbeat.ts";
import type { Event } from "../../kube/projection/shapes.ts";
import { type CollectionIssue, reasonOf } from "./collection-issue.ts";
import { eventLines } from "./event-line.ts";

/** An object that is told. */
export interface ObjectRef<K extends string = string> {
  readonly namespace: string;
  readonly kind: K;
  readonly name: string;
}

export interface EventsTold {
  readonly events: readonly KubernetesEvent[];
  readonly issue?: CollectionIssue | undefined;
}

export interface EventLookupOptions<K extends string> {
  readonly clock: Clock;
  readonly log: Logger;
  /** False: events are neither read nor asked for. */
  readonly isOn: boolean;
  /** The events of one object, by its uid: a name could be another's by now. */
  readonly list: (namespace: string, uid: string, signal: AbortSignal) => Promise<readonly Event[]>;
  readonly mayRead: (namespace: string) => boolean;
  /** The events of this object, or what is known of them, are others than before. */
  readonly changed: (ref: ObjectRef<K>) => void;
}

/** Lists within a minute, for all workloads together. */
const MAX_LISTS = 30;
/** Of one workload: itself and a few of its own. */
const MAX_SUBJECTS = 5;
/** Workloads that are sick at once; more have none. */
const MAX_SICK = 200;
const AGAIN_AFTER_MS = 300_000;
/** When it has got other pods. */
const AGAIN_FOR_OTHERS_MS = 60_000;
/** What is looked at no more, because its namespace was closed, is not listed any more. */
const WANTED_FOR_MS = 120_000;
/** A full report looks at everything again within this. */
const KEPT_FOR_MS = 2_400_000;
const LATE_AFTER_MS = 60_000;
/** An API server that has just started refuses everything: a refusal counts when it is there again after this. */
const REFUSED_AFTER_MS = 10_000;
const LIST_TIMEOUT_MS = 10_000;
const PAUSE_MS = 1_000;

const issue = (
  reason: CollectionIssue["reason"],
  severity: CollectionIssue["severity"],
  message: string,
): CollectionIssue => ({ reason, severity, source: "events", message });
const OFF = issue("forbidden", "info", "events are not read here: observe.events is off");
const FORBIDDEN = issue("forbidden", "warning", "the agent may not read events");
const LATE = issue("timed-out", "info", "more workloads are sick than events are asked for; others come first");
const failed = (reason: CollectionIssue["reason"]): CollectionIssue =>
  reason === "forbidden" ? FORBIDDEN : issue(reason, "warning", "events could not be read; these are from before");

interface Sick<K extends string> {
  readonly ref: ObjectRef<K>;
  readonly sinceMs: number;
  wantedAtMs: number;
  /** Uids, in the order in which they are asked for. */
  subjects: readonly string[];
  listed: { readonly atMs: number; readonly subjects: string } | undefined;
  /** Refused then, for the first time, though the agent has the right by its own look. */
  refusedAtMs: number | undefined;
  told: EventsTold;
}

/**
 * Asks for the events of workloads that are sick, a few at a time, and keeps them until the workload is well. Events are
 * not watched: a cluster has more of them than of all other objects, and almost all are of objects that are well.
 */
export class EventLookup<K extends string> {
  readonly name = "events of sick workloads";
  readonly #options: EventLookupOptions<K>;
  /** By kind, namespace and name, in the order in which they got sick. */
  readonly #sick = new Map<string, Sick<K>>();
  #listsAtMs: number[] = [];

  constructor(options: EventLookupOptions<K>) {
    this.#options = options;
  }

  /** What is known of the events of a sick workload; what is not will be asked for. */
  of(ref: ObjectRef<K>, subjects: readonly string[]): EventsTold {
    if (!this.#options.isOn) return { events: [], issue: OFF };
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#sick.get(keyOf(ref));
    if (known !== undefined) {
      known.wantedAtMs = nowMs;
      known.subjects = subjects.slice(0, MAX_SUBJECTS);
      const isLate = known.listed === undefined && nowMs - known.sinceMs >= LATE_AFTER_MS;
      return isLate ? { events: [], issue: LATE } : known.told;
    }
    if (this.#sick.size >= MAX_SICK) return { events: [], issue: LATE };
    const times = { sinceMs: nowMs, wantedAtMs: nowMs, listed: undefined, refusedAtMs: undefined };
    this.#sick.set(keyOf(ref), { ref, ...times, subjects: subjects.slice(0, MAX_SUBJECTS), told: { events: [] } });
    return { events: [] };
  }

  /** It is well, or gone. */
  well(ref: ObjectRef<K>): void {
    if (this.#sick.size > 0) this.#sick.delete(keyOf(ref));
  }

  /** A right was taken or given back. */
  retryNow(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const each of this.#sick.values()) {
      if ((each.told.issue?.reason === "forbidden") !== this.#options.mayRead(each.ref.namespace)) continue;
      // What has ended, as a failed Job, is not looked at again by itself.
      each.listed = undefined;
      each.wantedAtMs = nowMs;
    }
  }

  /** Asks until `signal` aborts. To be run while this agent leads. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#next();
      if (next === undefined) await sleep(this.#options.clock, PAUSE_MS, signal).catch(() => undefined);
      else await this.#ask(next, signal);
    }
  }

  /** Those that were never listed first, then the one whose events are the oldest. */
  #next(): Sick<K> | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    this.#listsAtMs = this.#listsAtMs.filter((atMs) => nowMs - atMs < 60_000);
    let next: Sick<K> | undefined;
    for (const [key, each] of this.#sick) {
      if (nowMs - each.wantedAtMs >= KEPT_FOR_MS) this.#sick.delete(key);
      if (!isDue(each, nowMs)) continue;
      if (next === undefined || (each.listed?.atMs ?? -1) < (next.listed?.atMs ?? -1)) next = each;
    }
    return next !== undefined && this.#listsAtMs.length + next.subjects.length <= MAX_LISTS ? next : undefined;
  }

  async #ask(sick: Sick<K>, signal: AbortSignal): Promise<void> {
    const { clock, mayRead, changed } = this.#options;
    const { subjects, told: before } = sick;
    const found = await this.#list(sick.ref.namespace, subjects, signal);
    if (signal.aborted) return;
    const nowMs = clock.monotonicMs();
    if (found === "forbidden" && mayRead(sick.ref.namespace)) {
      const isFirst = sick.refusedAtMs === undefined;
      sick.refusedAtMs ??= nowMs;
      if (isFirst) return;
    } else sick.refusedAtMs = undefined;
    sick.listed = { atMs: nowMs, subjects: subjects.join() };
    sick.told = Array.isArray(found) ? { events: eventLines(found) } : { events: before.events, issue: failed(found) };
    // Well in the meantime, or the same as before: nothing to tell.
    if (this.#sick.get(keyOf(sick.ref)) !== sick) return;
    if (JSON.stringify(sick.told) !== JSON.stringify(before)) changed(sick.ref);
  }

  /** @returns why not, when they could not be read. */
  async #list(
    namespace: string,
    subjects: readonly string[],
    signal: AbortSignal,
  ): Promise<Event[] | CollectionIssue["reason"]> {
    const { clock, log, list, mayRead } = this.#options;
    const found: Event[] = [];
    for (const uid of subjects) {
      if (!mayRead(namespace)) return "forbidden";
      this.#listsAtMs.push(clock.monotonicMs());
      try {
        found.push(...(await withDeadline(clock, LIST_TIMEOUT_MS, signal, (each) => list(namespace, uid, each))));
      } catch (error) {
        if (!signal.aborted) log.debug({ err: error, namespace }, "events not read");
        return reasonOf(error);
      }
    }
    return found;
  }
}

function isDue<K extends string>({ wantedAtMs, subjects, listed, refusedAtMs }: Sick<K>, nowMs: number): boolean {
  if (nowMs - wantedAtMs >= WANTED_FOR_MS) return false;
  if (refusedAtMs !== undefined && nowMs - refusedAtMs < REFUSED_AFTER_MS) return false;
  if (listed === undefined) return true;
  const pauseMs = listed.subjects === subjects.join() ? AGAIN_AFTER_MS : AGAIN_FOR_OTHERS_MS;
  return nowMs - listed.atMs >= pauseMs;
}

function keyOf({ kind, namespace, name }: ObjectRef): string {
  return `${kind}/${namespace}/${name}`;
}
