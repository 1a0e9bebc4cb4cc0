import { MACHINE_WORDS } from "./egress-machine-words.ts";
import { RECEIPT_WORDS } from "./egress-receipt-words.ts";
import type { Said, Words } from "./egress-report-words.ts";
import { REPORT_WORDS } from "./egress-report-words.ts";

const DEPLOYMENT: Said = ["the platform's own id, from its list", "dep_0123456789abcdefghijklmnopqr"];
const REQUEST: Said = ["`AccessGrant.spec.requestId`: the platform's own id", "ar_0123456789abcdefghijklmnopqr"];
const COMMAND: Said = [
  "`OperationInvocation.spec.commandId`: the platform's own id",
  "cmd_0123456789abcdefghijklmnopqr",
];
const DEBUG_SESSION: Said = [
  "`DebugSession.spec.sessionId`: the platform's own id",
  "dbg_0123456789abcdefghijklmnopqr",
];
const MACHINE: Said = ["the id that the machine asked for", "box-1"];
const MANAGER: Said = ["the platform's own id, from its answer to whoami", "mgr_0123456789abcdefghijklmnopqr"];
const SESSION: Said = ["random, new with each start of the agent", "agent-1c9f3a52-8a4e-4f7e-9d0b-2f6f0c0c9f11"];
const PLAN_HASH: Said = [
  "`AccessGrant.spec.planHash`: a hash of the plan that the platform sent",
  `sha256:${"0".repeat(63)}1`,
];
const DECIDED_BY: Said = [
  "`AccessGrant.spec.decidedBy` (or `revokedBy`): the user name that your API server gives the approver; `sallyport-agent` where the agent refuses by itself",
  "alice@example.com",
];
const IDENTITY: Said = [
  "condition `IdentityVerified` of the grant: whether your API server vouches for the name",
  "verified",
];
const AGENT_CLOCK: Said = ["the agent's clock", "2026-11-20T10:00:00.000Z"];

/** Sent with every request. `from` as for fields; names in lower case, as HTTP compares them. */
export const HEADER_WORDS: Words = {
  host: ["host and port of `platform.url`", "platform.example.com"],
  connection: ["the HTTP library", "keep-alive"],
  authorization: ["the runtime key, which the platform issued; the Secret that you mount", "Bearer sp_m_…"],
  accept: ["constant", "application/json"],
  "user-agent": ["constant, with the agent's version", "sallyport-agent/0.1.0"],
  "x-request-id": ["random, to find a request in the logs of both sides", "0a9e6a3c-7b0f-4c41-9c35-0e3d3a1c2b4d"],
  "content-type": ["constant, where there is a body", "application/json"],
  "content-encoding": ["constant, on reports over 8 KiB", "gzip"],
  "content-length": ["the body's length", "412"],
};

