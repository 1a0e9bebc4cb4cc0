import { type Clock, sleep } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import { quantityOf } from "../../kube/objects/quantity.ts";
import type { PodMetrics } from "../../kube/projection/metrics-shapes.ts";
import { type CollectionIssue, reasonOf } from "./collection-issue.ts";

/** What a pod's containers used together. Undefined: not measured, which is not 0. */
export interface PodUsage {
  readonly cores: number | undefined;
  readonly bytes: number | undefined;
  /** RFC 3339. */
  readonly at: string;
}

export interface NamespaceUsage {
  /** By name. A pod that is not in it was not measured. */
  readonly pods: ReadonlyMap<string, PodUsage>;
  readonly issue?: CollectionIssue | undefined;
}

export interface UsageLookupOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** False: usage is neither read nor asked for. */
  readonly isOn: boolean;
  readonly list: (namespace: string, signal: AbortSignal) => Promise<readonly PodMetrics[]>;
  readonly mayRead: (namespace: string) => boolean;
  /** How many pods the namespace has; undefined: its pods are not known. */
  readonly podCount: (namespace: string) => number | undefined;
  /** Usage has come or gone, or why there is none is another reason: each workload there is told anew. */
  readonly changed: (namespace: string) => void;
}

const POLL_EVERY_MS = 60_000;
/** A cluster without the API is asked again after this. */
const ABSENT_FOR_MS = 600_000;
const LIST_TIMEOUT_MS = 10_000;
/** Of a namespace; the answer to more would be too large. */
const MAX_PODS = 5_000;
/** One list that fails is no news: what was read before holds this long. */
const FRESH_FOR_MS = 180_000;
/** Between two looks at what is due. */
const PAUSE_MS = 1_000;
/** A full report looks at everything again within this; a namespace that is looked at no more is not read. */
const WANTED_FOR_MS = 2_400_000;

const issue = (
  reason: CollectionIssue["reason"],
  severity: CollectionIssue["severity"],
  message: string,
): CollectionIssue => ({ reason, severity, source: "metrics", message });
const OFF = issue("forbidden", "info", "cpu and memory are not read here: observe.metrics is off");
const TOO_LARGE = issue("timed-out", "info", "cpu and memory are not read in a namespace of over 5,000 pods");
const ISSUES: Readonly<Record<CollectionIssue["reason"], CollectionIssue>> = {
  forbidden: issue("forbidden", "warning", "the agent may not read cpu and memory"),
  "not-installed": issue("not-installed", "info", "the cluster has no metrics.k8s.io: cpu and memory are not known"),
  "api-unavailable": issue(
    "api-unavailable",
    "warning",
    "metrics.k8s.io does not answer: cpu and memory are not known",
  ),
  "timed-out": issue("timed-out", "warning", "metrics.k8s.io is too slow: cpu and memory are not known"),
  "collection-failed": issue("collection-failed", "warning", "cpu and memory could not be read"),
};
const NONE: ReadonlyMap<string, PodUsage> = new Map();

interface Known {
  wantedAtMs: number;
  /** When it was last asked for; undefined: never, or to be asked for now. */
  askedAtMs: number | undefined;
  readAtMs: number | undefined;
  usage: NamespaceUsage;
}

/**
 * Reads the cpu and memory of pods once a minute, one namespace after the other: `metrics.k8s.io` has no watch, and a
 * cluster need not have it. A failure is told once what was read before is too old.
 */
