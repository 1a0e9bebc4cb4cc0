/** Whether the process's own account has the rights that this object needs. The message names each missing right. */
const PERMITTED_REASONS = ["RightsComplete", "RuleMissing"] as const;

/**
 * Condition types of each kind and the closed set of reasons of each. Alerts, `kubectl wait` scripts and metrics match
 * on these words. Source: the access grant contract; Authorized also has the refusals of the customer's policy.
 */
const GRANT_CONDITIONS = {
  Approved: [
    "AwaitingDecision",
    "ApprovedByCustomer",
    "DeniedByCustomer",
    "DecisionTooLate",
    "Superseded",
    "PlanHashMismatch",
    "RiskUnderstated",
  ],
  Active: ["AwaitingDecision", "WindowOpen", "WindowClosed", "Revoked", "Deleted"],
  Succeeded: ["NothingYet", "AllSucceeded", "SomeFailed", "SomeNotStarted", "OutcomeUnknown", "NothingRan"],
  IdentityVerified: ["AwaitingDecision", "StampedByAdmission", "ClaimCheckedByPolicy", "NotEnforced", "NoName"],
  Reported: ["AwaitingReport", "Acknowledged", "Retrying", "Refused"],
  /** Also whether the customer's policies would hold a line of the plan, approved or not. */
  Permitted: [...PERMITTED_REASONS, "PolicyDenied", "ModeDisabled", "OperationMissing"],
  /** Whether the customer accepts the deployment in each namespace that the plan names. */
  Accepted: ["NamespacesAccepted", "NotAccepted"],
  /** Set only where approvers lend: whether the bindings that this plan needs exist. */
  Lent: ["AwaitingBinding", "BindingsSeen"],
} as const;

const INVOCATION_CONDITIONS = {
  Authorized: [
    "GrantMatched",
    "PolicyAuto",
    "PolicyDenied",
    "NoGrant",
    "GrantClosed",
    "PlanHashMismatch",
    "RiskUnderstated",
    "ParamsMismatch",
    "LineUsed",
    "DeadlinePassed",
    "UnknownOperation",
    "InvalidParams",
    "TierMismatch",
    "DeploymentNotServed",
    "DeploymentNotAccepted",
    "NamespaceNotOpen",
    "RuleMissing",
    "AwaitingBinding",
    "TooManyOpen",
  ],
  Completed: ["Running", "Succeeded", "Failed", "OutcomeUnknown", "NotStarted"],
} as const;

const MANAGED_DEPLOYMENT_CONDITIONS = {
  Accepted: ["AwaitingAcceptance", "RefusedByCustomer", "AcceptedByCustomer", "NamedAtInstall"],
  Opened: ["AllOpened", "NamespaceNotOpened"],
  Connected: [
    "Connected",
    "ProxyUnreachable",
    "ProxyRefused",
    "PlatformUnreachable",
    "PlatformFailing",
    "CertificateUntrusted",
    "CertificateInvalid",
    "KeyRefused",
  ],
  Reported: ["Acknowledged", "Refused"],
  Permitted: PERMITTED_REASONS,
  /** Whether the agent sees the workloads in its namespaces. */
  Observed: ["CachesSynced", "Forbidden", "Starting", "TooLarge", "WatchStale"],
  WorkloadsHealthy: ["AllHealthy", "SomeUnhealthy", "SomeUnknown"],
  /** Whether what a release installed is as the release has it. */
  AsReleased: ["NoDrift", "Drifted", "NotCompared"],
} as const;

const DEBUG_SESSION_CONDITIONS = {
  Authorized: [
    "GrantMatched",
    "PolicyAuto",
    "NoGrant",
    "GrantClosed",
    "LineUsed",
    "ModeDisabled",
    "ModeMismatch",
    "PolicyDenied",
    "NamespaceNotOpen",
    "DeploymentNotServed",
    "TooLong",
    "TooMany",
    /** The session's lifetime had passed, or a person had ended it, before it could be opened. */
    "Ended",
    /** Approvers lend in this installation; a session's bindings can only be made by the operator. */
    "LendingByApprovers",
    "NotOpenedInTime",
  ],
  AccessReady: ["Ready", "RuleMissing", "TornDown"],
  Attached: ["Attached", "ClientAway", "TunnelAway", "NeverAttached"],
  Audited: ["Durable", "SinkFailed", "HeadMismatch"],
  Permitted: PERMITTED_REASONS,
} as const;

