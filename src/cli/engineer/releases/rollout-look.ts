import type { DeploymentListItem } from "../../../contract/deployments/deployment.ts";
import type { DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import type { Event, EventType } from "../../../contract/events/events.ts";
import type { Release, ReleaseDeployment, RolloutState } from "../../../contract/releases/releases.ts";
import type { CallRoute } from "../calling.ts";
import { SETUP_FAILED, type Standing, standingOf, type WatchedState } from "./standing.ts";

export interface Wanted {
  readonly release: Pick<Release, "id" | "projectId" | "stack">;
  readonly group: string | undefined;
}

interface Look {
  readonly standings: ReadonlyMap<string, Standing>;
  readonly counts: ReadonlyMap<WatchedState, number>;
  readonly requests: number;
}

interface PageOf<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

interface Standings extends PageOf<ReleaseDeployment> {
  readonly stateCounts: Readonly<Record<RolloutState, number>>;
}

/** In these the platform's state of a deployment does not say all: it may be applied again, retried, drifted or deleted. */
const LOOKED_INTO: readonly DeploymentStatus[] = [
  ...SETUP_FAILED,
  ...(["update-failed", "update-pending", "updating", "waiting-for-machines", "refresh-failed"] as const),
  ...(["delete-pending", "deleting", "delete-failed", "teardown-required", "teardown-failed"] as const),
];
const FAILED: EventType = "DeploymentFailed";
/** Of failed setups: how many are asked in one run of which release they were. Others count as of the one that is watched. */
const MAX_ASKED = 20;

/** Reads where the deployments stand towards a release. */
export class RolloutReader {
  readonly #wanted: Wanted;
  readonly #call: CallRoute;
  /** By deployment and error: the release of which its setup has failed. */
  readonly #failedOf = new Map<string, string | undefined>();
  #requests = 0;

  constructor(wanted: Wanted, call: CallRoute) {
    this.#wanted = wanted;
    this.#call = call;
  }

  /** The first of those that stay at another release. */
  async pinned(limit: number, signal: AbortSignal): Promise<readonly ReleaseDeployment[]> {
    const { release, group } = this.#wanted;
    const query = { state: ["pinned-other"], limit, ...byGroup(group) };
    const values = { params: { id: release.id }, query, body: undefined };
    return ((await this.#call("releases", "deployments", values, signal)) as Standings).items;
  }

  async look(states: readonly RolloutState[], signal: AbortSignal): Promise<Look> {
    this.#requests = 0;
    const { release, group } = this.#wanted;
    const values = { params: { id: release.id }, query: { state: states, ...byGroup(group) } };
    const { items, first } = await this.#pages<Standings>("releases", "deployments", values, signal);
    const found = new Map(items.map((item) => [item.id, item]));
    const query = { project: release.projectId, status: LOOKED_INTO, include: ["deploymentGroup"], ...byGroup(group) };
    const { items: others } = await this.#pages<PageOf<DeploymentListItem>>("deployments", "list", { query }, signal);
    const retried = new Set(others.flatMap(({ id, retryRequested }) => (retryRequested ? [id] : [])));
    for (const other of others) {
      const runsIt = other.currentReleaseId === release.id && other.desiredReleaseId === null;
      if (runsIt && !found.has(other.id)) found.set(other.id, updated(other));
    }
    const standings = new Map<string, Standing>();
    const counts = new Map<WatchedState, number>(Object.entries(first.stateCounts) as [RolloutState, number][]);
    for (const item of found.values()) {
      const isRetried = retried.has(item.id);
      const failedOf = isRetried ? undefined : await this.#failed(item, signal);
      const standing = standingOf(item, release, { isRetried, failedOf });
      standings.set(item.id, standing);
      add(counts, item.rolloutState, -1);
      add(counts, standing.state, 1);
    }
    return { standings, counts, requests: this.#requests };
  }

  /** The record keeps the error of a failed setup when another release is promoted; the event says of which it was. */
  async #failed({ id, rolloutState, status, error }: ReleaseDeployment, signal: AbortSignal) {
    if (rolloutState !== "failed" || !SETUP_FAILED.includes(status)) return undefined;
    const key = JSON.stringify([id, status, error]);
    if (!this.#failedOf.has(key) && this.#failedOf.size < MAX_ASKED) {
      this.#requests += 1;
      const values = { params: {}, query: { deploymentId: id, limit: 100 }, body: undefined };
      const { items } = (await this.#call("events", "list", values, signal)) as PageOf<Event>;
      const data: Readonly<Record<string, unknown>> = items.find((each) => each.data.type === FAILED)?.data ?? {};
      const { attemptedReleaseId: tried } = data;
      this.#failedOf.set(key, typeof tried === "string" ? tried : undefined);
    }
    return this.#failedOf.get(key);
  }

  async #pages<P extends PageOf<unknown>>(
    area: string,
    name: string,
    { params = {}, query }: { readonly params?: Record<string, string>; readonly query: object },
    signal: AbortSignal,
  ): Promise<{ readonly items: readonly P["items"][number][]; readonly first: P }> {
    const items: P["items"][number][] = [];
    let first: P | undefined;
    for (let cursor: string | null = null; ; ) {
      this.#requests += 1;
      const values = { params, query: { limit: 100, ...query, ...(cursor !== null && { cursor }) }, body: undefined };
      const page = (await this.#call(area, name, values, signal)) as P;
      first ??= page;
      items.push(...page.items);
      cursor = page.nextCursor;
      if (cursor === null) return { items, first };
    }
  }
}

function byGroup(group: string | undefined) {
  return group === undefined ? {} : { deploymentGroup: group };
}

function add(counts: Map<WatchedState, number>, state: WatchedState, count: number): void {
  counts.set(state, Math.max(0, (counts.get(state) ?? 0) + count));
}

/** One that runs the release, as the list of deployments has it. */
function updated(item: DeploymentListItem): ReleaseDeployment {
  const { id, name, status, platform, environmentInfo, currentReleaseId, desiredReleaseId, pinnedReleaseId } = item;
  const { deploymentGroupId, deploymentGroup, lastHeartbeatAt, error } = item;
  return {
    ...{ id, name, status, platform, environmentInfo, currentReleaseId, desiredReleaseId, pinnedReleaseId },
    deploymentGroup: deploymentGroup ?? { id: deploymentGroupId, name: deploymentGroupId, externalId: null },
    ...{ lastHeartbeatAt, error, rolloutState: "updated", releasedAt: null, durationMs: null },
  };
}
