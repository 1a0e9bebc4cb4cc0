import type { PersistentVolumeClaim } from "../projection/batch-shapes.ts";
import type { Finding } from "./message.ts";
import { stateOf, type WorkloadState } from "./state.ts";
import type { Lifecycle } from "./words.ts";

/** Why a Pod is pending, or cannot come back. */
export function persistentVolumeClaimState({ metadata, status }: PersistentVolumeClaim): WorkloadState {
  const lifecycle: Lifecycle = metadata.deletionTimestamp !== undefined ? "deleting" : phase(status.phase).lifecycle;
  return stateOf(lifecycle, phase(status.phase).findings);
}

/** A claim may wait for its first Pod for months: `Pending` alone is no fault. */
function phase(word: string): { readonly lifecycle: Lifecycle; readonly findings: readonly Finding[] } {
  if (word === "Bound") return { lifecycle: "running", findings: [] };
  if (word === "Lost") return { lifecycle: "failed", findings: [{ health: "unhealthy", text: "volume lost" }] };
  if (word === "Pending") return { lifecycle: "creating", findings: [{ health: "healthy", text: "not bound" }] };
  return { lifecycle: "creating", findings: [{ health: "unknown", text: "no status yet" }] };
}
