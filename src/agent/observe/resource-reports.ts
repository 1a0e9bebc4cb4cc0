import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock, Random } from "../../base/clock.ts";
import type { AgentMetrics } from "../kernel/metrics.ts";
import { WORKLOAD_KINDS } from "../kernel/workload-kinds.ts";
import { type Health, Ledger } from "./ledger.ts";
import { identityOf, idOf, isSettled, observationOf, scopeOf, unreadable, type WorkloadRef } from "./observation.ts";
import { type ReportPart, reportParts } from "./report-parts.ts";
import type { Workload } from "./workload.ts";
import type { ListState, Workloads } from "./workloads.ts";

export interface Report {
  readonly mode: "full" | "delta" | "confirm" | "starting";
  readonly parts: readonly ReportPart[];
  /** Something got worse since the last look: it is worth a report of its own. */
  readonly isWorse: boolean;
}

export interface ResourceReportsOptions {
  readonly workloads: Pick<Workloads, "state" | "names" | "workload" | "podsOf">;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Pick<AgentMetrics, "resources" | "resourceResent">;
}

/** A guard against mistakes of our own: everything again. */
const FULL_EVERY_MS = 30 * 60_000;
/** A platform that asks for everything again and again gets it this often, and then less. */
const FIRST_RESEND_MS = 30_000;
const MAX_RESEND_MS = 15 * 60_000;
/** A list that does not come in this time is told as incomplete. */
const START_WITHIN_MS = 60_000;
/** Workloads looked at before others get the event loop. */
const SLICE = 100;

interface Memory {
  ledger: Ledger;
  /** The namespaces that the ledger is of. */
  namespaces: readonly string[];
  readonly dirty: Map<string, WorkloadRef>;
  /** Those whose state changes by time alone: looked at before every report. */
  readonly unsettled: Map<string, WorkloadRef>;
  /** Undefined: nothing has been told in full yet. */
  fullAtMs: number | undefined;
  readonly sinceMs: number;
  resends: number;
}

/**
 * What to tell the platform of each deployment's workloads: everything once, then what changed, and otherwise one digest
 * that confirms the rest. Nothing is lost by losing a report: what was not acknowledged waits in the ledger.
 */
export class ResourceReports {
  readonly #options: ResourceReportsOptions;
  readonly #memories = new Map<string, Memory>();
  /** Of every workload of a served namespace, as last seen. */
  readonly #healths = new Map<string, WorkloadRef & { readonly health: Health }>();

  constructor(options: ResourceReportsOptions) {
    this.#options = options;
  }

  /** A workload changed, or one of its pods. */
  changed(deploymentId: string, ref: WorkloadRef): void {
    this.#memories.get(deploymentId)?.dirty.set(keyOf(ref), ref);
  }

  forget(deploymentId: string): void {
    this.#memories.delete(deploymentId);
  }

  /** Looks at what changed. What it finds stays in the ledger until `acknowledged`. */
  async next(deploymentId: string, namespaces: readonly string[], signal: AbortSignal): Promise<Report> {
    const { clock, workloads } = this.#options;
    const memory = this.#memoryOf(deploymentId);
    const nowMs = clock.monotonicMs();
    const states = namespaces.flatMap((namespace) => WORKLOAD_KINDS.map((kind) => workloads.state(namespace, kind)));
    if (states.includes("starting") && memory.fullAtMs === undefined && nowMs - memory.sinceMs < START_WITHIN_MS) {
      return { mode: "starting", parts: [], isWorse: false };
    }
    const isFull =
      memory.fullAtMs === undefined || nowMs >= memory.fullAtMs || namespaces.join() !== memory.namespaces.join();
    if (isFull) this.#begin(memory, namespaces);
    const isWorse = await this.#look(memory, namespaces, signal);
    this.#measure();
    const now = clock.wallNow().toISOString();
    const scopes = namespaces.flatMap((namespace) => WORKLOAD_KINDS.map((kind) => scopeOf(namespace, kind)));
    const drafts = reportParts(memory.ledger, scopes, isFull, now);
    const mode = isFull
      ? "full"
      : memory.ledger.waiting + memory.ledger.untoldScopes().length > 0
        ? "delta"
        : "confirm";
    const parts = drafts.map((part, index) => {
      memory.ledger.sending(part.changes, part.scopes);
      if (index < drafts.length - 1) return part;
      return { ...part, resourceLevel: { ...memory.ledger.level(now), ...(isFull && { full: true }) } };
    });
    return { mode, parts, isWorse };
  }

