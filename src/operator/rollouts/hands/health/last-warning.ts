import { printable } from "../../../../crds/printable.ts";
import { ApiError } from "../../../../kube/client/api-error.ts";
import type { WaveHealth } from "../hands.ts";
import type { ReleaseApi, Warning } from "../release-api.ts";
import type { Watched } from "./gate.ts";
import { MAX_MESSAGE } from "./resource-rows.ts";

/** With the last warning about what the wave waits for. */
export async function withWarning(
  api: ReleaseApi,
  watched: readonly Watched[],
  health: WaveHealth,
  signal: AbortSignal,
): Promise<WaveHealth> {
  const { waitsFor } = health;
  if (waitsFor === undefined) return health;
  const about = watched.find(({ ref }) => ref === waitsFor.ref);
  const warning = await lastWarning(api, about, signal);
  return warning === undefined ? health : { ...health, waitsFor: { ...waitsFor, warning } };
}

/**
 * The last event of type Warning about an object or its newest pod. What keeps a pod from being made, or a volume from being
 * mounted, stands in events alone.
 *
 * @returns undefined when there is none, or when the customer's own role of releases does not let them be listed
 */
async function lastWarning(
  api: ReleaseApi,
  watched: Watched | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (watched?.live === undefined) return undefined;
  const { namespace = "", uid } = watched.live.metadata;
  const [newest] = watched.pods.toSorted((a, b) =>
    a.metadata.creationTimestamp > b.metadata.creationTimestamp ? -1 : 1,
  );
  const uids = newest === undefined ? [uid] : [newest.metadata.uid, uid];
  for (const each of uids) {
    const [last] = (await warnings(api, namespace, each, signal)).toSorted((a, b) => timeOf(b) - timeOf(a));
    if (last !== undefined) return printable(`${last.reason ?? "Warning"}: ${last.note ?? ""}`, MAX_MESSAGE);
  }
  return undefined;
}

async function warnings(
  api: ReleaseApi,
  namespace: string,
  uid: string,
  signal: AbortSignal,
): Promise<readonly Warning[]> {
  try {
    return await api.warnings(namespace, uid, signal);
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return [];
    throw error;
  }
}

function timeOf({ deprecatedLastTimestamp, eventTime, series, metadata }: Warning): number {
  const times = [deprecatedLastTimestamp, eventTime, series?.lastObservedTime, metadata.creationTimestamp];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? "")).filter((time) => !Number.isNaN(time)));
}
