import Type from "typebox";
import { DEBUG_MODES } from "../operations/debug.ts";
import {
  Conditions,
  DateTime,
  DeploymentRef,
  Generation,
  GrantName,
  Line,
  PlatformId,
  rules,
  Text,
  unchanged,
  Words,
} from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { asAsked, namedAfter, STATUS_STAYS, saidOnce, stateGoesOn, writeOnce } from "./kind-rules.ts";

/** Refused and Closed are final. */
export const DEBUG_SESSION_STATES = ["Pending", "Opening", "Open", "Closing", "Closed", "Refused"] as const;
export type DebugSessionState = (typeof DEBUG_SESSION_STATES)[number];

/** Who or what ended it, in the platform's words. A test compares the list with the contract's. */
export const DEBUG_CLOSE_REASONS = [
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
export type DebugCloseReason = (typeof DEBUG_CLOSE_REASONS)[number];

const KeyPin = Type.String({ maxLength: 43, pattern: "^[A-Za-z0-9_-]{43}$" });
const Count = Type.Integer({ format: "int64", minimum: 0 });
/** `namespace` is a reserved word of CEL, written so. */
const ASKED = ["sessionId", "deploymentId", "mode", "__namespace__", "owner", "reason", "clientKey", "expiresAt"];
const OPTIONALLY_ASKED = ["grantName", "selector", "ports"];

const Spec = Type.Object(
  {
    // What was asked for: the agent writes it at create, and it never changes.
    sessionId: PlatformId,
    deploymentId: DeploymentRef,
    grantName: Type.Optional(GrantName),
    mode: Words(DEBUG_MODES),
    namespace: Type.String({ maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" }),
    selector: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        pattern: "^[A-Za-z0-9!][A-Za-z0-9_./=!,() -]*$",
        description: "Label selector of the pods that it reaches. Left out: all of the namespace.",
      }),
    ),
    ports: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        minItems: 1,
        maxItems: 8,
        "x-kubernetes-list-type": "atomic",
        description: "The only ports that connections may go to. Left out: any.",
        ...rules({ rule: "self.all(p, self.exists_one(q, q == p))", message: "a port is named once" }),
      }),
    ),
    owner: Line(0, 256),
    reason: Text(0, 2048),
    clientKey: KeyPin,
    expiresAt: DateTime,
    // The customer's word: written once, it ends the session.
    endedReason: Type.Optional(Text(1, 1024)),
    endedBy: Type.Optional(Line(1, 512)),
  },
  rules(
    asAsked(ASKED, OPTIONALLY_ASKED, "what was asked for is immutable; a changed wish is a new session"),
    {
      rule: "oldSelf.hasValue() || !(has(self.endedReason) || has(self.endedBy))",
      optionalOldSelf: true,
      message: "a debug session cannot be created already ended",
    },
    saidOnce(["endedReason", "endedBy"], "the end of a debug session is final"),
    { rule: "!has(self.endedBy) || has(self.endedReason)", message: "endedBy may only accompany endedReason" },
    { rule: "!has(self.ports) || self.mode == 'port-forward'", message: "ports belong to the mode port-forward" },
    { rule: "!has(self.selector) || self.mode != 'read'", message: "the mode read takes no selector" },
  ),
);

const TOLD = [
  "epoch",
  "attachedAt",
  "lastClientByteAt",
  "bytesIn",
  "bytesOut",
  "requests",
  "denied",
  "forbidden",
  "key",
];
const AUDIT = ["records", "head", "at"];

const Tunnel = Type.Object(
  {
    instance: Type.String({ minLength: 1, maxLength: 128, pattern: "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$" }),
    epoch: Type.Optional(Count),
    attachedAt: Type.Optional(DateTime),
    lastClientByteAt: Type.Optional(DateTime),
    bytesIn: Type.Optional(Count),
    bytesOut: Type.Optional(Count),
    requests: Type.Optional(Count),
    denied: Type.Optional(Count),
    forbidden: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: "^(get|list|watch|create) [a-z0-9./-]+$",
        description:
          "What the mode allows and the API server last refused to the session's account. Left out: nothing.",
      }),
    ),
    key: Type.Optional(KeyPin),
    closed: Type.Optional(Type.Object({ reason: Words(DEBUG_CLOSE_REASONS), at: DateTime })),
    audit: Type.Optional(
      Type.Object({
        records: Count,
        head: Type.String({ maxLength: 64, pattern: "^[0-9a-f]{64}$" }),
        at: DateTime,
      }),
    ),
  },
  {
    description: "Written by the tunnel's account alone, which may write nothing else here.",
    ...rules(
      {
        // Also against an account of the tunnel's that was stolen later: what a session's files are compared with stands here.
        rule: `!has(oldSelf.closed) || (self.instance == oldSelf.instance && ${[
          ...TOLD.map(unchanged),
          ...["closed", "audit"].map((field) => `has(self.${field}) == has(oldSelf.${field})`),
          ...["closed.reason", "closed.at"].map((field) => `self.${field} == oldSelf.${field}`),
          `(!has(self.audit) || (${AUDIT.map((field) => `self.audit.${field} == oldSelf.audit.${field}`).join(" && ")}))`,
        ].join(" && ")})`,
        message: "the tunnel closes a session once, and its last word stands",
      },
      {
        rule: "!has(oldSelf.epoch) || (has(self.epoch) && self.epoch >= oldSelf.epoch)",
        message: "the epoch of a session does not go back",
      },
    ),
  },
);