  /** The platform has stored the part. */
  acknowledged(deploymentId: string, part: ReportPart, resendResources: boolean): void {
    const { clock, random, metrics } = this.#options;
    const memory = this.#memoryOf(deploymentId);
    memory.ledger.acknowledge(part.changes);
    if (part.resourceLevel === undefined) return;
    const nowMs = clock.monotonicMs();
    if (part.resourceLevel.full === true) memory.fullAtMs = nowMs + FULL_EVERY_MS * (0.9 + 0.2 * random());
    if (!resendResources) {
      memory.resends = 0;
      return;
    }
    metrics.resourceResent();
    const pauseMs = Math.min(FIRST_RESEND_MS * 2 ** (memory.resends - 1), MAX_RESEND_MS);
    memory.fullAtMs = nowMs + (memory.resends === 0 ? 0 : pauseMs);
    memory.resends += 1;
  }

  /** A new ledger: all that there is will be told. */
  #begin(memory: Memory, namespaces: readonly string[]): void {
    const { workloads } = this.#options;
    memory.ledger = new Ledger();
    memory.namespaces = namespaces;
    memory.fullAtMs = undefined;
    memory.unsettled.clear();
    memory.dirty.clear();
    const served = new Set([...this.#memories.values()].flatMap((each) => each.namespaces));
    for (const [key, { namespace }] of this.#healths) if (!served.has(namespace)) this.#healths.delete(key);
    for (const namespace of namespaces) {
      for (const kind of WORKLOAD_KINDS) {
        for (const name of workloads.names(namespace, kind)) {
          const ref = { namespace, kind, name };
          memory.dirty.set(keyOf(ref), ref);
        }
      }
    }
  }

  async #look(memory: Memory, namespaces: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { workloads, clock } = this.#options;
    const { ledger } = memory;
    for (const namespace of namespaces) {
      for (const kind of WORKLOAD_KINDS) {
        const scope = scopeOf(namespace, kind);
        const isRead = workloads.state(namespace, kind) === "read";
        // A right that was taken or given back changes what is known of every object of the list.
        if (ledger.isComplete(scope) !== isRead) this.#markAll(memory, namespace, kind);
        ledger.scope(scope, isRead);
      }
    }
    const refs = new Map([...memory.unsettled, ...memory.dirty]);
    const now = clock.wallNow();
    let isWorse = false;
    let looked = 0;
    for (const [key, ref] of refs) {
      memory.dirty.delete(key);
      if (!memory.namespaces.includes(ref.namespace)) continue;
      const worse = this.#lookAt(memory, key, ref, workloads.state(ref.namespace, ref.kind), now);
      isWorse ||= worse;
      looked += 1;
      if (looked % SLICE === 0) {
        await nextTurn();
        signal.throwIfAborted();
      }
    }
    return isWorse;
  }

  #lookAt(memory: Memory, key: string, ref: WorkloadRef, state: ListState, now: Date): boolean {
    const { workloads } = this.#options;
    const workload = workloads.workload(ref);
    if (workload === undefined) {
      this.#healths.delete(key);
      memory.unsettled.delete(key);
      memory.ledger.forget(scopeOf(ref.namespace, ref.kind), identityOf(ref), idOf(ref));
      return false;
    }
    const observation = observationOf(workload, workloads.podsOf(workload), now);
    if (isSettled(observation)) memory.unsettled.delete(key);
    else memory.unsettled.set(key, ref);
    const told = state === "read" ? observation : unreadable(observation);
    this.#healths.set(key, { ...ref, health: told.row.health });
    return memory.ledger.observe(scopeOf(ref.namespace, ref.kind), told);
  }

  #markAll(memory: Memory, namespace: string, kind: Workload["kind"]): void {
    for (const name of this.#options.workloads.names(namespace, kind)) {
      const ref = { namespace, kind, name };
      memory.dirty.set(keyOf(ref), ref);
    }
  }

  #measure(): void {
    for (const kind of WORKLOAD_KINDS) {
      const counts: Partial<Record<Health, number>> = {};
      for (const each of this.#healths.values()) {
        if (each.kind === kind) counts[each.health] = (counts[each.health] ?? 0) + 1;
      }
      this.#options.metrics.resources(kind, counts);
    }
  }

  #memoryOf(deploymentId: string): Memory {
    let memory = this.#memories.get(deploymentId);
    if (memory === undefined) {
      memory = {
        ...{ ledger: new Ledger(), namespaces: [], dirty: new Map(), unsettled: new Map(), fullAtMs: undefined },
        ...{ sinceMs: this.#options.clock.monotonicMs(), resends: 0 },
      };
      this.#memories.set(deploymentId, memory);
    }
    return memory;
  }
}

function keyOf({ namespace, kind, name }: WorkloadRef): string {
  return `${kind}/${namespace}/${name}`;
}