export class UsageLookup {
  readonly name = "cpu and memory of pods";
  readonly #options: UsageLookupOptions;
  readonly #namespaces = new Map<string, Known>();
  /** Of the whole cluster, so that one namespace's answer is all that is asked for. */
  #absentUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: UsageLookupOptions) {
    this.#options = options;
  }

  /** As of the last poll. The namespace is read from now on. */
  of(namespace: string): NamespaceUsage {
    const { clock, isOn } = this.#options;
    if (!isOn) return { pods: NONE, issue: OFF };
    const nowMs = clock.monotonicMs();
    const known = this.#namespaces.get(namespace);
    if (known === undefined) {
      const times = { wantedAtMs: nowMs, askedAtMs: undefined, readAtMs: undefined };
      this.#namespaces.set(namespace, { ...times, usage: { pods: NONE } });
      return { pods: NONE };
    }
    known.wantedAtMs = nowMs;
    return known.usage;
  }

  /** A right was taken or given back. */
  retryNow(): void {
    for (const each of this.#namespaces.values()) each.askedAtMs = undefined;
  }

  /** Polls until `signal` aborts. To be run while this agent leads. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#next();
      if (next === undefined) await sleep(this.#options.clock, PAUSE_MS, signal).catch(() => undefined);
      else await this.#poll(...next, signal);
    }
  }

  #next(): readonly [namespace: string, known: Known] | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [namespace, known] of this.#namespaces) {
      if (nowMs - known.wantedAtMs >= WANTED_FOR_MS) this.#namespaces.delete(namespace);
      else if (known.askedAtMs === undefined || nowMs - known.askedAtMs >= POLL_EVERY_MS) return [namespace, known];
    }
    return undefined;
  }

  async #poll(namespace: string, known: Known, signal: AbortSignal): Promise<void> {
    const { clock, mayRead, changed } = this.#options;
    const atMs = clock.monotonicMs();
    known.askedAtMs = atMs;
    const found = await this.#read(namespace, signal);
    if (signal.aborted) return;
    if (found === undefined) {
      known.askedAtMs = atMs - POLL_EVERY_MS + PAUSE_MS;
      return;
    }
    const before = known.usage;
    if ("pods" in found) {
      known.readAtMs = atMs;
      known.usage = found;
    } else {
      // Not to be installed, or by the agent's own look at its rights forbidden, is an answer; all else may be a moment's
      // trouble, also the refusal of an API server that has just started.
      const isCertain = found.reason === "not-installed" || !mayRead(namespace);
      const isFresh = known.readAtMs !== undefined && atMs - known.readAtMs < FRESH_FOR_MS;
      if (isFresh && !isCertain) return;
      known.usage = { pods: NONE, issue: found };
    }
    // The numbers themselves are told with the next change: only that there are some is news.
    const isOther = before.issue?.message !== known.usage.issue?.message;
    if (isOther || before.pods.size > 0 !== known.usage.pods.size > 0) changed(namespace);
  }

  /** Undefined: there is nothing to read yet. */
  async #read(namespace: string, signal: AbortSignal): Promise<NamespaceUsage | CollectionIssue | undefined> {
    const { clock, log, list, mayRead, podCount } = this.#options;
    const count = podCount(namespace);
    if (count === undefined) return undefined;
    if (!mayRead(namespace)) return ISSUES.forbidden;
    if (count > MAX_PODS) return TOO_LARGE;
    if (clock.monotonicMs() < this.#absentUntilMs) return ISSUES["not-installed"];
    try {
      const found = await withDeadline(clock, LIST_TIMEOUT_MS, signal, (each) => list(namespace, each));
      return { pods: new Map(found.map((each) => [each.metadata.name, usageOf(each)])) };
    } catch (error) {
      const reason = reasonOf(error);
      if (!signal.aborted) log.debug({ err: error, namespace }, "cpu and memory not read");
      if (reason === "not-installed") this.#absentUntilMs = clock.monotonicMs() + ABSENT_FOR_MS;
      return ISSUES[reason];
    }
  }
}

/** The sum of its containers, when each of them was measured. */
function usageOf({ timestamp = "", containers }: PodMetrics): PodUsage {
  const sum = (resource: "cpu" | "memory"): number | undefined => {
    const values = containers.map(({ usage }) => quantityOf(usage[resource] ?? ""));
    return values.includes(undefined) || values.length === 0
      ? undefined
      : values.reduce<number>((total, each) => total + (each ?? 0), 0);
  };
  return { cores: sum("cpu"), bytes: sum("memory"), at: timestamp };
}
