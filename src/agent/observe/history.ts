import type { Clock } from "../../base/clock.ts";
import type { Change } from "../../kube/cache/cache.ts";
import type { Job } from "../../kube/projection/batch-shapes.ts";
import type { Pod } from "../../kube/projection/shapes.ts";
import { isDone } from "../../kube/workload-state/job.ts";
import { observePod, type PodObservation, RESTART_WINDOW_MS } from "../../kube/workload-state/restarts.ts";
import { controllerOf } from "./owners.ts";

/** Of one pod. More changes within the window are counted from the first all the same. */
const MAX_OBSERVATIONS = 8;
const SCALED_MS = 60_000;
/** A CronJob is judged by its last two runs. */
const RUNS = 2;
/** Beyond, the oldest are forgotten. */
const MAX_PODS = 10_000;
const MAX_SCALED = 10_000;
const MAX_CRON_JOBS = 1_000;

/**
 * What caches do not hold because it is over: counters of restarts before they rose, objects that were scaled up from
 * nothing, ended Jobs that their CronJob has deleted. It is built from the changes of the caches, so a pod that stays as
 * it is costs nothing, and after a start it is empty.
 */
export class History {
  readonly #clock: Clock;
  /** By uid of a pod: its counters as they stood until `at`, oldest first. */
  readonly #restarts = new Map<string, PodObservation[]>();
  /** By uid. */
  readonly #scaledUp = new Map<string, Date>();
  /** By uid of a CronJob, newest first. */
  readonly #endedJobs = new Map<string, readonly Job[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  podChanged(change: Change<Pod>): void {
    const { uid } = change.object.metadata;
    if (change.type === "deleted") this.#restarts.delete(uid);
    if (change.type !== "updated" || !hasRestarted(change.previous, change.object)) return;
    if (change.previous.metadata.uid !== uid) return;
    const now = this.#clock.wallNow();
    const kept = this.#recent(uid, now);
    kept.push(observePod(change.previous, now));
    // The first is where counting begins.
    if (kept.length > MAX_OBSERVATIONS) kept.splice(1, 1);
    remember(this.#restarts, uid, kept, MAX_PODS);
  }

  scaled(uid: string, from: number, to: number): void {
    if (from <= 0 && to > 0) remember(this.#scaledUp, uid, this.#clock.wallNow(), MAX_SCALED);
  }

  jobChanged({ type, object }: Change<Job>): void {
    const owner = controllerOf(object.metadata);
    if (type !== "deleted" || owner?.kind !== "CronJob" || !isDone(object)) return;
    const all = [object, ...(this.#endedJobs.get(owner.uid) ?? [])].toSorted((a, b) =>
      a.metadata.creationTimestamp > b.metadata.creationTimestamp ? -1 : 1,
    );
    remember(this.#endedJobs, owner.uid, all.slice(0, RUNS), MAX_CRON_JOBS);
  }

  cronJobDeleted(uid: string): void {
    this.#endedJobs.delete(uid);
  }

  /** A pod's counters before they first rose within the last ten minutes; undefined: they did not. */
  before(uid: string): PodObservation | undefined {
    if (!this.#restarts.has(uid)) return undefined;
    const kept = this.#recent(uid, this.#clock.wallNow());
    if (kept.length === 0) this.#restarts.delete(uid);
    return kept[0];
  }

  scaledUpAt(uid: string): Date | undefined {
    const at = this.#scaledUp.get(uid);
    if (at === undefined || this.#clock.wallNow().getTime() - at.getTime() < SCALED_MS) return at;
    this.#scaledUp.delete(uid);
    return undefined;
  }

  endedJobs(cronJobUid: string): readonly Job[] {
    return this.#endedJobs.get(cronJobUid) ?? [];
  }

  #recent(uid: string, now: Date): PodObservation[] {
    return (this.#restarts.get(uid) ?? []).filter(({ at }) => now.getTime() - at.getTime() < RESTART_WINDOW_MS);
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

/** Called for each event of a pod: it makes nothing. */
function hasRestarted(before: Pod, now: Pod): boolean {
  return (
    rose(before.status.containerStatuses, now.status.containerStatuses) ||
    rose(before.status.initContainerStatuses, now.status.initContainerStatuses)
  );
}

type Statuses = Pod["status"]["containerStatuses"];

function rose(before: Statuses, now: Statuses): boolean {
  for (const { name, restartCount } of now) {
    if (restartCount === 0) continue;
    const earlier = before.find((each) => each.name === name);
    if (earlier !== undefined && restartCount > earlier.restartCount) return true;
  }
  return false;
}
