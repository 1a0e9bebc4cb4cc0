import { isDeepStrictEqual } from "node:util";
import type { RolloutReason } from "../../../crds/conditions.ts";
import { type InstalledRelease, installedRelease } from "../../../crds/kinds/installed-release.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { type Drift, MAX_OVERRIDES, type Rollout } from "../../../crds/kinds/rollout.ts";
import { lineWithoutCommands, printableLine } from "../../../crds/printable.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../../kube/controller/controller.ts";
import { type Condition, withCondition } from "../../../kube/objects/conditions.ts";
import { keyOf } from "../../../kube/objects/resource.ts";
import type { ReadContent } from "../machine/intent.ts";
import { type ContentRef, isRunning } from "../machine/trail.ts";
import { driftOf, type MemberLook, type OnRecord } from "./drift.ts";

/** All the I/O of this reconciler, as functions. */
export interface DriftPorts {
  /** From the cache, as are the others of its deployment. */
  readonly rollout: (key: string) => Rollout | undefined;
  readonly rolloutsOf: (deploymentId: string) => readonly Rollout[];
  /** Namespaces that the customer accepts the deployment for; undefined: this cluster does not serve it. */
  readonly accepted: (deploymentId: string) => readonly string[] | undefined;
  readonly contentOf: (content: ContentRef, deploymentId: string, signal: AbortSignal) => Promise<ReadContent>;
  readonly looksAt: (
    objects: readonly ReleaseObject[],
    deploymentId: string,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, MemberLook>>;
  /** With the resourceVersion that was read. */
  readonly writeDrift: (rollout: Rollout, told: ToldDrift, signal: AbortSignal) => Promise<unknown>;
  readonly fence: () => void;
  readonly redact: (text: string) => string;
  readonly now: () => Date;
}

/** What of a rollout's status is of this reconciler. */
export interface ToldDrift {
  /** Undefined: there is none. */
  readonly drift: readonly Drift[] | undefined;
  /** All of the rollout's. */
  readonly conditions: readonly Condition[];
}

const LOOK_EVERY_MS = 10 * 60_000;
/** What has drifted is looked at sooner: its end brings the deployment back to running. */
const LOOK_AGAIN_MS = 60_000;

const MAX_MESSAGE = 1_024;
/** References in one message. */
const MAX_NAMED = 3;
const COMPARED = "Compared";

/** Keys of the rollouts of a deployment that have to be looked at: what is installed, and what still tells of a comparison. */
export function driftKeys(rollouts: readonly Rollout[]): readonly string[] {
  const installed = comparable(rollouts)?.rollout;
  return rollouts.filter((each) => each === installed || isTold(each)).map(keyOf);
}

/** While one runs, it changes these objects: what was compared before does not count any more. */
function comparable(rollouts: readonly Rollout[]): InstalledRelease | undefined {
  return rollouts.some(isRunning) ? undefined : installedRelease(rollouts);
}

function isTold({ status }: Rollout): boolean {
  return status?.drift !== undefined || status?.conditions?.some(({ type }) => type === COMPARED) === true;
}

/**
 * Compares what is installed with its content, and says on the rollout that brought it what others have changed or deleted
 * since, and whether all of it could be looked at. It repairs nothing. While another rollout of the deployment runs nothing
 * is compared, and nothing is said of earlier looks: AsReleased would be True of objects that are being changed.
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
  const { deploymentId } = rollout.spec;
  const all = ports.rolloutsOf(deploymentId);
  const installed = comparable(all);
  const isInstalled = installed?.rollout.metadata.uid === rollout.metadata.uid;
  const compared = isInstalled ? await compare(installed, all, ports, signal) : undefined;
  const told = toldOf(rollout, compared, ports);
  if (!isDeepStrictEqual(told, { drift: rollout.status?.drift, conditions: rollout.status?.conditions ?? [] })) {
    signal.throwIfAborted();
    // A rollout that began since has changed some of these objects; its events bring us back.
    const now = comparable(ports.rolloutsOf(deploymentId));
    if (now?.rollout.metadata.uid !== installed?.rollout.metadata.uid) return undefined;
    ports.fence();
    try {
      await ports.writeDrift(rollout, told, signal);
    } catch (error) {
      // It was changed or deleted since: the event of that brings us back.
      if (!(error instanceof ApiError && (error.isConflict || error.isNotFound))) throw error;
      return undefined;
    }
    const lines = told.drift?.length ?? 0;
    const reason = compared?.reason;
    log.info(
      { rollout: rollout.metadata.name, lines, reason },
      "what others have changed of a release is another than before",
    );
  }
  if (!isInstalled) return undefined;
  return { requeueAfterMs: told.drift === undefined ? LOOK_EVERY_MS : LOOK_AGAIN_MS };
}

/** What a look has come to. */
interface Compared {
  readonly drift: readonly Drift[];
  readonly reason: RolloutReason<typeof COMPARED>;
  readonly message: string;
}

/** @param compared undefined: it is not what is installed, so that nothing is told of it any more */
function toldOf({ metadata, status }: Rollout, compared: Compared | undefined, { redact, now }: DriftPorts): ToldDrift {
  const conditions = (status?.conditions ?? []) as readonly Condition[];
  if (compared === undefined)
    return { drift: undefined, conditions: conditions.filter(({ type }) => type !== COMPARED) };
  const { drift, reason, message: text } = compared;
  const is = reason === "AllCompared" ? "True" : "Unknown";
  const message = lineWithoutCommands(redact(text), MAX_MESSAGE);
  const said = { type: COMPARED, status: is, reason, message, observedGeneration: metadata.generation ?? 0 } as const;
  return { drift: drift.length === 0 ? undefined : drift, conditions: withCondition(conditions, said, now()) };
}

async function compare(
  { rollout, contentName: name, contentDigest: digest }: InstalledRelease,
  all: readonly Rollout[],
  { accepted, contentOf, looksAt, redact }: DriftPorts,
  signal: AbortSignal,
): Promise<Compared> {
  const { deploymentId } = rollout.spec;
  const before = rollout.status?.drift ?? [];
  const { objects, problem } = await contentOf({ name, digest }, deploymentId, signal);
  if (problem !== undefined) return { drift: before, ...problem };
  const namespaces = accepted(deploymentId) ?? [];
  const open = objects.filter(({ manifest }) => namespaces.includes(manifest.metadata.namespace ?? ""));
  const looks = await looksAt(open, deploymentId, signal);
  const given = givenIn({ name, digest }, rollout, all);
  const stored = (line: Drift): Drift => storedLine(line, redact);
  const { drift, unseen } = driftOf(objects, (ref) => looks.get(ref) ?? "unreadable", { given, drift: before, stored });
  if (unseen.length > 0) {
    const reason = open.length < objects.length ? "NamespaceClosed" : "NotReadable";
    const more = unseen.length > MAX_NAMED ? ` and ${unseen.length - MAX_NAMED} more` : "";
    return { drift, reason, message: `could not be looked at: ${unseen.slice(0, MAX_NAMED).join(", ")}${more}` };
  }
  if (given !== undefined) return { drift, reason: "AllCompared", message: "all of it was compared" };
  const message = `the rollout has left ${MAX_OVERRIDES} fields or more to others: only missing objects are told`;
  return { drift, reason: "OverridesFull", message };
}

/**
 * The fields that this rollout has given way to. One that went back lists those of its own content; the rest stands where
 * the content that is back was applied last.
 */
function givenIn({ name, digest }: ContentRef, rollout: Rollout, all: readonly Rollout[]): OnRecord["given"] {
  const brought = all.filter(
    ({ spec, status }) => status?.state === "Succeeded" && spec.contentName === name && spec.contentDigest === digest,
  );
  const former = rollout.status?.state === "RolledBack" ? installedRelease(brought)?.rollout : undefined;
  const lists = [rollout, former].map((each) => each?.status?.plan?.overrides ?? []);
  return lists.some(({ length }) => length >= MAX_OVERRIDES) ? undefined : lists.flat();
}

/** In the form that overrides of a plan are stored in: they are compared. */
function storedLine({ ref, field, manager }: Drift, redact: DriftPorts["redact"]): Drift {
  const line = (text: string, max: number): string => lineWithoutCommands(redact(printableLine(text, max)), max);
  return {
    ref: line(ref, 320),
    ...(field !== undefined && { field: line(field, 256) }),
    ...(manager !== undefined && { manager: line(manager, 128) }),
  };
}
