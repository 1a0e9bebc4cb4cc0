import { PLATFORMS } from "../../../../contract/wire/schema.ts";
import type { ReleaseChannelRow, ReleaseRow } from "../../../database/tables/releases.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { changeByRequest, targetColumns } from "./change.ts";
import { newRelease } from "./new-release.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks">;

/**
 * Gives the channel's new `release` to its followers: every live application without a pin whose platform the release
 * supports (§5.4). Deployments that are being deleted or have failed for good stay unchanged.
 */
export async function retargetFollowers(
  call: Context,
  { channel, release }: { readonly channel: ReleaseChannelRow; readonly release: ReleaseRow },
): Promise<void> {
  const platforms = PLATFORMS.filter((platform) => release.stack[platform] != null);
  if (platforms.length === 0) return;
  const followers = await call.db
    .selectFrom("deployments")
    .selectAll()
    .where("project_id", "=", release.project_id)
    .where("purpose", "=", "application")
    .where("release_channel", "=", channel.name)
    .where("pinned_release_id", "is", null)
    .where("status", "<>", "deleted")
    .where("platform", "in", platforms)
    .orderBy("id")
    .execute();
  for (const row of followers) {
    const next = newRelease(call, row, release.id);
    if (next !== undefined && next !== row) await changeByRequest(call, row, targetColumns(next));
  }
}
