import type { InvocationConditionType, InvocationReason } from "../../crds/conditions.ts";
import type { OperationInvocation, OperationInvocationStatus } from "../../crds/kinds/operation-invocation.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { type Condition, timestamp, withCondition } from "../../kube/objects/conditions.ts";
import type { Refusal } from "../gate/gate.ts";
import type { Outcome } from "./execution.ts";

type Said<T extends InvocationConditionType> = {
  readonly status: Condition["status"];
  readonly reason: InvocationReason<T>;
  readonly message: string;
};

interface Next {
  readonly fields: Omit<OperationInvocationStatus, "conditions" | "observedGeneration">;
  /** Left out: what was said stays. */
  readonly authorized?: Said<"Authorized">;
  readonly completed: Said<"Completed">;
}

const NOT_YET: Said<"Completed"> = { status: "Unknown", reason: "NotStarted", message: "it has not started" };
const NOT_EVER: Said<"Completed"> = { status: "False", reason: "NotStarted", message: "it did not start and will not" };

/** Waits: for the grant's window to be recorded, for a right of the operator's own, or for an approver's binding. */
export function waiting(
  invocation: OperationInvocation,
  reason: "NoGrant" | "RuleMissing" | "AwaitingBinding" | "TooManyOpen",
  message: string,
  now: Date,
): OperationInvocationStatus {
  const authorized = { status: "Unknown", reason, message } as const;
  return next(invocation, { fields: { state: "Pending" }, authorized, completed: NOT_YET }, now);
}

/** Refused; final. */
export function held(
  invocation: OperationInvocation,
  reason: Refusal,
  message: string,
  now: Date,
): OperationInvocationStatus {
  const error = { code: "COMMAND_HELD", message: lineWithoutCommands(`${reason}: ${message}`, 4_096) };
  const fields = { state: "Held", finishedAt: timestamp(now), error } as const;
  return next(invocation, { fields, authorized: { status: "False", reason, message }, completed: NOT_EVER }, now);
}

export function expired(invocation: OperationInvocation, message: string, now: Date): OperationInvocationStatus {
  const authorized = { status: "False", reason: "DeadlinePassed", message } as const;
  const fields = { state: "Expired", finishedAt: timestamp(now) } as const;
  return next(invocation, { fields, authorized, completed: NOT_EVER }, now);
}

/**
 * The claim: the process that has stored this runs the operation, and no other one ever does.
 *
 * @param claimant unique to this attempt, to recognise the own write when its answer was lost.
 */
export function running(
  invocation: OperationInvocation,
  reason: "GrantMatched" | "PolicyAuto",
  claimant: string,
  now: Date,
): OperationInvocationStatus {
  const message = reason === "GrantMatched" ? "a line of the approved plan" : "the customer's policy says auto";
  const fields = { state: "Running", startedAt: timestamp(now) } as const;
  const completed = { status: "Unknown", reason: "Running", message: claimant } as const;
  return next(invocation, { fields, authorized: { status: "True", reason, message }, completed }, now);
}

export function isClaimedBy({ status }: OperationInvocation, claimant: string): boolean {
  const completed = status?.conditions?.find(({ type }) => type === "Completed");
  return status?.state === "Running" && completed?.message === lineWithoutCommands(claimant, 1_024);
}

export function ended(invocation: OperationInvocation, outcome: Outcome, now: Date): OperationInvocationStatus {
  const finishedAt = timestamp(now);
  switch (outcome.state) {
    case "Succeeded": {
      const fields = { state: "Succeeded", finishedAt, result: outcome.result } as const;
      return next(invocation, { fields, completed: { status: "True", reason: "Succeeded", message: "done" } }, now);
    }
    case "Failed": {
      const { code } = outcome;
      const message = lineWithoutCommands(outcome.message, 4_096);
      const fields = { state: "Failed", finishedAt, error: { code, message } } as const;
      return next(invocation, { fields, completed: { status: "False", reason: "Failed", message } }, now);
    }
    case "Unknown": {
      const message = lineWithoutCommands(outcome.message, 4_096);
      const fields = { state: "Unknown", finishedAt, error: { code: "OUTCOME_UNKNOWN", message } } as const;
      return next(invocation, { fields, completed: { status: "Unknown", reason: "OutcomeUnknown", message } }, now);
    }
  }
}

function next(
  invocation: OperationInvocation,
  { fields, authorized, completed }: Next,
  now: Date,
): OperationInvocationStatus {
  const observedGeneration = invocation.metadata.generation ?? 0;
  const { status } = invocation;
  let conditions: readonly Condition[] = (status?.conditions ?? []).map((known) => ({ observedGeneration, ...known }));
  for (const [type, said] of Object.entries({ Authorized: authorized, Completed: completed })) {
    if (said === undefined) continue;
    const message = lineWithoutCommands(said.message, 1_024);
    conditions = withCondition(conditions, { ...said, type, message, observedGeneration }, now);
  }
  return { ...status, ...fields, observedGeneration, conditions: [...conditions] };
}
