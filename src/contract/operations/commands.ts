import Type, { type Static } from "typebox";
import { AcceptedStale } from "../resources/stale-state.ts";
import { Actor } from "../wire/actor.ts";
import { MANAGER, READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  AccessRequestId,
  BoundedByRoute,
  CommandId,
  DeploymentId,
  ManagerId,
  Maybe,
  Nullable,
  Page,
  ProjectId,
  ProjectRef,
  pageQuery,
  Strict,
  Timestamp,
  WordList,
  Words,
  WorkspaceId,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";

/** §16.3. The last three are terminal: the first one wins. */
export const COMMAND_STATES = ["PENDING_UPLOAD", "PENDING", "DISPATCHED", "SUCCEEDED", "FAILED", "EXPIRED"] as const;
export type CommandState = (typeof COMMAND_STATES)[number];
export const TERMINAL_COMMAND_STATES = ["SUCCEEDED", "FAILED", "EXPIRED"] as const satisfies readonly CommandState[];
export type TerminalCommandState = (typeof TERMINAL_COMMAND_STATES)[number];

/** Largest params and result, each, in bytes of canonical JSON (§0.9). */
export const COMMAND_PAYLOAD_MAX_BYTES = 150_000;

/** What can be the target of a command: a stack resource, or the reserved `operator` (a `daemon`). */
export const CommandTarget = Strict({
  resourceId: Type.String(),
  resourceType: Words(["worker", "container", "daemon"]),
});
export type CommandTarget = Static<typeof CommandTarget>;

const deploymentModel = Words(["push", "pull"]);
const byteCount = Type.Integer({ minimum: 0 });
const named = (id: Type.TString) => Type.Optional(Strict({ id, name: Type.String() }));

export const Command = Strict({
  id: CommandId,
  deploymentId: DeploymentId,
  projectId: ProjectId,
  workspaceId: WorkspaceId,
  name: Type.String(),
  state: Words(COMMAND_STATES),
  deploymentModel,
  target: Nullable(CommandTarget),
  attempt: Nullable(Type.Integer({ minimum: 1 })),
  deadline: Nullable(Timestamp),
  requestSizeBytes: Nullable(byteCount),
  responseSizeBytes: Nullable(byteCount),
  createdAt: Timestamp,
  dispatchedAt: Nullable(Timestamp),
  completedAt: Nullable(Timestamp),
  error: Nullable(StoredError),
  accessRequestId: Nullable(AccessRequestId),
  planIndex: Nullable(Type.Integer({ minimum: 0 })),
  invokedBy: Nullable(Actor),
  acceptedStale: AcceptedStale,
  deployment: named(DeploymentId),
  project: named(ProjectId),
  params: Type.Optional(Type.Unknown({ description: "Only with include=payload." })),
  result: Type.Optional(Type.Unknown({ description: "Only with include=payload; null until there is one." })),
});
export type Command = Static<typeof Command>;

/**
 * A report with this field also claims the commands that it makes. The agent saves a listing and a `dispatch` for each.
 */
export const claim = {
  body: {
    claimAt: Type.Optional(
      Type.String({
        format: "date-time",
        description: "Claims the commands that this report makes, as `dispatch` does with this as `dispatchedAt`.",
      }),
    ),
  },
  response: {
    claimed: Type.Optional(
      Type.Array(Command, {
        description:
          "Only with `claimAt`: the commands that this very call claimed, with their params. A repeat has none.",
      }),
    ),
  },
};

const CommandRef = Strict({ id: CommandId });
const include = Type.Optional(WordList(["deployment", "project", "payload"]));
const READ = [...READERS, "deployment.viewer", "deployment.manager", "manager.runtime"] as const;

export const commandRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/commands",
    summary: "Lists commands, newest first unless `order` is asc.",
    roles: READ,
    query: Type.Object({
      project: Type.Optional(ProjectRef),
      deploymentId: Type.Optional(DeploymentId),
      managerId: Type.Optional(ManagerId),
      state: Type.Optional(WordList(COMMAND_STATES)),
      name: Type.Optional(Type.String({ maxLength: 255 })),
      search: Type.Optional(Type.String({ maxLength: 256, description: "Id or part of the name." })),
      createdAfter: Type.Optional(Timestamp),
      createdBefore: Type.Optional(Timestamp),
      include,
      order: Type.Optional(Words(["asc", "desc"])),
      ...pageQuery,
    }),
    success: 200,
    response: Page(Command),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/commands",
    summary: "Sends a command to a resource of a deployment.",
    roles: [...WRITERS, "manager.runtime"],
    body: Strict({
      deploymentId: DeploymentId,
      name: Type.String({ minLength: 1, maxLength: 255, pattern: "^[^:]*$" }),
      params: Type.Optional(BoundedByRoute(Type.Unknown())),
      target: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "Resource id." })),
      deadline: Type.Optional(Timestamp),
      initialState: Type.Optional(Words(["PENDING", "PENDING_UPLOAD"])),
      requestSizeBytes: Type.Optional(Type.Integer({ exclusiveMinimum: 0 })),
      idempotencyKey: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    }),
    success: 201,
    alternative: 200,
    response: Strict({
      id: CommandId,
      projectId: ProjectId,
      deploymentModel,
      target: Type.Optional(CommandTarget),
      deliveryMode: Words(["pull", "push"]),
    }),
    errors: [
      "NOT_FOUND",
      "DEPLOYMENT_HAS_NO_MANAGER",
      "RESERVED_TARGET",
      "COMMAND_TARGET_AMBIGUOUS",
      "NO_COMMAND_TARGETS",
      "PARAMS_TOO_LARGE",
      "MANAGER_UNAVAILABLE",
      "BUDGET_EXCEEDED",
    ],
    repeat: "none",
  },
  get: {
    method: "GET",
    path: "/v1/commands/{id}",
    summary: "Reads one command.",
    roles: READ,
    params: CommandRef,
    query: Type.Object({ include }),
    success: 200,
    response: Command,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  patch: {
    method: "PATCH",
    path: "/v1/commands/{id}",
    summary: "Moves a command's state, as its runner sees it.",
    roles: MANAGER,
    params: CommandRef,
    body: Strict({
      state: Type.Optional(Words(COMMAND_STATES)),
      attempt: Type.Optional(Type.Integer({ minimum: 1 })),
      dispatchedAt: Maybe(Timestamp),
      completedAt: Maybe(Timestamp),
      responseSizeBytes: Maybe(byteCount),
      error: Maybe(StoredError),
    }),
    success: 200,
    response: Command,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION", "COMMAND_EXPIRED"],
    repeat: "state",
  },
  dispatch: {
    method: "POST",
    path: "/v1/commands/{id}/dispatch",
    summary: "Claims a pending command: of any number of callers one gets `updated` true.",
    roles: MANAGER,
    params: CommandRef,
    body: Strict({ dispatchedAt: Timestamp }),
    success: 200,
    response: Strict({ updated: Type.Boolean() }),
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  complete: {
    method: "POST",
    path: "/v1/commands/{id}/complete",
    summary: "Reports a command's end; the first report wins.",
    roles: MANAGER,
    params: CommandRef,
    body: Strict({
      state: Words(TERMINAL_COMMAND_STATES),
      completedAt: Timestamp,
      responseSizeBytes: Maybe(byteCount),
      error: Maybe(StoredError),
      result: Type.Optional(BoundedByRoute(Type.Unknown())),
      ...claim.body,
    }),
    success: 200,
    response: Strict({ updated: Type.Boolean(), ...claim.response }),
    errors: ["NOT_FOUND", "PARAMS_TOO_LARGE"],
    repeat: "natural",
  },
  incrementAttempt: {
    method: "POST",
    path: "/v1/commands/{id}/increment-attempt",
    summary: "Counts one more delivery of a command.",
    roles: MANAGER,
    params: CommandRef,
    success: 200,
    response: Strict({ attempt: Type.Integer({ minimum: 1 }) }),
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "none",
  },
});
