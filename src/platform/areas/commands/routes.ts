import type { Static } from "typebox";
import type { Command, commandRoutes } from "../../../contract/operations/commands.ts";
import type { Role } from "../../../contract/wire/roles.ts";
import { contains } from "../../database/contains.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import { type Call, type Handlers, reply } from "../../kernel/call/call.ts";
import { paged, readPage } from "../../kernel/call/page.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { getDeployment } from "../deployments/read/get.ts";
import { payloadOf, toClaimed, toCommand } from "./record.ts";
import { complete, dispatch, incrementAttempt, patch, requestCommand, visibleCommands } from "./service.ts";
import { asOf, stateIn, WITHOUT_PAYLOAD } from "./store.ts";

type Routes = typeof commandRoutes;
type Include = NonNullable<Static<Routes["get"]["query"]>["include"]>;

export const handlers: Handlers<Routes> = {
  list,
  create,
  get,
  patch: async (call) => toCommand(asOf(await patch(call, call.params.id, call.body), call.now), call.principal),
  dispatch: async (call) => ({
    updated: await dispatch(call, call.params.id, new Date(call.body.dispatchedAt)),
  }),
  async complete(call) {
    const { claimAt, ...end } = call.body;
    const { updated, claimed } = await complete(call, call.params.id, end, claimAt);
    return { updated, ...(claimAt !== undefined && { claimed: claimed.map((row) => toClaimed(row, call.principal)) }) };
  },
  incrementAttempt: async (call) => ({ attempt: await incrementAttempt(call, call.params.id) }),
};

async function create(call: Call<Routes["create"]>) {
  const { row, isNew } = await requestCommand(call, call.body);
  return reply(isNew ? 201 : 200, {
    id: row.id,
    projectId: row.project_id,
    deploymentModel: row.deployment_model,
    ...(row.target !== null && { target: row.target }),
    deliveryMode: row.deployment_model,
  });
}

async function list(call: Call<Routes["list"]>): Promise<{ items: Command[]; nextCursor: string | null }> {
  const { principal, query, page, now } = call;
  const include = query.include ?? [];
  checkPayload(principal, include);
  let found = commandsFor(call);
  const project = await optionalProject(call.db, principal, query.project);
  if (project !== undefined) found = found.where("commands.project_id", "=", project.id);
  if (query.managerId !== undefined) {
    refuseOtherManager(principal, query.managerId);
    found = found.where("deployments.manager_id", "=", query.managerId);
  }
  if (query.deploymentId !== undefined) {
    await getDeployment(call, query.deploymentId);
    found = found.where("commands.deployment_id", "=", query.deploymentId);
  }
  if (query.state !== undefined) found = found.where(stateIn(query.state, now));
  if (query.name !== undefined) found = found.where("commands.name", "=", query.name);
  const { search, createdAfter, createdBefore } = query;
  if (search !== undefined) {
    found = found.where((eb) => eb.or([contains("commands.name", search), eb("commands.id", "=", search)]));
  }
  if (createdAfter !== undefined) found = found.where("commands.created_at", ">=", new Date(createdAfter));
  if (createdBefore !== undefined) found = found.where("commands.created_at", "<", new Date(createdBefore));
  const inOrder = found.$call(paged(page, "commands.created_at", "commands.id", query.order ?? "desc"));
  const read = inOrder
    .clearSelect()
    .select(WITHOUT_PAYLOAD.map((column) => `commands.${column}` as const))
    .select(["deployments.name as deployment_name", "projects.name as project_name"])
    .$if(include.includes("payload"), (all) => all.select(["commands.params", "commands.result"]));
  return readPage(
    page,
    read,
    (row) => ({ at: row.created_at, id: row.id }),
    (rows) =>
      rows.map(({ params = null, result = null, ...row }) =>
        withDetails({ ...row, params, result }, principal, now, include),
      ),
  );
}

async function get(call: Call<Routes["get"]>): Promise<Command> {
  const include = call.query.include ?? [];
  checkPayload(call.principal, include);
  const row = await commandsFor(call).where("commands.id", "=", call.params.id).executeTakeFirst();
  if (row === undefined) throw notFound("command");
  return withDetails(row, call.principal, call.now, include);
}

function commandsFor({ db, principal }: Pick<Call, "db" | "principal">) {
  return db
    .selectFrom("commands")
    .innerJoin("deployments", "deployments.id", "commands.deployment_id")
    .innerJoin("projects", "projects.id", "commands.project_id")
    .selectAll("commands")
    .select(["deployments.name as deployment_name", "projects.name as project_name"])
    .where(visibleCommands(principal));
}

const PAYLOAD_READERS: readonly Role[] = [
  "manager.runtime",
  "workspace.member",
  "workspace.admin",
  "project.developer",
];

/** Params and results may contain what only callers that could run the command may read (§16.1). */
function checkPayload({ role }: Principal, include: Include): void {
  if (include.includes("payload") && !PAYLOAD_READERS.includes(role)) {
    throw new PlatformError("FORBIDDEN", {
      message: "this role may read commands, but not with `include=payload`",
      context: { requiredRoles: PAYLOAD_READERS },
    });
  }
}

function refuseOtherManager(principal: Principal, managerId: string): void {
  const scope = principal.kind === "serviceAccount" ? principal.scope : undefined;
  if (scope?.type === "manager" && scope.managerId !== managerId) throw notFound("manager");
}

type JoinedRow = CommandRow & { readonly deployment_name: string; readonly project_name: string };

function withDetails(row: JoinedRow, principal: Principal, now: Date, include: Include): Command {
  return {
    ...toCommand(asOf(row, now), principal),
    ...(include.includes("deployment") && { deployment: { id: row.deployment_id, name: row.deployment_name } }),
    ...(include.includes("project") && { project: { id: row.project_id, name: row.project_name } }),
    ...(include.includes("payload") && payloadOf(row)),
  };
}
