import type { Clock, Random } from "../../base/clock.ts";
import type { ObservedKind } from "../kernel/observed-kinds.ts";
import type { ResourceMetrics } from "../kernel/resource-metrics.ts";
import type { Names } from "../names/names.ts";
import type { ClusterNodes } from "../nodes/cluster-nodes.ts";
import { fitting } from "./fitting.ts";
import { toldRef, withHiddenNames } from "./hidden.ts";
import { Ledger } from "./ledger.ts";
import { type Memory, newMemory, tellLess } from "./memory.ts";
import { identityOf, idOf, isSettled, type Lookups, observationOf, scopeOf, type WorkloadRef } from "./observation.ts";
import { outOfDate } from "./out-of-date.ts";
import { type ReportPart, refusedIn, reportParts, withoutRefused } from "./report-parts.ts";
import { memberOf, type SeenMember, SeenObjects } from "./seen-objects.ts";
import { type ListOfKind, summaryOf, type WorkloadsSummary } from "./summary.ts";
import { Turns } from "./turns.ts";
import type { Workloads } from "./workloads.ts";

export interface Report {
  readonly mode: "full" | "delta" | "confirm" | "starting";
  readonly parts: readonly ReportPart[];
  /** Something got worse since the last look: it is worth a report of its own. */
  readonly isWorse: boolean;
}

export interface ResourceReportsOptions {
  readonly workloads: Pick<Workloads, "kinds" | "state" | "names" | "workload" | "relatedTo">;
  readonly lookups: Lookups;
  readonly nodes: Pick<ClusterNodes, "isStarting" | "isCurrent" | "heartbeat">;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Pick<ResourceMetrics, "resources" | "collection" | "resourceResent" | "changeReported">;
}

/** A guard against mistakes of our own: everything again. */
const FULL_EVERY_MS = 30 * 60_000;
/** A platform that asks for everything again and again gets it this often, and then less. */
const FIRST_RESEND_MS = 30_000;
const MAX_RESEND_MS = 15 * 60_000;
const RESENDS_END_MS = 2 * MAX_RESEND_MS;
/** A list that does not come in this time is told as incomplete. */
const START_WITHIN_MS = 60_000;
/** A message with seconds in it is told this often. */
const MESSAGE_EVERY_MS = 55_000;

/**
 * What to tell the platform of each deployment's workloads: everything once, then what changed, and otherwise one digest
 * that confirms the rest. Nothing is lost by losing a report: what was not acknowledged waits in the ledger.
 */
export class ResourceReports {
  readonly #options: ResourceReportsOptions;
  readonly #memories = new Map<string, Memory>();
  readonly #seen: SeenObjects;

  constructor(options: ResourceReportsOptions) {
    this.#options = options;
    this.#seen = new SeenObjects(options.metrics);
  }

  /** A workload changed, or one of its pods. */
  changed(deploymentId: string, ref: WorkloadRef): void {
    const memory = this.#memories.get(deploymentId);
    if (memory === undefined) return;
    memory.dirty.set(keyOf(ref), ref);
    memory.changedAtMs ??= this.#options.clock.monotonicMs();
  }

  forget(deploymentId: string): void {
    this.#memories.delete(deploymentId);
    this.#seen.forgetAllBut(this.#served());
    this.#measure();
  }

