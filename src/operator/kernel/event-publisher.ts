import type { AccessGrant, GrantState } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { type EventReference, referenceTo } from "../../kube/events/event.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";

/** Reasons of our Kubernetes events: closed, because people alert on them. */
const GRANT_EVENTS: Readonly<Record<GrantState, { readonly reason: string; readonly type: "Normal" | "Warning" }>> = {
  Pending: { reason: "GrantProposed", type: "Normal" },
  Approved: { reason: "GrantApproved", type: "Normal" },
  Denied: { reason: "GrantDenied", type: "Normal" },
  Lapsed: { reason: "GrantLapsed", type: "Warning" },
  Revoked: { reason: "GrantRevoked", type: "Warning" },
  Expired: { reason: "GrantExpired", type: "Normal" },
  Superseded: { reason: "GrantSuperseded", type: "Warning" },
  Completed: { reason: "GrantCompleted", type: "Normal" },
};

const INVOCATION_EVENTS = {
  Running: { reason: "OperationStarted", type: "Normal" },
  Succeeded: { reason: "OperationSucceeded", type: "Normal" },
  Failed: { reason: "OperationFailed", type: "Warning" },
  Held: { reason: "OperationHeld", type: "Warning" },
  Expired: { reason: "OperationExpired", type: "Warning" },
  Unknown: { reason: "OutcomeUnknown", type: "Warning" },
} as const;

const SESSION_EVENTS = {
  Opened: { type: "Normal", action: "OpenSession" },
  Attached: { type: "Normal", action: "Attach" },
  Denied: { type: "Warning", action: "OpenSession" },
  Ended: { type: "Normal", action: "EndSession" },
} as const;
export type SessionEvent = keyof typeof SESSION_EVENTS;

const ROLLOUT_EVENTS = {
  Planned: { type: "Normal", action: "Plan" },
  ApprovalNeeded: { type: "Normal", action: "Plan" },
  WaveApplied: { type: "Normal", action: "Apply" },
  FieldOverridden: { type: "Warning", action: "Apply" },
  GateFailed: { type: "Warning", action: "Gate" },
  RolledBack: { type: "Warning", action: "RollBack" },
  Pruned: { type: "Normal", action: "Prune" },
  Failed: { type: "Warning", action: "EndRollout" },
} as const;
export type RolloutEvent = keyof typeof ROLLOUT_EVENTS;

/** Publishes one Kubernetes event a change of a grant or an invocation: what `kubectl describe` shows. */
export class EventPublisher {
  readonly #recorder: Pick<EventRecorder, "record">;

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  grantBecame(grant: AccessGrant, state: GrantState): void {
    const { reason, type } = GRANT_EVENTS[state];
    const said = grant.status?.conditions?.find((condition) => condition.type === "Approved");
    this.#publish(referenceTo(grant), type, reason, "Decide", `${said?.reason ?? state}: ${said?.message ?? ""}`);
  }

  invocationBecame(invocation: OperationInvocation, state: keyof typeof INVOCATION_EVENTS, message: string): void {
    const { reason, type } = INVOCATION_EVENTS[state];
    const { plugin, operation } = invocation.spec;
    this.#publish(referenceTo(invocation), type, reason, "RunOperation", `${plugin}/${operation}: ${message}`);
  }

  sessionBecame(session: DebugSession, reason: SessionEvent): void {
    const { type, action } = SESSION_EVENTS[reason];
    const { mode, namespace, owner } = session.spec;
    const { until, closeReason, conditions } = session.status ?? {};
    const said = conditions?.find((condition) => condition.type === "Authorized");
    const how = {
      Opened: `until ${until}`,
      Attached: `until ${until}`,
      Ended: `${closeReason}`,
      Denied: `${said?.reason}: ${said?.message}`,
    };
    this.#publish(referenceTo(session), type, reason, action, `${mode} in ${namespace} for ${owner}, ${how[reason]}`);
  }

  /** @param deployment told the same, if it is there: its events are what a person looks at first */
  rolloutBecame(
    rollout: Rollout,
    reason: RolloutEvent,
    message: string,
    deployment?: Pick<ManagedDeployment, "apiVersion" | "kind" | "metadata">,
  ): void {
    const { type, action } = ROLLOUT_EVENTS[reason];
    const { waveOf } = rollout.status ?? {};
    const wave = reason === "WaveApplied" && waveOf !== undefined ? `, wave ${waveOf}` : "";
    const note = `${rollout.spec.action}${wave}: ${message}`;
    this.#publish(referenceTo(rollout), type, reason, action, note);
    if (deployment === undefined) return;
    this.#publish(referenceTo(deployment), type, reason, action, `${rollout.metadata.name}: ${note}`);
  }

  #publish(regarding: EventReference, type: "Normal" | "Warning", reason: string, action: string, note: string): void {
    this.#recorder.record({ regarding, type, reason, action, note: lineWithoutCommands(note, 512) });
  }
}
