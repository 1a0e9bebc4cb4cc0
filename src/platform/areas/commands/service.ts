import type { Static } from "typebox";
import {
  COMMAND_PAYLOAD_MAX_BYTES,
  type CommandTarget,
  type commandRoutes,
} from "../../../contract/operations/commands.ts";
import { json } from "../../database/json.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import { actorOf, type Principal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { judged, kept } from "../../kernel/tenancy/stored-error.ts";
import { getDeployment } from "../deployments/read/get.ts";
import { requireHeard } from "../managers/record/store.ts";
import { requireCommandBudget } from "./command-budget.ts";
import { createCommand } from "./create.ts";
import { type Settlement, settle, settleIfExpired } from "./settle.ts";
import { allowedMoves, isTerminal } from "./states.ts";
import { asOf, claimOfPlans, findCommand, moveCommand } from "./store.ts";
import { commandTarget } from "./target.ts";

type Routes = typeof commandRoutes;
type Body<K extends "create" | "patch" | "complete"> = Static<Routes[K]["body"]>;
type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks">;
type Requesting = Context & Pick<Call, "budgets">;

const DAY_MS = 86_400_000;

/** The commands that the caller may see, over `commands` joined with `deployments`. */
export function visibleCommands(principal: Principal) {
  return visible(principal, {
    workspace: "commands.workspace_id",
    project: "commands.project_id",
    deployment: "commands.deployment_id",
    served: "deployments",
  });
}

/** The command as stored. @throws NOT_FOUND outside the caller's scope. */
async function getCommand({ db, principal }: Pick<Call, "db" | "principal">, id: string): Promise<CommandRow> {
  const row = await findCommand(db, id, visibleCommands(principal));
  if (row === undefined) throw notFound("command");
  return row;
}

/** §16.2. A repeat with the same idempotency key returns the first command. */
export async function requestCommand(
  call: Requesting,
  body: Body<"create">,
): Promise<{ readonly row: CommandRow; readonly isNew: boolean }> {
  const deployment = await getDeployment(call, body.deploymentId);
  if (deployment.status === "deleted") throw notFound("deployment");
  const deadline = body.deadline === undefined ? new Date(call.now.getTime() + DAY_MS) : new Date(body.deadline);
  if (deadline <= call.now) throw invalid({ path: "body.deadline", message: "must be in the future" });
  if (body.initialState === "PENDING_UPLOAD" && call.principal.role !== "manager.runtime") {
    throw new PlatformError("FORBIDDEN", {
      message: "only a manager may send `initialState`: `PENDING_UPLOAD`",
      context: { requiredRoles: ["manager.runtime"] },
    });
  }
  if (body.target === "operator") throw new PlatformError("RESERVED_TARGET");
  refuseLarge(body.params);
  await requireHeard(call, deployment.id);
  const target = commandTarget(deployment.stack_state && judged(deployment.stack_state), body.target);
  const earlier = await findRepeat(call, body, target);
  if (earlier !== undefined) return { row: earlier, isNew: false };
  await requireCommandBudget(call, deployment.id, body.params);
  const row = await createCommand(call, {
    deployment,
    name: body.name,
    params: body.params,
    target,
    deadline,
    invokedBy: actorOf(call.principal),
    state: body.initialState ?? "PENDING",
    ...(body.requestSizeBytes !== undefined && { requestSizeBytes: body.requestSizeBytes }),
    ...(body.idempotencyKey !== undefined && { idempotencyKey: body.idempotencyKey }),
  });
  return { row, isNew: true };
}

/** The idempotency key is unique for a deployment, target and name, for one day. */
function findRepeat({ db, now }: Context, body: Body<"create">, target: CommandTarget) {
  if (body.idempotencyKey === undefined) return undefined;
  return db
    .selectFrom("commands")
    .selectAll()
    .where("deployment_id", "=", body.deploymentId)
    .where("idempotency_key", "=", body.idempotencyKey)
    .where("name", "=", body.name)
    .where("target", "=", json(target))
    .where("created_at", ">", new Date(now.getTime() - DAY_MS))
    .executeTakeFirst();
}

function refuseLarge(payload: unknown): void {
  if (payload === undefined) return;
  // The canonical form only orders keys and normalises numbers, so JSON.stringify gives the same size.
  const sizeBytes = Buffer.byteLength(JSON.stringify(payload));
  if (sizeBytes > COMMAND_PAYLOAD_MAX_BYTES) {
    throw new PlatformError("PARAMS_TOO_LARGE", { context: { sizeBytes, maxBytes: COMMAND_PAYLOAD_MAX_BYTES } });
  }
}

