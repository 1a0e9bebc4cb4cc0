import Type, { type Static } from "typebox";
import { MANAGER, READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  Bounded,
  DeploymentId,
  ManagerId,
  Nullable,
  SMALL_DOCUMENT_BYTES,
  Strict,
  Timestamp,
  Words,
} from "../wire/schema.ts";
import { CLUSTER_ID, JOIN_URL, KEY_PIN } from "./join-string.ts";
import { Machine, MachineId, MachineReport } from "./machine.ts";

const ClusterId = Type.String({ pattern: CLUSTER_ID });

export const JoinToken = Strict({
  id: Type.String({ pattern: "^[0-9a-z]{16}$" }),
  createdAt: Timestamp,
  createdBy: Type.String(),
  expiresAt: Nullable(Timestamp),
  maxJoins: Nullable(Type.Integer({ minimum: 1 })),
  joinCount: Type.Integer({ minimum: 0 }),
  lastUsedAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
});
export type JoinToken = Static<typeof JoinToken>;

const NewJoinToken = Strict({
  joinToken: Type.String(),
  controlPlaneUrl: Type.String({ description: "Where machines knock." }),
  controlPlanePin: Nullable(
    Type.String({ description: "The join server's key, as curl's --pinnedpubkey takes it. Null: none was reported." }),
  ),
  joinString: Nullable(
    Type.String({ description: "All that a machine needs, secret included, in one word. Null without a pin." }),
  ),
  clusterId: ClusterId,
  token: JoinToken,
  cliInstallScriptUrl: Nullable(Type.String({ description: "Null: no package says where an installer of it lies." })),
  cliCommandName: Nullable(Type.String({ description: "Null: no command-line package is ready." })),
});
export type NewJoinToken = Static<typeof NewJoinToken>;

const ReportedJoinServer = Strict({
  url: Type.String(),
  pins: Type.Array(Type.String()),
  apiServerVersion: Nullable(Type.String()),
  reportedAt: Timestamp,
  stale: Type.Boolean({ description: "Nothing was heard of it for more than 180 s: no token can be made." }),
});
export type ReportedJoinServer = Static<typeof ReportedJoinServer>;

const tokenOptions = {
  expiresInSeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 604_800, default: 3600 })),
  maxJoins: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 10 })),
};
const params = Type.Object({ id: DeploymentId });
/** Longer than the id of any machine, so that the platform answers 404 to an unknown id, and not 400. */
const machineId = Type.String({ minLength: 1, maxLength: 128 });
const ofMachine = Type.Object({ id: DeploymentId, machineId });
const errors = ["NOT_FOUND", "MACHINES_DEPLOYMENT_UNAVAILABLE"] as const;

export const machineRoutes = routes({
  listTokens: {
    method: "GET",
    path: "/v1/machines/deployments/{id}/join-tokens",
    summary: "Lists a deployment's join tokens, newest first; never their secrets.",
    roles: WRITERS,
    params,
    success: 200,
    response: Strict({ tokens: Type.Array(JoinToken) }),
    errors,
    repeat: "safe",
  },
  createToken: {
    method: "POST",
    path: "/v1/machines/deployments/{id}/join-tokens",
    summary: "Makes a token with which machines may join; earlier ones keep working.",
    roles: WRITERS,
    params,
    body: Strict(tokenOptions),
    bodyOptional: true,
    success: 200,
    response: NewJoinToken,
    errors: [...errors, "DEPLOYMENT_HAS_NO_MANAGER", "MANAGER_NOT_READY"],
    repeat: "none",
    secret: true,
  },
  rotateTokens: {
    method: "POST",
    path: "/v1/machines/deployments/{id}/join-tokens/rotate",
    summary: "Revokes all join tokens of a deployment and makes one new one.",
    roles: WRITERS,
    params,
    body: Strict({
      ...tokenOptions,
      graceSeconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 3600, default: 0, description: "How long the old ones still work." }),
      ),
    }),
    bodyOptional: true,
    success: 200,
    response: NewJoinToken,
    errors: [...errors, "DEPLOYMENT_HAS_NO_MANAGER", "MANAGER_NOT_READY"],
    repeat: "none",
    secret: true,
  },
  revokeToken: {
    method: "DELETE",
    path: "/v1/machines/deployments/{id}/join-tokens/{tokenId}",
    summary: "Revokes one join token; machines that joined with it stay.",
    roles: WRITERS,
    params: Type.Object({ id: DeploymentId, tokenId: Type.String({ minLength: 1, maxLength: 128 }) }),
    success: 200,
    response: Strict({ tokenId: Type.String(), revoked: Type.Boolean() }),
    errors,
    repeat: "natural",
  },
  inventory: {
    method: "GET",
    path: "/v1/machines/deployments/{id}/inventory",
    summary: "Lists a deployment's machines by id, without removed ones, and says where new ones join.",
    roles: [...READERS, "deployment.viewer", "deployment.manager", "manager.runtime"],
    params,
    success: 200,
    response: Strict({
      machines: Type.Array(Machine),
      joinServer: Nullable(ReportedJoinServer),
    }),
    errors,
    repeat: "safe",
  },
  drain: {
    method: "POST",
    path: "/v1/machines/deployments/{id}/machines/{machineId}/drain",
    summary: "Asks for a machine to be emptied; a second request can only hasten it.",
    roles: WRITERS,
    params: ofMachine,
    body: Strict({
      deadlineSeconds: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 86_400 }))),
      force: Type.Optional(Type.Boolean({ description: "At the deadline, delete what is left." })),
    }),
    bodyOptional: true,
    success: 200,
    response: Strict({ machineId: Type.String(), requested: Type.Boolean() }),
    errors: [...errors, "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
  cancelDrain: {
    method: "DELETE",
    path: "/v1/machines/deployments/{id}/machines/{machineId}/drain",
    summary: "Cancels a drain; the machine takes work again.",
    roles: WRITERS,
    params: ofMachine,
    success: 200,
    response: Strict({ machineId: Type.String(), cancelled: Type.Boolean() }),
    errors: [...errors, "INVALID_STATE_TRANSITION"],
    repeat: "natural",
  },
  remove: {
    method: "DELETE",
    path: "/v1/machines/deployments/{id}/machines/{machineId}",
    summary: "Removes a machine that is empty, or that has been gone for three minutes.",
    roles: WRITERS,
    params: ofMachine,
    success: 200,
    response: Strict({ machineId: Type.String(), removed: Type.Boolean() }),
    errors: [...errors, "MACHINE_NOT_DRAINED"],
    repeat: "natural",
  },
});

