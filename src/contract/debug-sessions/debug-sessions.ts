import Type, { type Static } from "typebox";
import { DEPLOYMENT_MODELS } from "../deployments/deployment-state.ts";
import { MANAGER, READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  AccessRequestId,
  Bounded,
  DebugSessionId,
  DeploymentId,
  DOCUMENT_BYTES,
  FreeMap,
  HumanLine,
  Maybe,
  Nullable,
  Page,
  Platform,
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

/** §6. The last three are terminal. */
export const DEBUG_SESSION_STATES = ["pending", "running", "stopping", "stopped", "expired", "failed"] as const;
export type DebugSessionState = (typeof DEBUG_SESSION_STATES)[number];

/** What a session may do in the cluster: the operations `debug/<mode>`. */
export const DEBUG_MODES = ["logs", "read", "exec", "port-forward"] as const;
export type DebugMode = (typeof DEBUG_MODES)[number];

/** Who or what ended it. The last five are the cluster's word: what its tunnel could not vouch for any more. */
export const CLOSE_REASONS = [
  "client",
  "agent",
  "idle",
  "expired",
  "killed",
  "revoked",
  "tunnel-lost",
  "policy-stale",
  "audit-failed",
  "audit-mismatch",
  "pin-mismatch",
  "refused",
] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** A session ends after this time at the latest, whatever the engineer asked for. */
export const DEBUG_SESSION_MAX_MS = 8 * 3_600_000;

/** SHA-256 of a public key (SPKI), base64url: what each end of a session compares the other's certificate with. */
export const KeyPin = Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" });
/** Ports of pods that connections may go to. */
export const DebugPorts = Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
  minItems: 1,
  maxItems: 8,
  uniqueItems: true,
});
/** A label selector of pods. A blank one would choose all of them. */
export const DebugSelector = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: "^[A-Za-z0-9!][A-Za-z0-9_./=!,() -]*$",
});

const AuditHead = Type.String({ pattern: "^[0-9a-f]{64}$" });

export const DebugAccess = Strict({
  mode: Words(DEBUG_MODES),
  namespace: Type.String(),
  clientKey: KeyPin,
  ports: Nullable(DebugPorts),
  selector: Nullable(DebugSelector),
  minutes: Type.Integer({ minimum: 1 }),
  reason: Type.String(),
  accessRequestId: Nullable(AccessRequestId),
});
export type DebugAccess = Static<typeof DebugAccess>;

export const DebugSession = Strict({
  id: DebugSessionId,
  workspaceId: WorkspaceId,
  projectId: ProjectId,
  deploymentId: DeploymentId,
  owner: Nullable(Type.String()),
  state: Words(DEBUG_SESSION_STATES),
  mode: Words(DEPLOYMENT_MODELS),
  provider: Platform,
  presignedUrls: Type.Record(Type.String(), Strict({ readUrl: Type.String(), writeUrl: Type.String() })),
  error: Nullable(StoredError),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  access: Nullable(DebugAccess),
  closeReason: Nullable(Words(CLOSE_REASONS)),
  /** Of the tunnel that serves it; its TLS certificate must have this key. Null until a tunnel came. */
  tunnelKey: Nullable(KeyPin),
  /** What the relay carried: towards the cluster, and back. Null until the session ended. */
  bytesIn: Nullable(Type.Integer({ minimum: 0 })),
  bytesOut: Nullable(Type.Integer({ minimum: 0 })),
  /** SHA-256 of the last line of the session's audit file, as the cluster reported it. */
  auditHead: Nullable(AuditHead),
});
export type DebugSession = Static<typeof DebugSession>;

const params = Type.Object({ id: DebugSessionId });
const roles = [...READERS, "deployment.viewer", "deployment.manager", "manager.runtime"] as const;
const state = Words(DEBUG_SESSION_STATES);

export const debugSessionRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/debug-sessions",
    summary: "Lists debug sessions, newest first.",
    roles,
    query: Type.Object({
      project: Type.Optional(ProjectRef),
      deploymentId: Type.Optional(DeploymentId),
      state: Type.Optional(WordList(DEBUG_SESSION_STATES)),
      mode: Type.Optional(Words(DEPLOYMENT_MODELS)),
      provider: Type.Optional(Platform),
      ...pageQuery,
    }),
    success: 200,
    response: Page(DebugSession),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/debug-sessions",
    summary: "Records a debug session that a manager has opened; the same id again answers the same record.",
    roles: MANAGER,
    body: Strict({
      deploymentId: DeploymentId,
      expiresAt: Timestamp,
      id: Type.Optional(DebugSessionId),
      owner: Maybe(HumanLine(1, 128)),
      state: Type.Optional(Words(["pending", "running"])),
    }),
    success: 201,
    alternative: 200,
    response: DebugSession,
    errors: ["NOT_FOUND", "CONFLICT", "BUDGET_EXCEEDED", "ACCESS_REQUEST_REQUIRED"],
    repeat: "natural",
  },
  get: {
    method: "GET",
    path: "/v1/debug-sessions/{id}",
    summary: "Reads one debug session.",
    roles,
    params,
    success: 200,
    response: DebugSession,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  patch: {
    method: "PATCH",
    path: "/v1/debug-sessions/{id}",
    summary: "Moves a debug session on; people may only stop it.",
    roles: [...MANAGER, ...WRITERS],
    params,
    body: Strict({
      state: Type.Optional(state),
      error: Maybe(Bounded(DOCUMENT_BYTES, FreeMap)),
      expiresAt: Type.Optional(Timestamp),
      closeReason: Type.Optional(Words(CLOSE_REASONS)),
      auditHead: Type.Optional(AuditHead),
    }),
    success: 200,
    response: DebugSession,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
});
