import type { Generated } from "kysely";
import type { SetupFingerprints } from "../../../contract/deployments/stack.ts";
import type { GitMetadata } from "../../../contract/releases/git-metadata.ts";
import type { DeploymentRow } from "./deployments.ts";

export interface ReleaseTables {
  releases: ReleaseRow;
  release_channels: ReleaseChannelRow;
  channel_promotions: ChannelPromotionRow;
  deployment_tallies: DeploymentTallyRow;
  /** What came since the last sweep: to be added. */
  deployment_tally_changes: DeploymentTallyRow & { id: Generated<number> };
}

/** Never changes once it is there. */
export interface ReleaseRow {
  id: string;
  workspace_id: string;
  project_id: string;
  /** Unique in the project. */
  version: string;
  git_metadata: GitMetadata | null;
  /** Platform to stack or null. */
  stack: Record<string, Record<string, unknown> | null>;
  setup_fingerprints: SetupFingerprints;
  root_directory: string | null;
  /** `commitRef` without `refs/heads/`: what lists are filtered by. */
  branch: string | null;
  /** The user who made it; null when a key did. */
  created_by: {
    readonly id: string;
    readonly name: string | null;
    readonly email: string;
    image: string | null;
  } | null;
  created_at: Date;
}

/** A named pointer to one release of a project; `production` is there from the project's creation. */
export interface ReleaseChannelRow {
  workspace_id: string;
  project_id: string;
  name: string;
  current_release_id: string | null;
  created_at: Date;
  updated_at: Date;
}

/** That a channel points or has pointed at a release. */
export interface ChannelPromotionRow {
  project_id: string;
  channel: string;
  release_id: string;
  promoted_at: Date;
  /** The place in lists of the release that is promoted; the database fills it in. */
  workspace_id: Generated<string>;
  created_at: Generated<Date>;
}

/** How many deployments of an owner are alike. Triggers on `deployments` write what changes (migration 0016). */
export interface DeploymentTallyRow {
  /** A project or a deployment group: each has its own tallies. */
  owner_id: string;
  status: DeploymentRow["status"];
  /** Empty: none. */
  current_release_id: string;
  desired_release_id: string;
  pinned_release_id: string;
  release_channel: string;
  count: number;
  /** Those with a `release_duration_ms`, and its sum. */
  timed: number;
  duration_ms: number;
}