/** True for only one caller: PENDING → DISPATCHED before the deadline (§16.3). */
export async function dispatch(call: Context, id: string, dispatchedAt: Date): Promise<boolean> {
  const row = await settleIfExpired(call, await getCommand(call, id));
  if (row.state !== "PENDING") return false;
  const moved = await moveCommand(call.db, id, ["PENDING"], { state: "DISPATCHED", dispatched_at: dispatchedAt });
  return moved !== undefined;
}

interface Completion {
  /** True for the first terminal write. False for every late, repeated or disallowed one. */
  readonly updated: boolean;
  /** The next command of the plan, when the caller asked for it and there is one. */
  readonly claimed: readonly CommandRow[];
}

/** @param claimAt claims the plan's next command for the caller in the same transaction. */
export async function complete(
  call: Context,
  id: string,
  body: Body<"complete">,
  claimAt: string | undefined,
): Promise<Completion> {
  refuseLarge(body.result);
  const row = await settleIfExpired(call, await getCommand(call, id));
  if (!allowedMoves(row.state).includes(body.state)) return { updated: false, claimed: [] };
  const result = body.result === undefined ? null : JSON.stringify(body.result);
  const end: Settlement = {
    state: body.state,
    completedAt: new Date(body.completedAt),
    error: body.error ?? null,
    responseSizeBytes: body.responseSizeBytes ?? (result === null ? null : Buffer.byteLength(result)),
    result,
  };
  const updated = (await settle(call, row, end)) !== undefined;
  if (!updated || claimAt === undefined || row.access_request_id === null) return { updated, claimed: [] };
  return { updated, claimed: await claimOfPlans(call.db, [row.access_request_id], new Date(claimAt)) };
}

/** @throws COMMAND_EXPIRED after the deadline, INVALID_STATE_TRANSITION for a disallowed move. */
export async function patch(call: Context, id: string, body: Body<"patch">): Promise<CommandRow> {
  const stored = await getCommand(call, id);
  const row = asOf(stored, call.now);
  const to = body.state;
  const late = row.deadline !== null && call.now >= row.deadline;
  if (late && (row.state === "EXPIRED" || to === "PENDING")) throw new PlatformError("COMMAND_EXPIRED");
  const allowed = allowedMoves(row.state);
  if (to === undefined ? isTerminal(row.state) : !allowed.includes(to)) {
    throw invalidTransition(row.state, to ?? row.state, allowed);
  }
  const fields = {
    ...(body.attempt !== undefined && { attempt: body.attempt }),
    ...(body.dispatchedAt !== undefined && { dispatched_at: instant(body.dispatchedAt) }),
    ...(body.completedAt !== undefined && { completed_at: instant(body.completedAt) }),
    ...(body.responseSizeBytes !== undefined && { response_size_bytes: body.responseSizeBytes }),
    ...(body.error !== undefined && { error: body.error === null ? null : json(kept(body.error)) }),
  };
  const changed = Object.keys(fields).length === 0 ? row : await moveOrLose(call, row, fields);
  if (to === undefined) return changed;
  if (isTerminal(to)) {
    const ended = await settle(call, changed, { state: to, completedAt: changed.completed_at ?? call.now });
    return ended ?? Promise.reject(new PlatformError("CONFLICT"));
  }
  const dispatched_at = to === "DISPATCHED" ? (instant(body.dispatchedAt) ?? call.now) : null;
  const moved = await moveOrLose(call, changed, { state: to, dispatched_at });
  if (to === "PENDING") await call.raise("commands", row.deployment_id);
  return moved;
}

async function moveOrLose(call: Context, row: CommandRow, set: Parameters<typeof moveCommand>[3]): Promise<CommandRow> {
  const moved = await moveCommand(call.db, row.id, [row.state], set);
  if (moved === undefined) throw new PlatformError("CONFLICT");
  return moved;
}

export async function incrementAttempt(call: Context, id: string): Promise<number> {
  const row = await getCommand(call, id);
  const now = asOf(row, call.now);
  if (isTerminal(now.state)) throw invalidTransition(now.state, now.state, []);
  const moved = await moveOrLose(call, row, { attempt: (row.attempt ?? 0) + 1 });
  return moved.attempt ?? 1;
}

function instant(text: string | null | undefined): Date | null {
  return text == null ? null : new Date(text);
}