  /** As of the last look; undefined before the first. */
  summary(deploymentId: string): WorkloadsSummary | undefined {
    const memory = this.#memories.get(deploymentId);
    if (memory?.lookedAt === undefined) return undefined;
    const { namespaces, lookedAt } = memory;
    const { leftOut } = memory.ledger;
    const unmeasured = namespaces.filter(
      (each) => this.#options.lookups.usage.of(each).issue?.reason === "not-installed",
    );
    return summaryOf(this.#seen.in(namespaces), this.#listsIn(namespaces), lookedAt, { leftOut, unmeasured });
  }

  /** Workloads that a release of the deployment has installed, as of the last look. */
  members(deploymentId: string): readonly SeenMember[] {
    return this.#seen.membersOf(deploymentId, this.#memories.get(deploymentId)?.namespaces ?? []);
  }

  /** Looks at what changed. What it finds stays in the ledger until `acknowledged`. */
  async next(deploymentId: string, namespaces: readonly string[], signal: AbortSignal): Promise<Report> {
    const { clock, nodes, names } = this.#options;
    const memory = this.#memoryOf(deploymentId);
    const nowMs = clock.monotonicMs();
    // One time for all of the report: a full level ends whatever was told at another.
    const now = clock.wallNow();
    const lists = this.#listsIn(namespaces);
    const isStarting = lists.some(({ state }) => state === "starting") || nodes.isStarting || names.isStarting;
    if (isStarting && memory.fullAtMs === undefined && nowMs - memory.sinceMs < START_WITHIN_MS) {
      return { mode: "starting", parts: [], isWorse: false };
    }
    const isSame = namespaces.join() === memory.namespaces.join() && names.hidden === memory.hidden;
    // What was told of a list that is not held any more is not known: a full report has the platform keep it as old.
    const scopes = lists.map(({ namespace, kind }) => scopeOf(namespace, kind));
    const isDropped = lists.some(
      ({ state }, at) => state === "too-large" && memory.states.get(scopes[at] ?? "") !== state,
    );
    const isFull = memory.fullAtMs === undefined || nowMs >= memory.fullAtMs || !isSame || isDropped;
    if (isFull) this.#begin(memory, namespaces);
    memory.untoldSinceMs ??= memory.changedAtMs;
    memory.changedAtMs = undefined;
    const turns = new Turns(clock, signal);
    const isWorse = await this.#look(memory, lists, now, turns);
    const cluster = namespaces.length === 0 ? undefined : nodes.heartbeat(now);
    if (cluster !== undefined) memory.ledger.beat(cluster, -1);
    this.#measure();
    const observedAt = now.toISOString();
    memory.lookedAt = observedAt;
    const drafts = await reportParts(memory.ledger, scopes, { full: isFull, observedAt }, turns);
    const mode = isFull
      ? "full"
      : memory.ledger.waiting + memory.ledger.untoldScopes().length > 0
        ? "delta"
        : "confirm";
    if (mode === "confirm") memory.untoldSinceMs = undefined;
    const parts = drafts.map((part, index) => {
      memory.ledger.sending(part.changes);
      if (index < drafts.length - 1) return part;
      const level = memory.ledger.level(observedAt);
      const complete = level.complete && nodes.isCurrent;
      return { ...part, resourceLevel: { ...level, complete, ...(isFull && { full: true }) } };
    });
    return { mode, parts, isWorse };
  }

  /** The platform has stored the part. */
  acknowledged(deploymentId: string, part: ReportPart, resendResources: boolean): void {
    const { clock, random, metrics } = this.#options;
    const memory = this.#memoryOf(deploymentId);
    memory.ledger.acknowledge(part.changes, part.scopes);
    if (part.resourceLevel === undefined) return;
    const nowMs = clock.monotonicMs();
    if (memory.untoldSinceMs !== undefined) metrics.changeReported((nowMs - memory.untoldSinceMs) / 1_000);
    memory.untoldSinceMs = undefined;
    if (part.resourceLevel.full === true) memory.fullAtMs = nowMs + FULL_EVERY_MS * (0.9 + 0.2 * random());
    if (!resendResources) return;
    metrics.resourceResent();
    // The full report in between is taken each time: only a time without such a wish ends the count.
    if (nowMs - memory.resentAtMs > RESENDS_END_MS) memory.resends = 0;
    memory.resentAtMs = nowMs;
    const pauseMs = Math.min(FIRST_RESEND_MS * 2 ** (memory.resends - 1), MAX_RESEND_MS);
    memory.fullAtMs = nowMs + (memory.resends === 0 ? 0 : pauseMs);
    memory.resends += 1;
  }

  /** The platform keeps less of the deployment than this. The next report is full, and smaller. */
  exceeded(deploymentId: string): void {
    tellLess(this.#memoryOf(deploymentId), this.#options.clock.monotonicMs());
  }

  /**
   * What is left to send when the platform has refused the first of these parts: the same without the rows that its answer
   * names. Undefined: it names none.
   */
  withoutRefused(
    deploymentId: string,
    parts: readonly ReportPart[],
    issues: unknown,
  ): readonly ReportPart[] | undefined {
    const [first, ...rest] = parts;
    const refused = first === undefined ? [] : refusedIn(first, issues);
    if (first === undefined || refused.length === 0) return undefined;
    const { ledger } = this.#memoryOf(deploymentId);
    ledger.refused(refused);
    return [withoutRefused(first, refused), ...rest].map((part) => {
      const { resourceLevel: before } = part;
      return before === undefined
        ? part
        : { ...part, resourceLevel: { ...before, ...ledger.level(before.observedAt), complete: before.complete } };
    });
  }

  /** A new ledger: all that there is will be told. */
  #begin(memory: Memory, namespaces: readonly string[]): void {
    if (this.#options.clock.monotonicMs() >= memory.shareUntilMs) memory.share = 1;
    memory.ledger = new Ledger(memory.share);
    memory.namespaces = namespaces;
    memory.hidden = this.#options.names.hidden;
    memory.fullAtMs = undefined;
    memory.unsettled.clear();
    memory.dirty.clear();
    memory.told.clear();
    memory.states.clear();
    this.#seen.forgetAllBut(this.#served());
    for (const namespace of namespaces) this.#markAll(memory, namespace);
  }

  async #look(memory: Memory, lists: readonly ListOfKind[], now: Date, turns: Turns): Promise<boolean> {
    const { ledger, namespaces } = memory;
    const changed = new Set<string>();
    for (const { namespace, kind, state } of lists) {
      const scope = scopeOf(namespace, kind);
      if (memory.states.get(scope) !== state) changed.add(namespace);
      memory.states.set(scope, state);
      ledger.scope(scope, state === "read");
    }
    // A right that was taken or given back changes what is known of every object of the list, and of what these belong to.
    for (const namespace of changed) this.#markAll(memory, namespace);
    const refs = new Map([...memory.unsettled, ...memory.dirty]);
    const returning: WorkloadRef[] = [];
    let isWorse = false;
    for (const [key, ref] of refs) {
      if (namespaces.includes(ref.namespace)) {
        const worse = this.#lookAt(memory, key, ref, now);
        isWorse ||= worse;
      }
      // After the look: what it throws must not lose the change.
      memory.dirty.delete(key);
      if (ledger.isCrowded) returning.push(...ledger.choose());
      await turns.next();
    }
    returning.push(...ledger.choose());
    for (const ref of returning) {
      memory.dirty.set(keyOf(ref), ref);
      this.#lookAt(memory, keyOf(ref), ref, now);
      memory.dirty.delete(keyOf(ref));
      await turns.next();
    }
    return isWorse;
  }

  #lookAt(memory: Memory, key: string, ref: WorkloadRef, now: Date): boolean {
    const { workloads, lookups, names } = this.#options;
    const found = workloads.workload(ref);
    if (found === undefined) {
      const gone = toldRef(ref, names);
      lookups.events.well(ref);
      this.#seen.delete(key);
      memory.unsettled.delete(key);
      memory.told.delete(key);
      memory.ledger.forget(scopeOf(ref.namespace, ref.kind), identityOf(gone), idOf(gone));
      return false;
    }
    const seen = { workload: found, related: workloads.relatedTo(found), lookups };
    const { workload, related, lookups: asked } = withHiddenNames(ref, seen, names);
    const observation = observationOf(workload, related, now, asked, memory.deploymentId);
    if (isSettled(workload, observation, related)) memory.unsettled.delete(key);
    else memory.unsettled.set(key, ref);
    const state = workloads.state(ref.namespace, ref.kind);
    const { row, heartbeat } = fitting(state === "read" ? observation : outOfDate(observation, state));
    // Looked at because time passes: seconds in a message are news once a minute, another state at once.
    const told = memory.told.get(key);
    const isSame = told?.health === row.health && told.lifecycle === row.lifecycle;
    if (isSame && !memory.dirty.has(key) && now.getTime() - told.atMs < MESSAGE_EVERY_MS) return false;
    const { health, lifecycle } = row;
    const message = row.message ?? undefined;
    if (message === undefined) memory.told.delete(key);
    else memory.told.set(key, { health, lifecycle, message, atMs: now.getTime() });
    this.#seen.set(key, { ...ref, health, message, member: memberOf(workload) });
    return memory.ledger.observe(scopeOf(ref.namespace, ref.kind), ref, { row, heartbeat });
  }

