import type { GitNamespace, GitProvider, GitRepository } from "../../../contract/projects/git-namespaces.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import type { Person, User } from "../../kernel/tenancy/principal.ts";
import type { GitHost } from "../../ports/git-host.ts";
import { namespacesOf, toNamespace } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "signal" | "config">;

const MAX_REPOSITORIES = 100;

/** Replaces the stored namespaces with those that the git host reports. Those that remain keep their createdAt. */
export async function syncNamespaces(
  call: Context,
  user: User | Person,
  provider: GitProvider,
): Promise<GitNamespace[]> {
  const { db, now, signal } = call;
  const found = await hostOf(call).namespaces(user.email, signal);
  await db.transaction().execute(async (transaction) => {
    const slugs = found.map(({ slug }) => slug);
    await transaction
      .deleteFrom("git_namespaces")
      .where("user_id", "=", user.id)
      .$if(slugs.length > 0, (gone) => gone.where("slug", "not in", slugs))
      .execute();
    for (const { id, slug, installationId, name, type } of found) {
      const said = { host_id: id, name, installation_id: installationId, type };
      await transaction
        .insertInto("git_namespaces")
        .values({ user_id: user.id, provider: "git-host", slug, created_at: now, ...said })
        .onConflict((conflict) => conflict.columns(["user_id", "provider", "slug"]).doUpdateSet(said))
        .execute();
    }
  });
  return (await namespacesOf(db, user.id).execute()).map((row) => toNamespace(row, provider));
}

export async function repositoriesOf(
  call: Context,
  user: User | Person,
  id: number,
  search: string | undefined,
): Promise<GitRepository[]> {
  const host = hostOf(call);
  const row = await namespacesOf(call.db, user.id).where("g.host_id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("git namespace");
  const namespace = { slug: row.slug, installationId: row.installation_id };
  const repositories = await host.repositories(namespace, search, call.signal);
  const pushedMs = ({ pushedAt }: GitRepository): number => (pushedAt === undefined ? 0 : Date.parse(pushedAt));
  return [...repositories].sort((a, b) => pushedMs(b) - pushedMs(a)).slice(0, MAX_REPOSITORIES);
}

/** @throws GIT_HOST_NOT_CONFIGURED when the platform is not connected to a git host. */
function hostOf({ config }: Context): GitHost {
  if (config.gitHost !== undefined) return config.gitHost;
  throw new PlatformError("GIT_HOST_NOT_CONFIGURED");
}
