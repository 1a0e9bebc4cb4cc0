import type { releaseChannelRoutes } from "../../../contract/releases/release-channels.ts";
import type { releaseRoutes } from "../../../contract/releases/releases.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { createChannel, deleteChannel, listChannels, promote } from "./channels.ts";
import { createRelease, toNewRelease } from "./create.ts";
import { listAuthors, listBranches, listReleases, readerOf } from "./list.ts";
import { releasesOf, type VisibleRelease } from "./record/store.ts";
import { rolloutOf } from "./rollout.ts";

export const handlers: Handlers<typeof releaseRoutes> = {
  list: listReleases,
  create: async (call) => toNewRelease(await createRelease(call, call.body)),
  branches: async (call) => ({ items: await listBranches(call) }),
  authors: async (call) => ({ items: await listAuthors(call) }),
  async get(call) {
    const row = await getRelease(call, call.params.id);
    return (await readerOf(call, [row], call.query.include ?? []))(row);
  },
  deployments: async (call) => rolloutOf(call, await getRelease(call, call.params.id)),
};

export const channelHandlers: Handlers<typeof releaseChannelRoutes> = {
  list: async (call) => ({ items: await listChannels(call, call.query.project) }),
  create: async (call) => createChannel(call, call.query.project, call.body),
  delete: async (call) => deleteChannel(call, call.query.project, call.params.name).then(() => undefined),
  promote: async (call) => {
    const { releaseId, expectedReleaseId: expected } = call.body;
    return promote(call, call.query.project, call.params.name, { releaseId, expected });
  },
};

/** @throws NOT_FOUND outside the caller's scope. */
async function getRelease({ db, principal }: Pick<Call, "db" | "principal">, id: string): Promise<VisibleRelease> {
  const row = await releasesOf(db, principal).where("r.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("release");
  return row;
}
