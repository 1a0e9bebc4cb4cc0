import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Rollout, RolloutPlan, RolloutStatus } from "../../../crds/kinds/rollout.ts";
import type { Override } from "../give-way.ts";
import type { RuleProblem } from "../release-rules.ts";
import type { SecretPlace } from "./secret-places.ts";

export type ResourceState = NonNullable<RolloutStatus["resources"]>[number];

/** What a rollout is to bring about. */
export interface Intent {
  readonly rollout: Rollout;
  /** What is to be there afterwards. None: the action is delete. */
  readonly objects: readonly ReleaseObject[];
  /** What is there by the content before. */
  readonly former: readonly ReleaseObject[];
  /** Refs of objects that an earlier rollout has brought: one that others have restored since, with the labels, is still ours. */
  readonly installed: readonly string[];
  /** Secrets of the configuration that this content and others before have read. Left out: those of `former`. */
  readonly formerSecrets?: readonly SecretPlace[];
  /** Secrets of the configuration that the installed content reads. Left out: those of `former`. */
  readonly installedSecrets?: readonly SecretPlace[];
  /** That content, which a rollout that fails goes back to; undefined: nothing is installed. */
  readonly formerRef: { readonly name: string; readonly digest: string } | undefined;
  /**
   * Objects of `former` that only contents of failed rollouts have, and when the first of those began. What was made since
   * then goes, also if it is frozen: no later plan would name it. What is older stays: a failed rollout has adopted it.
   */
  readonly unfinished?: { readonly since: string; readonly refs: ReadonlySet<string> };
  /** Refs of objects before, which stay: the customer accepts the deployment in their namespaces no more. */
  readonly closed?: readonly string[];
  /** Refs of Jobs that the content before has completed: one that is gone, by its time to live, is not run again. */
  readonly done: readonly string[];
  /** Objects whose fields the release takes from their present managers. */
  readonly takeOver: readonly { readonly kind: string; readonly name: string }[];
  /** Namespaces that the customer accepts the deployment for. */
  readonly namespaces: readonly string[];
}

export interface Planned {
  readonly plan: RolloutPlan;
  readonly plannedDigest: string;
  /** Not empty: nothing may be applied. */
  readonly problems: readonly RuleProblem[];
  /** All of them are objects of the customer, who can let the release have them. */
  readonly awaitsTakeOver?: boolean;
}

export interface WaveApplied {
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly overrides: readonly (Override & { readonly ref: string })[];
  /** Empty: the whole wave is applied. */
  readonly failures: readonly WaveFailure[];
}

export interface WaveFailure {
  readonly ref: string;
  readonly message: string;
  readonly isTemporary: boolean;
}

export interface WaveHealth {
  readonly verdict: "healthy" | "waiting" | "failed";
  /** Of the failure, for people. It may quote the cluster: redact it before it is stored. */
  readonly message?: string;
  /** While it waits: which pod fits on no node, and why. It quotes the cluster, too. Absent: no node is wanted. */
  readonly needsNodes?: string;
  /** While it waits: what for, as far as it is known without asking for events. */
  readonly waitsFor?: Awaited;
  readonly resources: readonly ResourceState[];
  /** When to ask again. */
  readonly againMs: number;
}

/** One object of a wave that has not come up. */
export interface Awaited {
  readonly ref: string;
  /** It may quote the cluster, as a warning does. */
  readonly message: string;
  /** The last event of type Warning about it or its newest pod. Absent: there is none, or events may not be listed. */
  readonly warning?: string;
}

export interface Pruned {
  readonly deleted: number;
  /** Deletions that are under way. */
  readonly waiting: number;
  /** What stays, and why. */
  readonly left: readonly { readonly ref: string; readonly message: string }[];
}

/** What a deletion leaves beside the objects that it went through. */
export interface LeftBehind {
  readonly left: Pruned["left"];
  /** Namespaces where earlier releases were, and that it has no rights in. */
  readonly unsearched: readonly string[];
}

/**
 * What a rollout does in the cluster. Each call may be made again after a crash at any point of it, with the same end.
 */
export interface RolloutHands {
  /** As `plan-<uid12>`, by dry runs; the account and its bindings are gone when it returns. */
  plan(intent: Intent, signal: AbortSignal): Promise<Planned>;
  /** As `rollout-<uid12>`; makes the account and its bindings as needed. @param until their end. */
  apply(intent: Intent, wave: number, until: Date, signal: AbortSignal): Promise<WaveApplied>;
  health(intent: Intent, wave: number, waveStartedAt: Date, until: Date, signal: AbortSignal): Promise<WaveHealth>;
  /** Former minus objects, in reverse waves. Volume claims are never deleted, and told as left. */
  prune(intent: Intent, until: Date, signal: AbortSignal): Promise<Pruned>;
  /** After a deletion: looks by label for what no content names. */
  leftBehind(intent: Intent, until: Date, signal: AbortSignal): Promise<LeftBehind>;
  /** Ends the release's hold on `former`: its labels and its fields' ownership go, the objects stay. */
  detach(intent: Intent, until: Date, signal: AbortSignal): Promise<WaveApplied>;
  /** Removes the accounts and bindings of this rollout in these namespaces. Idempotent. */
  close(rollout: Rollout, namespaces: readonly string[], signal: AbortSignal): Promise<void>;
}
