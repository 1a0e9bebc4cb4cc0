import type { ObservedResource } from "../../contract/resources/resource-heartbeat.ts";
import type { ListState } from "../kernel/resource-metrics.ts";
import type { HiddenNames } from "../names/names.ts";
import { Ledger } from "./ledger.ts";
import type { WorkloadRef } from "./observation.ts";

interface Told extends Pick<ObservedResource, "health" | "lifecycle"> {
  readonly message: string;
  readonly atMs: number;
}

/** What is remembered of the reports of one deployment. */
export interface Memory {
  readonly deploymentId: string;
  ledger: Ledger<WorkloadRef>;
  /** Of the ledger's room, what the platform has taken so far; until when no more is tried. */
  share: number;
  shareUntilMs: number;
  /** The namespaces that the ledger is of. */
  namespaces: readonly string[];
  /** The names that it is told under. */
  hidden: HiddenNames | undefined;
  readonly dirty: Map<string, WorkloadRef>;
  /** Those whose state changes by time alone: looked at before every report. */
  readonly unsettled: Map<string, WorkloadRef>;
  /** Those with a message, as last told. */
  readonly told: Map<string, Told>;
  /** Of each list, as of the last look. */
  readonly states: Map<string, ListState>;
  /** Undefined: nothing has been told in full yet. */
  fullAtMs: number | undefined;
  readonly sinceMs: number;
  lookedAt: string | undefined;
  /** Of the first change since the last look, and of the first that a look found and no report has told. */
  changedAtMs: number | undefined;
  untoldSinceMs: number | undefined;
  resends: number;
  resentAtMs: number;
}

/** A platform that keeps less than it should is told so much less each time, and all again after hours. */
const SHARE_STEP = 3 / 4;
const MIN_SHARE = 1 / 100;
const SHARE_FOR_MS = 6 * 3_600_000;

export function tellLess(memory: Memory, nowMs: number): void {
  memory.share = Math.max(MIN_SHARE, memory.share * SHARE_STEP);
  memory.shareUntilMs = nowMs + SHARE_FOR_MS;
  memory.fullAtMs = undefined;
}

export function newMemory(deploymentId: string, nowMs: number): Memory {
  return {
    deploymentId,
    ...{
      ledger: new Ledger<WorkloadRef>(),
      share: 1,
      shareUntilMs: 0,
      namespaces: [],
      hidden: undefined,
      fullAtMs: undefined,
    },
    ...{ dirty: new Map(), unsettled: new Map(), told: new Map(), states: new Map() },
    ...{ sinceMs: nowMs, lookedAt: undefined, changedAtMs: undefined, untoldSinceMs: undefined, resends: 0 },
    resentAtMs: Number.NEGATIVE_INFINITY,
  };
}
