import { isDeepStrictEqual } from "node:util";
import { type InstalledRelease, installedRelease } from "../../../crds/kinds/installed-release.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Drift, Rollout } from "../../../crds/kinds/rollout.ts";
import { lineWithoutCommands } from "../../../crds/printable.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../../kube/controller/controller.ts";
import { keyOf } from "../../../kube/objects/resource.ts";
import { type ContentRef, isRunning } from "../machine/trail.ts";
import { driftOf, type MemberLook } from "./drift.ts";

/** All the I/O of this reconciler, as functions. */
export interface DriftPorts {
  /** From the cache, as are the others of its deployment. */
  readonly rollout: (key: string) => Rollout | undefined;
  readonly rolloutsOf: (deploymentId: string) => readonly Rollout[];
  /** Namespaces that the customer accepts the deployment for; undefined: this cluster does not serve it. */
  readonly accepted: (deploymentId: string) => readonly string[] | undefined;
  /** Without objects: it is gone, or is not what it was. */
  readonly objectsOf: (
    content: ContentRef,
    deploymentId: string,
    signal: AbortSignal,
  ) => Promise<readonly ReleaseObject[]>;
  readonly looksAt: (
    objects: readonly ReleaseObject[],
    deploymentId: string,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, MemberLook>>;
  /** With the resourceVersion that was read; undefined: there is none any more. */
  readonly writeDrift: (rollout: Rollout, drift: readonly Drift[] | undefined, signal: AbortSignal) => Promise<unknown>;
  readonly fence: () => void;
  readonly redact: (text: string) => string;
}

const LOOK_EVERY_MS = 10 * 60_000;
/** What has drifted is looked at sooner: its end brings the deployment back to running. */
const LOOK_AGAIN_MS = 60_000;

/** Keys of the rollouts of a deployment that have to be looked at: what is installed, and what says of itself that it has drifted. */
export function driftKeys(rollouts: readonly Rollout[]): readonly string[] {
  const installed = installedRelease(rollouts)?.rollout;
  return rollouts.filter((each) => each === installed || each.status?.drift !== undefined).map(keyOf);
}

/**
 * Compares what is installed with its content, and says on the rollout that brought it what others have changed or deleted
 * since. It repairs nothing. While another rollout of the deployment runs nothing is compared: it changes these objects.
 *
 * @param key of the rollout
 */
export async function reconcileDrift(
  key: string,
  ports: DriftPorts,
  { signal, log }: ReconcileContext,
): Promise<Result> {
  const rollout = ports.rollout(key);
  if (rollout === undefined) return undefined;
  const all = ports.rolloutsOf(rollout.spec.deploymentId);
  if (all.some(isRunning)) return undefined;
  const installed = installedRelease(all);
  const isInstalled = installed?.rollout.metadata.uid === rollout.metadata.uid;
  const drift = isInstalled ? await compare(installed, all, ports, signal) : [];
  if (!isDeepStrictEqual(drift, rollout.status?.drift ?? [])) {
    signal.throwIfAborted();
    ports.fence();
    try {
      await ports.writeDrift(rollout, drift.length === 0 ? undefined : drift, signal);
    } catch (error) {
      // It was changed or deleted since: the event of that brings us back.
      if (!(error instanceof ApiError && (error.isConflict || error.isNotFound))) throw error;
      return undefined;
    }
    const { name } = rollout.metadata;
    log.info({ rollout: name, lines: drift.length }, "what others have changed of a release is another than before");
  }
  if (!isInstalled) return undefined;
  return { requeueAfterMs: drift.length === 0 ? LOOK_EVERY_MS : LOOK_AGAIN_MS };
}

async function compare(
  { rollout, contentName: name, contentDigest: digest }: InstalledRelease,
  all: readonly Rollout[],
  { accepted, objectsOf, looksAt, redact }: DriftPorts,
  signal: AbortSignal,
): Promise<readonly Drift[]> {
  const { deploymentId } = rollout.spec;
  const namespaces = accepted(deploymentId) ?? [];
  const content = await objectsOf({ name, digest }, deploymentId, signal);
  const objects = content.filter(({ manifest }) => namespaces.includes(manifest.metadata.namespace ?? ""));
  const looks = await looksAt(objects, deploymentId, signal);
  // One that went back says what it gave way to with its own content; the rest stands where that content was applied.
  const givenBy = all.filter((each) => each === rollout || each.spec.contentName === name);
  const given = givenBy.flatMap(({ status }) => status?.plan?.overrides ?? []);
  const drift = driftOf(objects, (ref) => looks.get(ref) ?? "unreadable", given);
  const line = (text: string, max: number): string => lineWithoutCommands(redact(text), max);
  return drift.map(({ ref, field, manager }) => ({
    ref,
    ...(field !== undefined && { field: line(field, 256) }),
    ...(manager !== undefined && { manager: line(manager, 128) }),
  }));
}
