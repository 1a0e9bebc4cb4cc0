import { PRODUCTION, type ReleaseChannel } from "../../../contract/releases/release-channels.ts";
import type { ReleaseChannelRow, ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { meantProject, optionalProject, type ProjectRef, requireProject } from "../../kernel/tenancy/project-ref.ts";
import { pointChannel } from "./promote.ts";
import { findChannelRow, findRelease } from "./record/store.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks" | "wake" | "config" | "budgets">;

/** The channels of one project, or by project of all projects that the caller sees when none is named. */
export async function listChannels(call: Context, ref: string | undefined): Promise<ReleaseChannel[]> {
  const project = await optionalProject(call.db, call.principal, ref);
  const rows = await call.db
    .selectFrom("release_channels")
    .selectAll()
    .where("workspace_id", "=", project?.workspaceId ?? call.principal.workspaceId)
    .$if(project !== undefined, (channels) => channels.where("project_id", "=", project?.id ?? ""))
    .execute();
  const projects = [...new Set(rows.map((row) => row.project_id))];
  const counts = await followerCounts(call, projects);
  const rank = ({ name, project_id }: ReleaseChannelRow): string => `${project_id} ${name === PRODUCTION ? "" : name}`;
  rows.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  return rows.map((row) => toChannel(row, counts));
}

export async function createChannel(
  call: Context,
  ref: string | undefined,
  { name, releaseId }: { readonly name: string; readonly releaseId?: string },
): Promise<ReleaseChannel> {
  const { db, now } = call;
  const project = await meantProject(db, call.principal, ref);
  if (name === PRODUCTION) throw new PlatformError("CHANNEL_RESERVED");
  if ((await findChannelRow(db, project.id, name)) !== undefined) throw new PlatformError("CHANNEL_EXISTS");
  const release = releaseId === undefined ? undefined : await findRelease(db, project.workspaceId, releaseId);
  if (releaseId !== undefined && release === undefined) throw notFound("release");
  if (release !== undefined && release.project_id !== project.id) throw new PlatformError("RELEASE_NOT_DEPLOYABLE");
  const { count } = await db
    .selectFrom("release_channels")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("project_id", "=", project.id)
    .executeTakeFirstOrThrow();
  call.budgets.require("project-channels", project.id, Number(count) + 1);
  const row = await db
    .insertInto("release_channels")
    .values({
      workspace_id: project.workspaceId,
      project_id: project.id,
      name,
      current_release_id: null,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toChannel(release === undefined ? row : await pointChannel(call, row, release), new Map());
}

/** @throws CHANNEL_IN_USE while deployments that are not `deleted` follow it. */
export async function deleteChannel(call: Context, ref: string | undefined, name: string): Promise<void> {
  const channel = await getChannel(call, await meantProject(call.db, call.principal, ref), name);
  if (name === PRODUCTION) throw new PlatformError("CHANNEL_RESERVED");
  const counts = await followerCounts(call, [channel.project_id]);
  if ((counts.get(`${channel.project_id} ${name}`) ?? 0) > 0) throw new PlatformError("CHANNEL_IN_USE");
  const { db } = call;
  await db
    .deleteFrom("release_channels")
    .where("project_id", "=", channel.project_id)
    .where("name", "=", name)
    .execute();
  await db
    .deleteFrom("channel_promotions")
    .where("project_id", "=", channel.project_id)
    .where("channel", "=", name)
    .execute();
}

/**
 * Points the channel at a release. With `expected` only if the channel still points there; null means "empty".
 * @throws CHANNEL_CHANGED with the release that the channel points at.
 */
export async function promote(
  call: Context,
  ref: string | undefined,
  name: string,
  { releaseId, expected }: { readonly releaseId: string; readonly expected: string | null | undefined },
): Promise<ReleaseChannel> {
  const channel = await getChannel(call, await requireProject(call.db, call.principal, ref), name);
  const release = await releaseOfProject(call, channel, releaseId);
  const current = channel.current_release_id;
  if (expected !== undefined && expected !== current) {
    throw new PlatformError("CHANNEL_CHANGED", { context: { currentReleaseId: current } });
  }
  const stored = await pointChannel(call, channel, release);
  return toChannel(stored, await followerCounts(call, [channel.project_id]));
}

async function releaseOfProject(call: Context, channel: ReleaseChannelRow, id: string): Promise<ReleaseRow> {
  const release = await findRelease(call.db, channel.workspace_id, id);
  if (release === undefined || release.project_id !== channel.project_id) throw notFound("release");
  return release;
}

async function getChannel(call: Context, project: ProjectRef, name: string): Promise<ReleaseChannelRow> {
  const channel = await findChannelRow(call.db, project.id, name);
  if (channel === undefined) throw notFound("release channel");
  return channel;
}

/** The number of deployments that are not `deleted`, by the channel that they follow. */
async function followerCounts({ db }: Context, projects: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom("deployments")
    .select(["project_id", "release_channel", (eb) => eb.fn.countAll<number>().as("count")])
    .where("project_id", "in", [...projects, ""])
    .where("status", "<>", "deleted")
    .groupBy(["project_id", "release_channel"])
    .execute();
  return new Map(rows.map((row) => [`${row.project_id} ${row.release_channel}`, Number(row.count)]));
}

function toChannel(row: ReleaseChannelRow, counts: ReadonlyMap<string, number>): ReleaseChannel {
  return {
    workspaceId: row.workspace_id,
    projectId: row.project_id,
    name: row.name,
    currentReleaseId: row.current_release_id,
    deploymentCount: counts.get(`${row.project_id} ${row.name}`) ?? 0,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
