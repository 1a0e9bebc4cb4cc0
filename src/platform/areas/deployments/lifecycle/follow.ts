import { PLATFORMS } from "../../../../contract/wire/schema.ts";
import type { ReleaseChannelRow, ReleaseRow } from "../../../database/tables/releases.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { changeByRequest, targetColumns } from "./change.ts";
import { newRelease } from "./new-release.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks">;

/**
 * Tells the channel's followers that it points at `release` now: every unpinned, live one for whose platform the
 * release has a stack (§5.4). Those that are ending or broken stay as they are.
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
