import { isRecord } from "../../../../base/is-record.ts";
import type { LiveObject } from "../release-api.ts";

/** How many of the wanted pods have been ready for `minReadySeconds`, as their controller counts them. */
export interface Availability {
  /** 0 and more; with 0 a pod that is ready is available. */
  readonly minReadySeconds: number;
  readonly available: number;
  readonly desired: number;
  /** Pods of any age and template. */
  readonly present: number;
}

/** Undefined for kinds whose controllers do not count what is available. */
export function availabilityOf(kind: string, { spec, status }: LiveObject): Availability | undefined {
  const wanted = isRecord(spec) ? spec : {};
  const seen = isRecord(status) ? status : {};
  const minReadySeconds = numberOf(wanted.minReadySeconds, 0);
  switch (kind) {
    case "Deployment.apps":
    case "StatefulSet.apps":
    case "ReplicaSet.apps":
      return {
        ...{ minReadySeconds, available: numberOf(seen.availableReplicas, 0) },
        ...{ desired: numberOf(wanted.replicas, 1), present: numberOf(seen.replicas, 0) },
      };
    case "DaemonSet.apps":
      return {
        ...{ minReadySeconds, available: numberOf(seen.numberAvailable, 0) },
        ...{ desired: numberOf(seen.desiredNumberScheduled, 0), present: numberOf(seen.currentNumberScheduled, 0) },
      };
    default:
      return undefined;
  }
}

/** How long it may take until the last pod is available. A StatefulSet and a DaemonSet wait for each pod before the next. */
export function slowestMs(kind: string, { minReadySeconds, desired }: Availability): number {
  const isOneByOne = kind === "StatefulSet.apps" || kind === "DaemonSet.apps";
  return minReadySeconds * 1_000 * (isOneByOne ? Math.max(desired, 1) : 1);
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}
