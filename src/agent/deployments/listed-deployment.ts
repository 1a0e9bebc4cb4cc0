import type { DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import { SyncDeployment } from "../../contract/deployments/sync.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import { readWantedRelease, type WantedRelease } from "../releases/release-record.ts";

/** What the agent uses of a deployment that the platform lists. Secrets in the record are not kept. */
export interface ListedDeployment {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly status: DeploymentStatus;
  readonly platform: SyncDeployment["platform"];
  readonly model: SyncDeployment["deploymentModel"];
  /** Resources that the platform believes to exist: what a deletion leaves to the person who installed them. */
  readonly stackResources: number;
  /** What it should run, and what it was last reported to run; null: none, as with one that is only observed. */
  readonly desiredReleaseId: string | null;
  readonly currentReleaseId: string | null;
  readonly wanted: WantedRelease;
  /** False: its setting `heartbeats` is off, or cannot be read. Nothing of its workloads leaves the cluster. */
  readonly tellsHealth: boolean;
}

const FIELDS = [
  "id",
  "name",
  "projectId",
  "status",
  "platform",
  "deploymentModel",
  "desiredReleaseId",
  "currentReleaseId",
] as const;

/** One item of the platform's list; undefined when it cannot be served, with the reason for the log. */
export function readListedDeployment(item: unknown): ListedDeployment | { readonly problem: string } {
  const problem = misfit(SyncDeployment, item, FIELDS);
  if (problem !== undefined) return { problem };
  const { deploymentModel: model, stackState, ...rest } = item as SyncDeployment;
  const { id, name, projectId, status, platform, desiredReleaseId, currentReleaseId } = rest;
  const stackResources =
    misfit(SyncDeployment, item, ["stackState"]) === undefined ? Object.keys(stackState?.resources ?? {}) : [];
  const releases = { desiredReleaseId, currentReleaseId };
  const wanted = readWantedRelease(item);
  const { stackSettings } = item as Partial<SyncDeployment>;
  const isRead = stackSettings === undefined || misfit(SyncDeployment, item, ["stackSettings"]) === undefined;
  const tellsHealth = isRead && stackSettings?.heartbeats !== "off";
  const more = { stackResources: stackResources.length, ...releases, wanted, tellsHealth };
  return { id, name, projectId, status, platform, model, ...more };
}