/** By `area.route`, then by field. The agent does not send a field that is missing here. */
export const FIELD_WORDS: Readonly<Record<string, Words>> = {
  "whoami.get": {},
  "managerRuntime.heartbeat": {
    "path.id": MANAGER,
    "body.status": ["constant", "healthy"],
    "body.url": [
      "setting `SALLYPORT_MANAGER_URL`; the platform never calls it",
      "https://sallyport-agent.sallyport-system.svc",
    ],
    "body.managementConfigs.kubernetes.platform": ["constant", "kubernetes"],
    "body.version": ["the agent's version", "0.1.0"],
    "body.metrics.activeDeployments": ["how many of the platform's deployments are running here", 1],
    "body.metrics.pendingDeployments": ["how many are not", 0],
    "body.metrics.memoryUsageMb": ["the agent process's own memory", 96],
  },
  "managerRuntime.work": {
    "path.id": MANAGER,
    "query.cursor": ["the platform's own, from its answer before", "1.42"],
    "query.wait": ["constant", 25],
  },
  "sync.list": { "body.limit": ["constant", 500] },
  "sync.acquire": {
    "body.session": SESSION,
    "body.requestId": ["random", "3f0e0d9c-5f0c-4bb2-9a0f-8d6f2a7f1f0e"],
    "body.deploymentModel": ["the platform's own word, from its list", "push"],
    "body.deploymentIds[]": DEPLOYMENT,
    "body.limit": ["constant", 1],
  },
  "sync.renew": { "body.session": SESSION, "body.deploymentIds[]": DEPLOYMENT },
  "sync.release": { "body.deploymentId": DEPLOYMENT, "body.session": SESSION },
  "sync.reconcile": { "body.deploymentId": DEPLOYMENT, "body.session": SESSION, ...REPORT_WORDS },
  "accessRelay.pending": { "query.deploymentId": DEPLOYMENT },
  "accessRelay.materialized": {
    "body.deploymentId": DEPLOYMENT,
    "body.requestIds[]": REQUEST,
    "body.namespace": ["where grants lie", "sallyport-grants"],
    "body.resourcePlural": ["constant", "accessgrants.sallyport.dev"],
  },
  "accessRelay.approvals": {
    "body.deploymentId": DEPLOYMENT,
    "body.approvals[].requestId": REQUEST,
    "body.approvals[].approvedUntil": ["`AccessGrant.status.approvedUntil`", "2026-11-20T10:30:00.000Z"],
    "body.approvals[].approvedAt": ["`AccessGrant.status.approvedAt`", "2026-11-20T10:00:00.000Z"],
    "body.approvals[].decidedBy": DECIDED_BY,
    "body.approvals[].planHash": PLAN_HASH,
    "body.approvals[].identity": IDENTITY,
    "body.claimAt": AGENT_CLOCK,
  },
  "accessRelay.decisions": {
    "body.deploymentId": DEPLOYMENT,
    "body.decisions[].requestId": REQUEST,
    "body.decisions[].outcome": ["state of the grant", "denied"],
    "body.decisions[].reason": [
      "`AccessGrant.spec.deniedReason` or `revokedReason`: **the words that your approver typed**; or why the agent, the operator or the API server refused the request",
      "not today",
    ],
    "body.decisions[].decidedBy": DECIDED_BY,
    "body.decisions[].identity": IDENTITY,
    "body.decisions[].at": ["when the operator saw the end", "2026-11-20T10:00:00.000Z"],
    "body.decisions[].planHash": PLAN_HASH,
  },
  "accessRelay.receipts": RECEIPT_WORDS,
  "commands.list": {
    "query.deploymentId": DEPLOYMENT,
    "query.state[]": ["constant", "PENDING"],
    "query.include[]": ["constant", "payload"],
    "query.order": ["constant", "asc"],
    "query.limit": ["constant", 100],
    "query.cursor": ["the platform's own, from the page before", "eyJ…"],
  },
  "commands.get": { "path.id": COMMAND, "query.include[]": ["constant", "payload"] },
  "commands.dispatch": { "path.id": COMMAND, "body.dispatchedAt": AGENT_CLOCK },
  "commands.complete": {
    "path.id": COMMAND,
    "body.state": ["`OperationInvocation.status.state`", "SUCCEEDED"],
    "body.completedAt": ["`OperationInvocation.status.finishedAt`", "2026-11-20T10:00:02.000Z"],
    "body.responseSizeBytes": ["size of `result`", 112],
    "body.error.code": ["`OperationInvocation.status.error.code`, or the agent's own", "HANDLER_ERROR"],
    "body.error.message": [
      "`OperationInvocation.status.error.message`: words of the operator or the API server, which name objects of the namespace; redacted",
      "there is no pod api-1 in shop",
    ],
    "body.error.internal": ["constant", false],
    "body.result": ["`OperationInvocation.status.result`: see the next chapter", { namespace: "shop", pods: [] }],
    "body.claimAt": AGENT_CLOCK,
  },
  "machines.actions": { "query.managerId": MANAGER, "query.deploymentId": DEPLOYMENT },
  "machines.report": { "path.id": DEPLOYMENT, ...MACHINE_WORDS },
  "machines.join": {
    "body.joinToken": ["the token that the machine showed, which the platform made", "sp_j_…"],
    "body.machineId": MACHINE,
    "body.publicKey": ["hash of the machine's public key", "0".repeat(64)],
    "body.nodeName": ["the name that the machine asked for", "m-1"],
    "body.zone": ["`zone`, as the machine says it", "a"],
    "body.runtimeDaemonVersion": ["version of its kubelet, as the machine says it", "1.36.3"],
    "body.publicIp": ["its first address, as the machine says it", "10.0.0.7"],
  },
  "machines.joinServer": {
    "path.id": DEPLOYMENT,
    "body.url": ["value `join.url`", "https://join.customer.example:8443"],
    "body.pins[]": ["hash of the public key with which the join server serves TLS", `sha256//${"0".repeat(43)}=`],
    "body.apiServerVersion": ["of your API server", "v1.36.3"],
  },
  "debugSessions.list": {
    "query.deploymentId": DEPLOYMENT,
    "query.state[]": ["constant", "pending"],
    "query.limit": ["constant", 50],
  },
  "debugSessions.get": { "path.id": DEBUG_SESSION },
  "debugRelay.ticket": {
    "path.id": DEBUG_SESSION,
    "body.tunnelKey": ["hash of the public key that the tunnel made at its start", "0".repeat(43)],
  },
  "debugSessions.patch": {
    "path.id": DEBUG_SESSION,
    "body.state": ["`DebugSession.status.state`, in the platform's words", "stopped"],
    "body.closeReason": ["`DebugSession.status.closeReason`", "killed"],
    "body.auditHead": ["`DebugSession.status.tunnel.audit.head`: hash of the audit file's last line", "0".repeat(64)],
    "body.error.code": [
      "reason of the condition that refused the session; `SESSION_REFUSED` where the agent or the API server did",
      "NO_GRANT",
    ],
    "body.error.message": [
      "why the operator's gate refused it: it names mode, namespace and deployment; **words of your API server** or of an admission policy of yours, where it refused the object",
      "the cluster refused the session (NoGrant): debug/logs needs an approved access grant",
    ],
    "body.error.internal": ["constant", false],
  },
};
