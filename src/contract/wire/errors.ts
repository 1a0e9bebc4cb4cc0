/** What is known about one failure. One row a code; a code never changes its meaning. */
export interface ErrorSpec {
  readonly status: number;
  /** The same request may succeed later, unchanged. Drives retry loops. */
  readonly retryable: boolean;
  /** When it is given: the default message, which the thrower usually makes more exact. No secrets, no stack. */
  readonly message: string;
  /** What the reader does next. Null if nothing helps. */
  readonly hint: string | null;
}

/** The same request fails again. */
function stop(status: number, message: string, hint: string | null = null): ErrorSpec {
  return { status, retryable: false, message, hint };
}

/** The same request may succeed later. */
function retry(status: number, message: string, hint: string | null = null): ErrorSpec {
  return { status, retryable: true, message, hint };
}

/** The one table (§26): HTTP bodies, OpenAPI, the client and the CLI read it. */
export const ERRORS = {
  VALIDATION_ERROR: stop(
    400,
    "path, query, header or body fails its schema; unknown body key",
    "fix the fields named in context.issues",
  ),
  MALFORMED_JSON: stop(400, "body is not JSON", "send valid JSON with content-type application/json"),
  INVALID_CURSOR: stop(400, "cursor was not issued for this list and these filters", "restart from the first page"),
  WORKSPACE_REQUIRED: stop(400, "user, session or OAuth request without workspace", "add ?workspace=<name>"),
  PROJECT_REQUIRED: stop(400, "project missing and not implied by the credential", "add ?project=<id or name>"),
  DUPLICATE_PATTERN: stop(
    400,
    "policy rules name one pattern twice",
    "keep one rule per pattern; context.patterns lists them",
  ),
  UNKNOWN_PLUGIN: stop(400, "a body names plugins that do not exist or are not built in", "context.names lists them"),
  UNKNOWN_OPERATION: stop(
    400,
    "a plan or a policy's rule names an operation that the project does not have",
    "context.names lists them; GET /v1/operations/plugins has the project's operations",
  ),
  INVALID_OPERATION_PARAMS: stop(400, "params fail the operation's JSON Schema", "context.issues gives JSON pointers"),
  PLUGIN_METADATA_INVALID: stop(
    400,
    "bundle or metadata missing, malformed, or not the named plugin",
    "see context.issues",
  ),
  SETUP_CONFIG_INVALID: stop(
    400,
    "deploymentSetupConfig, setupItems or stackSettings contradict each other, the project or the policy",
    "context.issues",
  ),
  SETUP_METHOD_NOT_ALLOWED: stop(
    400,
    "setup method does not fit the cloud or the token's policy",
    "context.allowed lists the methods",
  ),
  INPUT_VALUES_INVALID: stop(
    400,
    "stack input value missing, of the wrong kind or outside its validation",
    "context.issues by input id",
  ),
  MAX_DEPLOYMENTS_REACHED: stop(
    400,
    "group already holds maxDeployments live deployments",
    "raise maxDeployments or delete one",
  ),
  BUDGET_EXCEEDED: stop(
    400,
    "the tenant holds as many as its budget allows; context {budget, size, tenant}",
    "remove what is not used any more, or ask who runs the platform for a larger budget",
  ),
  DEPLOYMENT_GROUP_NOT_EMPTY: stop(400, "group still has deployments", "delete its deployments first"),
  PROJECT_NOT_EMPTY: stop(400, "project still has deployments", "delete its deployments first"),
  WORKSPACE_NOT_EMPTY: stop(400, "workspace still has projects", "delete its projects first"),
  LAST_ADMIN: stop(400, "change would leave a workspace without an admin", "promote another member first"),
  CHANNEL_RESERVED: stop(400, "production cannot be created again or deleted"),
  RELEASE_NOT_DEPLOYABLE: stop(
    400,
    "release has no stack for the platform, or belongs to another project",
    "choose a release with that platform",
  ),
  DEPLOYMENT_HAS_NO_MANAGER: stop(
    400,
    "the deployment waits for a manager that serves its group",
    "an admin says which manager does: PATCH /v1/managers/{id}",
  ),
  MACHINES_DEPLOYMENT_UNAVAILABLE: stop(
    400,
    "not a provisioned machines deployment",
    "wait for provisioning, or use a machines deployment",
  ),
  INCOMPATIBLE_DEPLOYMENT_PROTOCOL: stop(400, "state.protocolVersion is not 1", "upgrade the reporting side"),
  UNAUTHENTICATED: stop(401, "no credential, or not a Bearer/session one", "send Authorization: Bearer <key>"),
  API_KEY_INVALID: stop(401, "key malformed or unknown"),
  API_KEY_REVOKED: stop(401, "key was revoked", "mint a new key"),
  API_KEY_DISABLED: stop(401, "key is disabled", "enable it or use another"),
  API_KEY_EXPIRED: stop(401, "expiresAt has passed", "mint a new key"),
  TOKEN_EXPIRED: retry(401, "OAuth access token or session expired", "refresh the token"),
  WRONG_TOKEN_KIND: stop(
    401,
    "portal endpoint called with a credential of another scope",
    "use the group or deployment token of the link",
  ),
  JOIN_TOKEN_INVALID: stop(401, "join token malformed, unknown, wrong secret, or not of this manager's deployments"),
  JOIN_TOKEN_EXPIRED: stop(401, "join token expired", "create a join token"),
  JOIN_TOKEN_REVOKED: stop(401, "join token revoked or rotated away", "create a join token"),
  TICKET_INVALID: stop(401, "relay ticket unknown, used, expired or of another session", "ask for a new ticket"),
  FORBIDDEN: stop(403, "the role may not do this", "context.requiredRoles lists the roles"),
  WORKSPACE_MISMATCH: stop(403, "workspace differs from the key's workspace", "drop the parameter"),
  PRIVILEGE_ESCALATION: stop(403, "asked-for role is wider than the caller may grant"),
  INVITATION_EMAIL_MISMATCH: stop(
    403,
    "email invitation opened by a user with another verified address",
    "sign in with the invited address",
  ),
  RESERVED_TARGET: stop(
    403,
    "command target operator named by anyone but the platform",
    "use POST /v1/operations/invoke",
  ),
  RELEASE_PINNING_NOT_ALLOWED: stop(403, "group token's policy forbids pinning"),
  CSRF_REJECTED: stop(403, "cookie-authenticated unsafe request with a foreign or missing Origin"),
  NOT_FOUND: stop(
    404,
    "object absent, in another workspace, or outside the key's scope; context.resource names the kind",
  ),
  WORKSPACE_NOT_FOUND: stop(404, "user is not a member of the named workspace, or it does not exist"),
  MANAGER_NOT_AVAILABLE: stop(
    404,
    "no manager serves the deployment group on this platform",
    "an admin says which manager does: POST /v1/managers, PATCH /v1/managers/{id}",
  ),
  ROUTE_NOT_FOUND: stop(404, "no such path"),
  METHOD_NOT_ALLOWED: stop(405, "path exists, method does not; Allow header set"),
  CONFLICT: retry(409, "concurrent write lost the race", "read again and retry"),
  INVALID_STATE_TRANSITION: stop(409, "the move is not in the object's state table; context {from, to, allowed[]}"),
  NAME_TAKEN: stop(409, "name already used by a sibling", "choose another name"),
  FILE_EXISTS: stop(
    409,
    "the file has been written, and is written once",
    "read it with readUrl; what else there is to keep belongs to another file or session",
  ),
  EXTERNAL_ID_TAKEN: stop(409, "externalId already used in the project"),
  CHANNEL_EXISTS: stop(409, "channel of that name exists"),
  CHANNEL_CHANGED: retry(
    409,
    "expectedReleaseId is not the channel's current release; context.currentReleaseId",
    "read the channel, decide again",
  ),
  CHANNEL_IN_USE: stop(409, "deployments still follow the channel", "move them first"),
  INVITATION_EXISTS: stop(409, "a pending invitation for that address exists", "resend it"),
  ALREADY_MEMBER: stop(409, "address is already a member"),
  INVITATION_UNAVAILABLE: stop(409, "invitation accepted, revoked or expired; context.state", "ask for a new one"),
  PLUGIN_DISABLED: stop(409, "plugin is not enabled for the project", "enable it"),
  BUNDLE_NOT_UPLOADED: stop(409, "register called and no archive lies at the upload location", "upload first"),
  MANAGER_EXISTS: stop(
    409,
    "a private manager of that cloud and region serves the same; context.managerId",
    "let that one serve, or take what it serves from it",
  ),
  MANAGER_IN_USE: stop(
    409,
    "manager still has assigned deployments or is a project default",
    "reassign or delete them",
  ),
  DELETE_CONFLICT: stop(409, "a delete with another action is in progress"),
  DEPLOYMENT_LOCKED: retry(409, "another session holds the lease", "retry after its expiry"),
  LEASE_LOST: stop(409, "the caller no longer holds the lease it works under", "stop; acquire again"),
  ACCESS_REQUEST_REQUIRED: stop(
    409,
    "workspace asks for approval before debug",
    "create an access request with debug true",
  ),
  RESOURCE_STATE_STALE: stop(
    409,
    "something destructive was asked for, and the resources were last observed over 180 s ago; context {observedAt, ageSeconds, limitSeconds}",
    "see that the deployment's agent reports again, or send acceptStale: true",
  ),
  PLAN_HASH_MISMATCH: stop(409, "reported planHash is not the request's (item-level only)", "refuse the plan"),
  JOIN_TOKEN_EXHAUSTED: stop(409, "joinCount has reached maxJoins", "create a join token"),
  MACHINE_NOT_DRAINED: stop(409, "machine may not be removed yet", "drain it"),
  MACHINE_ID_TAKEN: stop(
    409,
    "live machine of that id or node name has another public key, or the key is another machine's",
    "use a fresh machine id",
  ),
  COMMAND_TARGET_AMBIGUOUS: stop(409, "several command-capable resources and no target", "name the target"),
  IDEMPOTENCY_KEY_REUSED: stop(409, "the same Idempotency-Key was sent with another request", "use a new key"),
  COMMAND_EXPIRED: stop(410, "deadline passed before the write"),
  PAYLOAD_TOO_LARGE: stop(413, "JSON body over 1 MiB", "split the request"),
  PARAMS_TOO_LARGE: stop(413, "command params or result over 150 000 B, or params of an operation over 4096 B"),
  UNSUPPORTED_MEDIA_TYPE: stop(415, "body is not application/json"),
  NO_COMMAND_TARGETS: stop(422, "deployment has no command-capable resource"),
  UPGRADE_REQUIRED: stop(426, "relay path called without a WebSocket upgrade"),
  RATE_LIMITED: retry(429, "too many requests", "wait for Retry-After seconds"),
  INTERNAL_ERROR: retry(500, "unexpected failure; message is generic, internal true", "quote requestId to support"),
  GIT_HOST_NOT_CONFIGURED: stop(
    501,
    "the platform is connected to no git host",
    "set SALLYPORT_PLATFORM_GITHUB_APP_ID and SALLYPORT_PLATFORM_GITHUB_APP_KEY",
  ),
  MANAGER_NOT_READY: retry(503, "manager, or its join server, has not reported a URL", "retry after Retry-After"),
  MANAGER_UNAVAILABLE: retry(503, "the manager has been silent for 3 minutes, or has not reported yet", "retry"),
  BUNDLE_STORAGE_UNAVAILABLE: stop(503, "object storage is not configured", "configure object storage"),
  SERVICE_UNAVAILABLE: retry(503, "starting, draining or database unreachable", "retry after Retry-After"),
  TIMEOUT: retry(504, "request exceeded 30 s server time (long-polls and relays excepted)", "retry"),
} satisfies Readonly<Record<string, ErrorSpec>>;

export type ErrorCode = keyof typeof ERRORS;

/** Codes that only stored errors carry (`httpStatusCode` null). Reporters may send others of the same form. */
export const STORED_ERROR_CODE = "^[A-Z][A-Z0-9_]{0,127}$";
