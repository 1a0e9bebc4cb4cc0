import { type Expression, type SqlBool, sql } from "kysely";
import { PRODUCTION } from "../../../contract/releases/release-channels.ts";
import type { Release, releaseRoutes } from "../../../contract/releases/releases.ts";
import { beginsWith, contains } from "../../database/contains.ts";
import type { Call } from "../../kernel/call/call.ts";
import { paged, toPage } from "../../kernel/call/page.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { toNewRelease } from "./create.ts";
import { branchOf, commitUrlOf } from "./git.ts";
import { channelsAt, releasesOf, type VisibleRelease } from "./record/store.ts";
import { rollouts } from "./rollout.ts";

type ListCall = Call<(typeof releaseRoutes)["list"]>;
type Include = NonNullable<ListCall["query"]["include"]>;

const git = (field: string) => sql<string | null>`(r.git_metadata ->> ${sql.lit(field)})`;

export async function listReleases(call: ListCall): Promise<{ items: Release[]; nextCursor: string | null }> {
  const { page, query } = call;
  // The promotions table repeats the columns that filter and order releases, and has an index in that order.
  const place = query.allChannels === true ? RELEASE : PROMOTION;
  const rows = await (await matching(call, place)).$call(paged(page, place.at, place.id)).execute();
  const toRelease = await readerOf(call, rows.slice(0, page.limit), query.include ?? []);
  return toPage(page, rows, (row) => ({ at: row.created_at, id: row.id }), toRelease);
}

const RELEASE = { table: "r", at: "r.created_at", id: "r.id" } as const;
const PROMOTION = { table: "c", at: "c.created_at", id: "c.release_id" } as const;

/** The releases that the filters select (§5.2). @throws NOT_FOUND when the project is not visible. */
async function matching(call: ListCall, { table, at }: typeof RELEASE | typeof PROMOTION) {
  const { db, principal, query } = call;
  const project = await optionalProject(db, principal, query.project);
  let found = releasesOf(db, principal, table);
  if (table === "c") {
    // With `$if` the row type stays the same: the joined table is only used in conditions.
    found = found.$if(true, (all) => all.innerJoin("channel_promotions as c", "c.release_id", "r.id"));
    found = found.where(sql.ref("c.channel"), "=", query.channel ?? PRODUCTION);
    // The indexes of both tables begin with the workspace.
    if ((query.branch ?? query.author) !== undefined)
      found = found.where(sql<SqlBool>`r.workspace_id = c.workspace_id`);
  }
  if (project !== undefined) found = found.where(sql.ref(`${table}.project_id`), "=", project.id);
  if (query.branch !== undefined) found = found.where("r.branch", "=", branchOf(query.branch));
  if (query.author !== undefined) {
    const author = query.author.toLowerCase();
    found = found.where(
      // Two conditions, because an index answers each.
      sql<SqlBool>`(lower(${git("commitAuthorLogin")}) = ${author} or lower(${git("commitAuthorName")}) = ${author})`,
    );
  }
  if (query.createdAfter !== undefined) found = found.where(sql.ref(at), ">=", new Date(query.createdAfter));
  if (query.createdBefore !== undefined) found = found.where(sql.ref(at), "<", new Date(query.createdBefore));
  return query.search === undefined ? found : found.where(mentions(query.search));
}

/**
 * Releases whose message, branch or version contains the text in any case, or whose sha (from four digits on) or id
 * begins with it.
 */
function mentions(text: string): Expression<SqlBool> {
  const found = [
    contains("r.version", text),
    contains(git("commitMessage"), text),
    contains(git("commitRef"), text),
    ...(/^[0-9a-f]{4,64}$/i.test(text) ? [beginsWith(git("commitSha"), text.toLowerCase())] : []),
    // All ids have the same prefix, so a shorter text would match every release.
    ...(/^rel_./.test(text) ? [beginsWith("r.id", text)] : []),
  ];
  return sql<SqlBool>`(${sql.join(found, sql` or `)})`;
}

/** Makes a function that turns rows into answers. Reads the related data of all rows at once. */
export async function readerOf(
  { db }: Pick<Call, "db">,
  rows: readonly VisibleRelease[],
  include: Include,
): Promise<(row: VisibleRelease) => Release> {
  const ids = rows.map((row) => row.id);
  const channels = await channelsAt(db, ids);
  const progress = include.includes("rollout") ? await rollouts(db, rows) : undefined;
  return (row) => ({
    ...toNewRelease(row),
    currentChannels: channels.get(row.id) ?? [],
    commitUrl: commitUrlOf(row.git_metadata),
    ...(include.includes("project") && { project: { id: row.project_id, name: row.project_name } }),
    ...(progress !== undefined && { rollout: progress.get(row.id) ?? NO_ROLLOUT }),
    ...(row.created_by !== null && {
      createdBy: { ...row.created_by, name: row.created_by.name ?? row.created_by.email },
    }),
  });
}

const NO_ROLLOUT = { updatedCount: 0, pendingCount: 0, avgDurationMs: null };

type WordsCall = Pick<Call<(typeof releaseRoutes)["branches"]>, "db" | "principal" | "query">;

async function releasesNamed({ db, principal, query }: WordsCall) {
  const project = await optionalProject(db, principal, query.project);
  const all = releasesOf(db, principal);
  return project === undefined ? all : all.where("r.project_id", "=", project.id);
}

/** Branches, ordered by their latest release, newest first. */
export async function listBranches(call: WordsCall): Promise<string[]> {
  const { search, limit = 50 } = call.query;
  let found = (await releasesNamed(call)).where("r.branch", "is not", null);
  if (search !== undefined) found = found.where(contains("r.branch", search));
  const rows = await found
    .clearSelect()
    .select("r.branch")
    .groupBy("r.branch")
    .orderBy((eb) => eb.fn.max("r.created_at"), "desc")
    .orderBy("r.branch")
    .limit(limit)
    .execute();
  return rows.flatMap(({ branch }) => branch ?? []);
}

export interface Author {
  readonly login: string | null;
  readonly name: string | null;
  readonly avatarUrl: string | null;
}

/** Authors, distinct by login or else by name, with the data of their latest release. */
export async function listAuthors(call: WordsCall): Promise<Author[]> {
  const { search, limit = 50 } = call.query;
  // The prefixes keep the two kinds apart: a login may equal another author's name.
  const key = sql<string>`coalesce('login ' || ${git("commitAuthorLogin")}, 'name ' || ${git("commitAuthorName")})`;
  const authors = (await releasesNamed(call))
    .where(sql<SqlBool>`${key} is not null`)
    .clearSelect()
    .distinctOn(key)
    .select([
      git("commitAuthorLogin").as("login"),
      git("commitAuthorName").as("name"),
      git("commitAuthorAvatarUrl").as("avatarUrl"),
      "r.created_at as at",
    ])
    .orderBy(key)
    .orderBy("r.created_at", "desc")
    .orderBy("r.id", "desc");
  let found = call.db.selectFrom(authors.as("a")).select(["a.login", "a.name", "a.avatarUrl"]);
  if (search !== undefined)
    found = found.where((eb) => eb.or([contains("a.login", search), contains("a.name", search)]));
  return found.orderBy("a.at", "desc").limit(limit).execute();
}