/** Of a rollout. Applied says what became of it and, once it is taken back, why. */
const ROLLOUT_CONDITIONS = {
  Planned: [
    "InProgress",
    "AwaitingAcceptance",
    "AnotherRuns",
    "PlanMade",
    /** The plan's objects may not be applied; `status.plan.refused` names them. */
    "Refused",
    /** Objects of the customer are in the way, who can let the release have them (spec.takeOver). */
    "NotOurs",
    "ContentMissing",
    "ContentChanged",
    "DeploymentNotServed",
    "DeadlinePassed",
  ],
  Approved: [
    "AwaitingDecision",
    "OtherPlanApproved",
    "ApprovedByCustomer",
    "PolicyAuto",
    "PolicyDenied",
    "DeniedByCustomer",
    "AbortedByCustomer",
    "DeadlinePassed",
    "Superseded",
  ],
  Applied: [
    "Paused",
    "WindowClosed",
    "AnotherRuns",
    /** What held it up is not said any more: its plan is too old, or it has to be approved anew. */
    "PlannedAgain",
    "InProgress",
    "AllApplied",
    "ApplyFailed",
    "GateFailed",
    "AbortedByCustomer",
    "DeniedByCustomer",
    "PolicyDenied",
    "NamespaceClosed",
    "ContentMissing",
    "ContentChanged",
    "TimeOver",
    "OutcomeUnknown",
  ],
  Healthy: [
    "InProgress",
    /** Pods of the wave fit on no node that is there. */
    "AwaitingNodes",
    /** What the wave waits for has a warning: it may not come up by itself. */
    "NotComingUp",
    "AllHealthy",
    "GateFailed",
    "RollingBack",
    /** What the deployment had before is back and healthy. */
    "FormerHealthy",
    "FormerUnhealthy",
    "FormerMissing",
  ],
  Pruned: ["InProgress", "NothingLeft", "SomeLeft", "ContentMissing", "NamespaceClosed", "TimeOver"],
  Overridden: ["NoOverrides", "FieldsLeft"],
  /** Of the one that brought what is installed: whether `status.drift` tells all of it. Absent: it was not looked at yet. */
  Compared: ["AllCompared", "ContentMissing", "ContentChanged", "NamespaceClosed", "NotReadable", "OverridesFull"],
  Permitted: PERMITTED_REASONS,
} as const;

/** Approved, on a drain that the platform asked for, is the operator's; the others are the machine controller's. */
export const MACHINE_DRAIN_CONDITIONS = {
  Approved: ["GrantMatched", "PolicyAuto", "PolicyDenied", "NoGrant", "DeploymentNotAccepted"],
  Cordoned: ["CordonedByDrain", "CordonedBefore", "NotYet"],
  Drained: ["InProgress", "Empty", "NodeGone", "NodeUnreachable", "NodeNotFound"],
  /** False once nothing has left the node for ten minutes, and while the drain waits for its turn. */
  Progressing: [
    "Cordoning",
    "Evicting",
    "WaitingForPods",
    "Blocked",
    "Stalled",
    "AwaitingApproval",
    "Superseded",
    "Queued",
    "PoolInvalid",
    /** The node is not that of the machine that the wish is about, and the customer's word is for. */
    "OtherMachine",
    /** An admission policy that narrows the machine controller is not in force. */
    "PolicyMissing",
    "Ended",
  ],
  /** GoesOn: without force it goes on trying. */
  DeadlineExceeded: ["InTime", "GoesOn", "ForceNotAllowed", "Forced"],
  /** Only of a drain that is to remove its node. */
  Removed: ["InProgress", "Uncordoned", "NotLabelled", "NodeHeld", "NodeDeleted"],
} as const;

export type MachineDrainConditionType = keyof typeof MACHINE_DRAIN_CONDITIONS;
export type MachineDrainReason<Type extends MachineDrainConditionType = MachineDrainConditionType> =
  (typeof MACHINE_DRAIN_CONDITIONS)[Type][number];
export type RolloutConditionType = keyof typeof ROLLOUT_CONDITIONS;
export type RolloutReason<Type extends RolloutConditionType = RolloutConditionType> =
  (typeof ROLLOUT_CONDITIONS)[Type][number];
export type DebugSessionConditionType = keyof typeof DEBUG_SESSION_CONDITIONS;
export type DebugSessionReason<Type extends DebugSessionConditionType = DebugSessionConditionType> =
  (typeof DEBUG_SESSION_CONDITIONS)[Type][number];
export type GrantConditionType = keyof typeof GRANT_CONDITIONS;
export type GrantReason<Type extends GrantConditionType = GrantConditionType> = (typeof GRANT_CONDITIONS)[Type][number];
export type InvocationConditionType = keyof typeof INVOCATION_CONDITIONS;
export type InvocationReason<Type extends InvocationConditionType = InvocationConditionType> =
  (typeof INVOCATION_CONDITIONS)[Type][number];
export type ManagedDeploymentConditionType = keyof typeof MANAGED_DEPLOYMENT_CONDITIONS;
export type ManagedDeploymentReason<Type extends ManagedDeploymentConditionType = ManagedDeploymentConditionType> =
  (typeof MANAGED_DEPLOYMENT_CONDITIONS)[Type][number];
/** Whether the agent reaches the platform; the message says how to repair it. */
export type ConnectedReason = ManagedDeploymentReason<"Connected">;
