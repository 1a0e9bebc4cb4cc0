import { sql } from "kysely";
import type { Static } from "typebox";
import { dataProblems } from "../../../base/data-problems.ts";
import { MAX_STACK_BYTES, type Stack, type Stacks } from "../../../contract/deployments/stack.ts";
import { PRODUCTION } from "../../../contract/releases/release-channels.ts";
import type { NewRelease, releaseRoutes } from "../../../contract/releases/releases.ts";
import { stackProblems } from "../../../contract/stacks/stack-problems.ts";
import { PLATFORMS } from "../../../contract/wire/schema.ts";
import { PatternJudge } from "../../../plugins/stranger-pattern.ts";
import { json } from "../../database/json.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import { type Issue, invalid, notFound, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { User } from "../../kernel/tenancy/principal.ts";
import { requireProject } from "../../kernel/tenancy/project-ref.ts";
import { branchOf, toGitMetadata } from "./git.ts";
import { pointChannel } from "./promote.ts";
import { fingerprintOf } from "./record/fingerprint.ts";
import { findChannelRow } from "./record/store.ts";

type Body = Static<(typeof releaseRoutes)["create"]["body"]>;
type Context = Pick<
  Call,
  "db" | "now" | "principal" | "workspaceId" | "emit" | "raise" | "hooks" | "wake" | "config" | "budgets"
>;

/** §5.1. The first release of a project is promoted to production automatically. */
export async function createRelease(call: Context, body: Body): Promise<ReleaseRow> {
  const issues = stackIssues(body.stack);
  if (issues.length > 0) throw invalid(...issues);
  const project = await requireProject(call.db, call.principal, body.project);
  const { count } = await call.db
    .selectFrom("releases")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("project_id", "=", project.id)
    .executeTakeFirstOrThrow();
  call.budgets.require("project-releases", project.id, Number(count) + 1);
  const isFirst = Number(count) === 0;
  const version = body.version ?? (await freeVersion(call, project.id, Number(count) + 1));
  if (body.version !== undefined && (await isTaken(call, project.id, version))) throw new PlatformError("NAME_TAKEN");
  const row = await insert(call, { id: project.id, workspaceId: project.workspaceId }, version, body);
  await requireReleaseBytes(call, project.id);
  await call.emit({
    type: "CreatingRelease",
    projectId: project.id,
    releaseId: row.id,
    data: { project: project.name },
    state: "success",
  });
  const channels = [...(body.channel === undefined ? [] : [body.channel]), ...(isFirst ? [PRODUCTION] : [])];
  for (const name of new Set(channels)) {
    const channel = await findChannelRow(call.db, project.id, name);
    if (channel === undefined) throw notFound("release channel");
    await pointChannel(call, channel, row);
  }
  return row;
}

/** Counted with the new one. @throws BUDGET_EXCEEDED */
async function requireReleaseBytes({ db, budgets }: Context, projectId: string): Promise<void> {
  const { bytes } = await db
    .selectFrom("releases")
    // What a row takes on the disk, which is read without the stack itself.
    .select(sql<number>`coalesce(sum(pg_column_size(stack)), 0)::float8`.as("bytes"))
    .where("project_id", "=", projectId)
    .executeTakeFirstOrThrow();
  budgets.require("project-release-bytes", projectId, bytes);
}

/** Checks what the schema cannot express about stacks. */
function stackIssues(stacks: Body["stack"]): readonly Issue[] {
  if (stacks === undefined) return [];
  const given = PLATFORMS.flatMap((platform) => {
    const stack = stacks[platform];
    return stack == null ? [] : [{ platform, stack }];
  });
  if (given.length === 0) return [{ path: "body.stack", message: "needs a stack for at least one platform" }];
  const judge = new PatternJudge();
  const issues = given.flatMap(({ platform, stack }) => {
    const path = `body.stack.${platform}`;
    const size = Buffer.byteLength(JSON.stringify(stack));
    const large = size > MAX_STACK_BYTES ? [{ path, message: `is larger than ${MAX_STACK_BYTES} bytes` }] : [];
    return [...large, ...inputIssues(`${path}.inputs`, stack, judge)];
  });
  return [...issues, ...kubernetesIssues(stacks.kubernetes)];
}

