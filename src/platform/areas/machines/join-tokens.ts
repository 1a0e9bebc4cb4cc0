import { joinStringOf } from "../../../contract/machines/join-string.ts";
import type { JoinToken, NewJoinToken } from "../../../contract/machines/machines.ts";
import { isTypedWord } from "../../../contract/wire/pasted-line.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { JoinTokenRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { ALPHANUMERIC, LOWER_ALPHANUMERIC, randomText } from "../../kernel/ids.ts";
import { hashOf, matchesHash } from "../../kernel/secret-hash.ts";
import { requireFleet } from "./fleet.ts";
import { doorOf } from "./join-server.ts";
import { revokeJoinTokens } from "./revoke.ts";
import { clusterOf, toToken } from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now" | "raise"> & Pick<Call, "budgets">;

/** `spj_<id 16>.<secret 32>` (§10.2). */
const FORMAT = /^spj_([0-9a-z]{16})\.[0-9A-Za-z]{32}$/;
const DEFAULT_SECONDS = 3600;
const DEFAULT_JOINS = 10;

export interface TokenOptions {
  readonly expiresInSeconds?: number;
  readonly maxJoins?: number;
}

export async function listTokens(call: Context, id: string): Promise<JoinToken[]> {
  const { id: deploymentId } = await requireFleet(call, id);
  const rows = await tokensOf(call, deploymentId).orderBy("created_at", "desc").orderBy("id", "desc").execute();
  return rows.map(toToken);
}

function tokensOf({ db }: Pick<Call, "db">, deploymentId: string) {
  return db.selectFrom("join_tokens").selectAll().where("deployment_id", "=", deploymentId);
}

export async function createToken(call: Context, id: string, options: TokenOptions): Promise<NewJoinToken> {
  const deployment = await requireFleet(call, id);
  await requireTokenBudget(call, id);
  return mint(call, deployment, options);
}

/** Checks the budget for one more token. A revoked token in its grace period counts. */
async function requireTokenBudget(call: Context, deploymentId: string): Promise<void> {
  const { db, now, budgets } = call;
  const { live } = await db
    .selectFrom("join_tokens")
    .select((eb) => eb.fn.countAll<number>().as("live"))
    .where("deployment_id", "=", deploymentId)
    .where((eb) => eb.or([eb("revoked_at", "is", null), eb("revoked_at", ">", now)]))
    .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", now)]))
    .where((eb) => eb.or([eb("max_joins", "is", null), eb("join_count", "<", eb.ref("max_joins"))]))
    .executeTakeFirstOrThrow();
  budgets.require("deployment-join-tokens", deploymentId, Number(live) + 1);
}

/**
 * Revokes all tokens and mints a new one. With a grace period the old ones work until its end, but never longer than
 * before.
 */
export async function rotateTokens(
  call: Context,
  id: string,
  options: TokenOptions & { readonly graceSeconds?: number },
): Promise<NewJoinToken> {
  const deployment = await requireFleet(call, id);
  await revokeJoinTokens(call.db, id, new Date(call.now.getTime() + (options.graceSeconds ?? 0) * 1000));
  await requireTokenBudget(call, id);
  await call.raise("machines", id);
  return mint(call, deployment, options);
}

export async function revokeToken(call: Context, id: string, tokenId: string): Promise<void> {
  const { id: deploymentId } = await requireFleet(call, id);
  const row = await tokensOf(call, deploymentId).where("id", "=", tokenId).executeTakeFirst();
  if (row === undefined) throw notFound("join token");
  if (row.revoked_at !== null && row.revoked_at <= call.now) return;
  await call.db.updateTable("join_tokens").set({ revoked_at: call.now }).where("id", "=", row.id).execute();
  await call.raise("machines", deploymentId);
}

async function mint(call: Context, deployment: DeploymentRow, options: TokenOptions): Promise<NewJoinToken> {
  const { db, now, principal } = call;
  const cluster = await clusterOf(db, deployment.id);
  const door = await doorOf(call, deployment, cluster);
  const id = randomText(16, LOWER_ALPHANUMERIC);
  const joinToken = `spj_${id}.${randomText(32, ALPHANUMERIC)}`;
  const expiresAt = new Date(now.getTime() + (options.expiresInSeconds ?? DEFAULT_SECONDS) * 1000);
  const row: JoinTokenRow = {
    id,
    deployment_id: deployment.id,
    secret_hash: hashOf(joinToken),
    created_by: principal.id,
    created_at: now,
    expires_at: expiresAt,
    max_joins: options.maxJoins ?? DEFAULT_JOINS,
    join_count: 0,
    last_used_at: null,
    revoked_at: null,
  };
  await db.insertInto("join_tokens").values(row).execute();
  const cliCommandName = await commandName(call, deployment.project_id);
  const clusterId = cluster.cluster_id;
  const joinString = stringOf(joinToken, door, clusterId, expiresAt);
  return { joinToken, ...door, clusterId, joinString, token: toToken(row), cliInstallScriptUrl: null, cliCommandName };
}

/** Null without a pin: a machine sends its token to no server that it cannot know. */
function stringOf(
  token: string,
  { controlPlaneUrl: url, controlPlanePin: pin }: Pick<NewJoinToken, "controlPlaneUrl" | "controlPlanePin">,
  clusterId: string,
  expiresAt: Date,
): string | null {
  return pin === null
    ? null
    : joinStringOf({ token, url, clusterId, pin, exp: Math.floor(expiresAt.getTime() / 1000) });
}

/** The command name of the project's newest ready CLI package, if it is easy to type. */
async function commandName({ db }: Context, projectId: string): Promise<string | null> {
  const found = await db
    .selectFrom("packages")
    .select("config")
    .where("project_id", "=", projectId)
    .where("type", "=", "cli")
    .where("status", "=", "ready")
    .orderBy("number", "desc")
    .limit(1)
    .executeTakeFirst();
  const name = found?.config.type === "cli" ? found.config.name : "";
  return isTypedWord(name) ? name : null;
}

/** The token that a machine presents, in any state; undefined unless exactly this token was minted. */
export async function presentedToken({ db }: Pick<Call, "db">, text: string): Promise<JoinTokenRow | undefined> {
  const id = FORMAT.exec(text)?.[1];
  const row = await db
    .selectFrom("join_tokens")
    .selectAll()
    .where("id", "=", id ?? "")
    .executeTakeFirst();
  return matchesHash(text, row?.secret_hash) ? row : undefined;
}

export type Refusal = "JOIN_TOKEN_REVOKED" | "JOIN_TOKEN_EXPIRED" | "JOIN_TOKEN_EXHAUSTED";

/** Why a token does not admit a machine at `now`, in the order of §18.1; undefined while it is valid. Pure. */
export function refusal(
  token: Pick<JoinTokenRow, "revoked_at" | "expires_at" | "max_joins" | "join_count">,
  now: Date,
): Refusal | undefined {
  if (token.revoked_at !== null && now >= token.revoked_at) return "JOIN_TOKEN_REVOKED";
  if (token.expires_at !== null && now >= token.expires_at) return "JOIN_TOKEN_EXPIRED";
  if (token.max_joins !== null && token.join_count >= token.max_joins) return "JOIN_TOKEN_EXHAUSTED";
  return undefined;
}