const MACHINE_ACTIONS = ["drain", "cancel-drain", "remove"] as const;

export const MachineAction = Strict({
  deploymentId: DeploymentId,
  clusterId: ClusterId,
  machineId: MachineId,
  action: Words(MACHINE_ACTIONS),
  requestedAt: Timestamp,
  deadlineAt: Nullable(Timestamp),
  force: Type.Boolean(),
  revision: Type.Integer({ minimum: 0, description: "Grows with every wish for this machine." }),
  passedOn: Type.Boolean({ description: "The manager has reported that its cluster has it, at this revision." }),
});
export type MachineAction = Static<typeof MachineAction>;

const word = Type.String({ minLength: 1, maxLength: 512 });
/** Of one list of machines: 10 000 machines, twice what a Kubernetes cluster may have. */
const MAX_PARTS = 20;
/** One of several reports that are complete together; `id` names the whole list. */
const Part = Strict({
  index: Type.Integer({ minimum: 0, maximum: MAX_PARTS - 1 }),
  of: Type.Integer({ minimum: 1, maximum: MAX_PARTS }),
  id: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$", maxLength: 64 }),
});

/** What a manager does for its machines (§18). */
export const machineRuntimeRoutes = routes({
  join: {
    method: "POST",
    path: "/v1/machines/joins",
    summary: "Lets a machine join with a token; the same machine again is not counted twice.",
    roles: MANAGER,
    body: Strict({
      joinToken: Type.String({ minLength: 1, maxLength: 128 }),
      machineId: MachineId,
      publicKey: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1024,
          description: "Of a Kubernetes deployment's machine required: SHA-256 of its key (SPKI), 64 hex digits.",
        }),
      ),
      nodeName: Type.Optional(
        Type.String({
          pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
          maxLength: 63,
          description: "Of a Kubernetes deployment's machine required: the node that it becomes.",
        }),
      ),
      capacityGroup: Type.Optional(word),
      zone: Type.Optional(word),
      runtimeDaemonVersion: Type.Optional(word),
      publicIp: Type.Optional(word),
    }),
    success: 200,
    response: Strict({
      deploymentId: DeploymentId,
      clusterId: ClusterId,
      tokenId: Type.String(),
      joinCount: Type.Integer({ minimum: 1 }),
    }),
    errors: [
      "JOIN_TOKEN_INVALID",
      "JOIN_TOKEN_EXPIRED",
      "JOIN_TOKEN_REVOKED",
      "JOIN_TOKEN_EXHAUSTED",
      "MACHINE_ID_TAKEN",
      "BUDGET_EXCEEDED",
    ],
    repeat: "natural",
  },
  actions: {
    method: "GET",
    path: "/v1/machines/actions",
    summary: "Lists what is wanted of a manager's machines, oldest first.",
    roles: MANAGER,
    query: Type.Object({ managerId: ManagerId, deploymentId: Type.Optional(DeploymentId) }),
    success: 200,
    response: Strict({ actions: Type.Array(MachineAction) }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  report: {
    method: "POST",
    path: "/v1/machines/deployments/{id}/inventory",
    summary: "Reports the state of a deployment's machines; the latest observation counts.",
    roles: MANAGER,
    params,
    body: Strict({
      observedAt: Timestamp,
      complete: Type.Boolean({ description: "Machines that are not in it are out of reach." }),
      part: Type.Optional(Part),
      machines: Type.Array(Bounded(SMALL_DOCUMENT_BYTES, MachineReport), { maxItems: 500 }),
    }),
    success: 200,
    response: Strict({ accepted: Type.Integer({ minimum: 0 }), ignored: Type.Integer({ minimum: 0 }) }),
    errors: [...errors, "BUDGET_EXCEEDED"],
    repeat: "natural",
  },
  joinServer: {
    method: "PUT",
    path: "/v1/machines/deployments/{id}/join-server",
    summary: "Says where machines of a deployment join, and by which keys they know the server.",
    roles: MANAGER,
    params,
    body: Strict({
      url: Type.String({ pattern: JOIN_URL, maxLength: 256 }),
      pins: Type.Array(Type.String({ pattern: KEY_PIN }), {
        minItems: 1,
        maxItems: 4,
        uniqueItems: true,
        description: "The first is the key that it shows now.",
      }),
      apiServerVersion: Type.Optional(
        Type.String({ pattern: "^v?[0-9]{1,3}[.][0-9]{1,3}([.+-][0-9A-Za-z.+-]*)?$", maxLength: 64 }),
      ),
    }),
    success: 200,
    response: Strict({ reportedAt: Timestamp }),
    errors,
    repeat: "natural",
  },
});