/** Where each state may lead. */
const NEXT: Readonly<Record<DebugSessionState, readonly DebugSessionState[]>> = {
  Pending: ["Pending", "Opening", "Refused"],
  Opening: ["Opening", "Open", "Closing"],
  Open: ["Open", "Closing"],
  Closing: ["Closing", "Closed"],
  Closed: ["Closed"],
  Refused: ["Refused"],
};

const Status = Type.Object(
  {
    state: Type.Optional(Words(DEBUG_SESSION_STATES)),
    until: Type.Optional(DateTime),
    openedAt: Type.Optional(DateTime),
    closedAt: Type.Optional(DateTime),
    closeReason: Type.Optional(Words(DEBUG_CLOSE_REASONS)),
    account: Type.Optional(Type.String({ maxLength: 18, pattern: "^debug-[0-9a-f]{12}$" })),
    tunnel: Type.Optional(Tunnel),
    observedGeneration: Type.Optional(Generation),
    conditions: Type.Optional(Conditions),
  },
  rules(
    stateGoesOn(NEXT, "status.state only goes on: Pending, Opening, Open, Closing, Closed; or Pending, Refused"),
    ...writeOnce("until", "openedAt", "account", "closedAt", "closeReason"),
    { rule: "!has(oldSelf.tunnel) || has(self.tunnel)", message: "status.tunnel cannot be dropped" },
    {
      rule: "!has(self.state) || self.state != 'Open' || (has(self.until) && has(self.openedAt) && has(self.account))",
      message: "an open session needs until, openedAt and account",
    },
    {
      rule: "!has(self.until) || (has(self.openedAt) && (self.until - self.openedAt).getSeconds() <= 28800)",
      message: "a session is open for 8 hours at most",
    },
    {
      rule: "!has(self.state) || !(self.state in ['Closed', 'Refused']) || (has(self.closedAt) && has(self.closeReason))",
      message: "an ended session needs closedAt and closeReason",
    },
  ),
);

/**
 * An engineer's way into one namespace for a while: asked for by the agent, opened and ended by the operator, carried by
 * the tunnel. No finalizers: deleting a session ends it.
 */
export const DEBUG_SESSION = {
  kind: "DebugSession",
  plural: "debugsessions",
  shortName: "dbg",
  description: "An engineer of the vendor who looks into one namespace with kubectl, for a while. Delete it to end it.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.deploymentId", ".spec.grantName", ".status.state"],
  columns: [
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Mode", type: "string", jsonPath: ".spec.mode" },
    { name: "Namespace", type: "string", jsonPath: ".spec.namespace" },
    { name: "Owner", type: "string", jsonPath: ".spec.owner" },
    // A string on purpose: a date column prints <invalid> for an instant in the future.
    { name: "Until", type: "string", jsonPath: ".status.until" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "BytesOut", type: "integer", jsonPath: ".status.tunnel.bytesOut", priority: 1 },
    { name: "Grant", type: "string", jsonPath: ".spec.grantName", priority: 1 },
    { name: "Reason", type: "string", jsonPath: ".spec.reason", priority: 1 },
  ],
  rules: [
    namedAfter("sessionId"),
    STATUS_STAYS,
    {
      rule: "!has(self.status) || !has(self.status.until) || self.status.until <= self.spec.expiresAt",
      message: "until is after expiresAt",
    },
    {
      rule:
        "!has(oldSelf.spec.endedReason) || !has(self.status) || !has(self.status.state) || " +
        "!(self.status.state in ['Opening', 'Open']) || " +
        "(has(oldSelf.status) && has(oldSelf.status.state) && oldSelf.status.state == self.status.state)",
      message: "a session that was ended cannot be opened",
    },
  ],
} as const satisfies Kind;

export type DebugSession = ObjectOf<typeof DEBUG_SESSION>;
export type DebugSessionSpec = DebugSession["spec"];
export type DebugSessionStatus = NonNullable<DebugSession["status"]>;
export const debugSessions = resourceOf(DEBUG_SESSION);
