import type { ReleaseChannelRow, ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import { actorOf } from "../../kernel/tenancy/principal.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks" | "wake" | "config">;

/**
 * Points a channel at a release and runs everything that follows, in the caller's transaction (§5.4). If the channel
 * already points there, nothing changes and no event is written.
 */
export async function pointChannel(
  call: Context,
  channel: ReleaseChannelRow,
  release: ReleaseRow,
): Promise<ReleaseChannelRow> {
  const previousReleaseId = channel.current_release_id;
  if (previousReleaseId === release.id) return channel;
  const stored = await call.db
    .updateTable("release_channels")
    .set({ current_release_id: release.id, updated_at: call.now })
    .where("project_id", "=", channel.project_id)
    .where("name", "=", channel.name)
    .returningAll()
    .executeTakeFirstOrThrow();
  await call.db
    .insertInto("channel_promotions")
    .values({
      project_id: channel.project_id,
      channel: channel.name,
      release_id: release.id,
      promoted_at: call.now,
    })
    .onConflict((conflict) => conflict.columns(["release_id", "channel"]).doUpdateSet({ promoted_at: call.now }))
    .execute();
  await call.emit({
    type: "ReleaseChannelUpdated",
    projectId: channel.project_id,
    releaseId: release.id,
    data: { actor: actorOf(call.principal), channel: channel.name, previousReleaseId, releaseId: release.id },
  });
  for (const hook of call.hooks.channelMoved) await hook(call, { channel: stored, release });
  return stored;
}