/** What is rendered in a customer's cluster is refused here, while its author looks at it (§5.5). */
function kubernetesIssues(stack: NonNullable<Body["stack"]>["kubernetes"]): readonly Issue[] {
  if (stack == null) return [];
  const unshown = dataProblems(stack).map(({ path, message }) => ({ path: path.join("."), message }));
  return [...stackProblems(stack), ...unshown].map(({ path, message }) => ({
    path: `body.stack.kubernetes.${path}`,
    message,
  }));
}

/**
 * Refuses duplicate input ids and unusable patterns, which would otherwise fail only when a customer fills in the form.
 */
function inputIssues(path: string, { inputs = [] }: Stack, judge: PatternJudge): readonly Issue[] {
  const seen = new Set<string>();
  return inputs.flatMap(({ id, validation }, index) => {
    const twice = seen.has(id) ? [{ path: `${path}.${index}.id`, message: "is given twice" }] : [];
    seen.add(id);
    const pattern = validation?.pattern;
    const fault = pattern == null ? undefined : judge.fault(pattern);
    return fault === undefined ? twice : [...twice, { path: `${path}.${index}.validation.pattern`, message: fault }];
  });
}

async function isTaken({ db }: Context, projectId: string, version: string): Promise<boolean> {
  const found = await db
    .selectFrom("releases")
    .select("id")
    .where("project_id", "=", projectId)
    .where("version", "=", version)
    .executeTakeFirst();
  return found !== undefined;
}

/** `0.0.<n>`, where n counts releases: the next one that is not taken by a version given in a request. */
async function freeVersion(call: Context, projectId: string, count: number): Promise<string> {
  for (let n = count; ; n += 1) {
    const version = `0.0.${n}`;
    if (!(await isTaken(call, projectId, version))) return version;
  }
}

function insert(
  { db, now, principal }: Context,
  project: { readonly id: string; readonly workspaceId: string },
  version: string,
  body: Body,
): Promise<ReleaseRow> {
  const git = body.gitMetadata == null ? null : toGitMetadata(body.gitMetadata);
  const stacks: Stacks = { ...NO_STACKS, ...body.stack };
  const fingerprints = PLATFORMS.flatMap((platform) => {
    const stack = body.stack?.[platform];
    return stack == null ? [] : [[platform, fingerprintOf(platform, stack)] as const];
  });
  return db
    .insertInto("releases")
    .values({
      id: newId("rel"),
      workspace_id: project.workspaceId,
      project_id: project.id,
      version,
      git_metadata: git === null ? null : json(git),
      stack: json(stacks),
      setup_fingerprints: json(Object.fromEntries(fingerprints)),
      root_directory: body.rootDirectory ?? null,
      branch: git?.commitRef == null ? null : branchOf(git.commitRef),
      created_by: principal.kind === "user" ? json(creatorOf(principal)) : null,
      created_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

function creatorOf({ id, name, email, image }: User): NonNullable<ReleaseRow["created_by"]> {
  return { id, name, email, image };
}

/** A record lists all seven platforms, whichever were given. */
const NO_STACKS = Object.fromEntries(PLATFORMS.map((platform) => [platform, null])) as Stacks;

export function toNewRelease(row: ReleaseRow): NewRelease {
  return {
    id: row.id,
    projectId: row.project_id,
    workspaceId: row.workspace_id,
    version: row.version,
    gitMetadata: row.git_metadata,
    stack: { ...NO_STACKS, ...row.stack },
    setupFingerprints: row.setup_fingerprints,
    rootDirectory: row.root_directory,
    createdByUserId: row.created_by?.id ?? null,
    createdAt: row.created_at.toISOString(),
  };
}
