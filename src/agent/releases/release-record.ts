import type { DeploymentState, DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import { SyncDeployment } from "../../contract/deployments/sync.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";

/** What the platform keeps of the last report about a rollout. After a restart it says what was told already. */
export interface Told {
  readonly rolloutId: string;
  /** Its end was told. A deployment that has work again after that was asked to try again. */
  readonly isOver: boolean;
}

/** What of a listed deployment says which release is wanted. */
export interface WantedRelease {
  /** The update that is under way; of one that failed, the last. */
  readonly operation: UpdateOperation | undefined;
  readonly retryRequested: boolean;
  readonly deleteAction: "cleanup" | "detach" | undefined;
  readonly told: Told | undefined;
  /** As the platform keeps it. */
  readonly error: StoredError | undefined;
}

interface UpdateOperation {
  readonly id: string;
  readonly releaseId: string | null;
  readonly requestedAt: string;
}

/** A deployment as far as releases go. */
export interface ReleaseRecord {
  readonly id: string;
  readonly status: DeploymentStatus;
  readonly desiredReleaseId: string | null;
  readonly currentReleaseId: string | null;
  readonly wanted: WantedRelease;
  /** False: how its workloads are does not leave the cluster. */
  readonly tellsHealth?: boolean;
}

export const NOTHING_WANTED: WantedRelease = {
  operation: undefined,
  retryRequested: false,
  deleteAction: undefined,
  told: undefined,
  error: undefined,
};

/** Of one item of the platform's list. What cannot be read is not wanted. */
export function readWantedRelease(item: unknown): WantedRelease {
  const read = <K extends "updateState" | "retryRequested" | "deleteAction" | "runtimeMetadata" | "error">(key: K) =>
    misfit(SyncDeployment, item, [key]) === undefined ? (item as SyncDeployment)[key] : undefined;
  const updates = read("updateState");
  const failed = updates?.latest?.status === "failed" ? updates.latest : undefined;
  const operation = updates?.active ?? failed;
  return {
    operation: operation && {
      id: operation.id,
      releaseId: operation.targetReleaseId ?? null,
      requestedAt: operation.requestedAt,
    },
    retryRequested: read("retryRequested") ?? false,
    deleteAction: read("deleteAction"),
    told: readTold(read("runtimeMetadata")),
    error: read("error") ?? undefined,
  };
}

/** The record after the platform's answer to a report, which has no operation. */
export function afterAnswer<R extends ReleaseRecord>(before: R, current: DeploymentState): R {
  const { status, currentRelease, targetRelease, retryRequested, runtimeMetadata, error } = current;
  const idOf = (release: typeof currentRelease, known: string | null) =>
    release === undefined ? known : (release?.releaseId ?? null);
  // It has gone on to the next operation, or to the same one again: which one it is, only the list says.
  const isAnother = status === "update-pending" && before.status !== status;
  // Whether it is removed or only let go of, too.
  const isDeletion = status === "delete-pending" && before.status !== status;
  const { wanted } = before;
  return {
    ...before,
    status,
    desiredReleaseId: idOf(targetRelease, before.desiredReleaseId),
    currentReleaseId: idOf(currentRelease, before.currentReleaseId),
    wanted: {
      ...wanted,
      operation: isAnother ? undefined : wanted.operation,
      deleteAction: isDeletion ? undefined : wanted.deleteAction,
      retryRequested: retryRequested ?? wanted.retryRequested,
      told: runtimeMetadata === undefined ? wanted.told : readTold(runtimeMetadata),
      error: error ?? undefined,
    },
  };
}

export function toldAs({ rolloutId, isOver }: Told): NonNullable<DeploymentState["runtimeMetadata"]> {
  return { rollout: { id: rolloutId, over: isOver } };
}

function readTold(metadata: unknown): Told | undefined {
  const { rollout } = (metadata ?? {}) as { rollout?: { id?: unknown; over?: unknown } | null };
  if (typeof rollout?.id !== "string") return undefined;
  return { rolloutId: rollout.id, isOver: rollout.over === true };
}