  #served(): ReadonlySet<string> {
    return new Set([...this.#memories.values()].flatMap(({ namespaces }) => namespaces));
  }

  #markAll(memory: Memory, namespace: string): void {
    const { workloads } = this.#options;
    for (const kind of workloads.kinds) {
      for (const name of workloads.names(namespace, kind)) {
        const ref: WorkloadRef = { namespace, kind, name };
        memory.dirty.set(keyOf(ref), ref);
      }
    }
  }

  #listsIn(namespaces: Iterable<string>): readonly ListOfKind[] {
    const { workloads } = this.#options;
    const ofNamespace = (namespace: string) =>
      workloads.kinds.map((kind: ObservedKind) => ({ namespace, kind, state: workloads.state(namespace, kind) }));
    return [...namespaces].flatMap(ofNamespace);
  }

  #measure(): void {
    this.#seen.measure(this.#listsIn(this.#served()));
  }

  #memoryOf(deploymentId: string): Memory {
    let memory = this.#memories.get(deploymentId);
    if (memory === undefined) {
      memory = newMemory(deploymentId, this.#options.clock.monotonicMs());
      this.#memories.set(deploymentId, memory);
    }
    return memory;
  }
}

function keyOf({ namespace, kind, name }: WorkloadRef): string {
  return `${kind}/${namespace}/${name}`;
}
