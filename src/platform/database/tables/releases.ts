import type { Generated } from "kysely";
import type { SetupFingerprints } from "../../../contract/deployments/stack.ts";
import type { GitMetadata } from "../../../contract/releases/git-metadata.ts";
import type { DeploymentRow } from "./deployments.ts";

export interface ReleaseTables {
  releases: ReleaseRow;
  release_channels: ReleaseChannelRow;
  channel_promotions: ChannelPromotionRow;
  deployment_tallies: DeploymentTallyRow;
  /** Changes since the last sweep, still to be added to the tallies. */
  deployment_tally_changes: DeploymentTallyRow & { id: Generated<number> };
}

/** Never changes after it is created. */
export interface ReleaseRow {
  id: string;
  workspace_id: string;
  project_id: string;
  /** Unique in the project. */
  version: string;
  git_metadata: GitMetadata | null;
  /** The stack of each platform; null without one. */
  stack: Record<string, Record<string, unknown> | null>;
  setup_fingerprints: SetupFingerprints;
  root_directory: string | null;
  /** `commitRef` without `refs/heads/`: the column for the filter of lists. */
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

/** A named pointer to one release of a project. `production` exists from the project's creation on. */
export interface ReleaseChannelRow {
  workspace_id: string;
  project_id: string;
  name: string;
  current_release_id: string | null;
  created_at: Date;
  updated_at: Date;
}

/** Records that a channel points or has pointed at a release. */
export interface ChannelPromotionRow {
  project_id: string;
  channel: string;
  release_id: string;
  promoted_at: Date;
  /** The promoted release's workspace and creation time, which give its place in lists; the database fills them in. */
  workspace_id: Generated<string>;
  created_at: Generated<Date>;
}

/**
 * How many deployments of an owner have the same values in these columns. Triggers on `deployments` record the changes
 * (migration 0016).
 */
export interface DeploymentTallyRow {
  /** A project or a deployment group. Each has its own tallies. */
  owner_id: string;
  status: DeploymentRow["status"];
  /** An empty text means none. */
  current_release_id: string;
  desired_release_id: string;
  pinned_release_id: string;
  release_channel: string;
  count: number;
  /** The number of deployments with a `release_duration_ms`, and the sum of those. */
  timed: number;
  duration_ms: number;
}
