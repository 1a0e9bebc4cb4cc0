import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { ReleaseRow } from "../../../database/tables/releases.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../../kernel/errors.ts";
import { findChannel, findRelease } from "../../releases/record/store.ts";

type Context = Pick<Call, "db">;
type Owner = Pick<DeploymentRow, "workspace_id" | "project_id" | "platform" | "purpose">;

/**
 * A release with stacks but none for the platform cannot run there. A release without any stack only names a version.
 */
function isDeployable(release: ReleaseRow, platform: string): boolean {
  return release.stack[platform] != null;
}

function isVersionOnly(release: ReleaseRow): boolean {
  return Object.values(release.stack).every((stack) => stack === null);
}

/**
 * @throws NOT_FOUND outside the workspace; RELEASE_NOT_DEPLOYABLE for a release of another project, or without that
 * platform, and for what is no application.
 */
export async function requireDeployable({ db }: Context, owner: Owner, id: string): Promise<ReleaseRow> {
  const release = await findRelease(db, owner.workspace_id, id);
  if (release === undefined) throw notFound("release");
  if (owner.purpose !== "application") {
    throw new PlatformError("RELEASE_NOT_DEPLOYABLE", { message: "only an application has a release" });
  }
  if (release.project_id !== owner.project_id || !isDeployable(release, owner.platform)) {
    throw new PlatformError("RELEASE_NOT_DEPLOYABLE");
  }
  return release;
}

/**
 * The release that a follower of the channel should run. Null when the channel is empty, or when its release has no
 * stacks and is for deployments that are only observed, and for what is no application: models or a bucket have none.
 * @throws NOT_FOUND without such a channel; RELEASE_NOT_DEPLOYABLE when its release lacks the platform.
 */
export async function followedRelease({ db }: Context, owner: Owner, channel: string): Promise<string | null> {
  const found = await findChannel(db, owner.project_id, channel);
  if (found === undefined) throw notFound("release channel");
  const { release } = found;
  if (owner.purpose !== "application") return null;
  if (release === undefined || isVersionOnly(release)) return null;
  if (!isDeployable(release, owner.platform)) throw new PlatformError("RELEASE_NOT_DEPLOYABLE");
  return release.id;
}
