import { GROUP, objectName, VERSION } from "../../crds/group.ts";
import {
  OPERATION_INVOCATION,
  type OperationInvocation,
  type OperationInvocationSpec,
} from "../../crds/kinds/operation-invocation.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { sameParams } from "../../crds/plan.ts";
import { type CommandEnd, endOf, failed } from "./command-end.ts";
import type { ListedCommand, Run } from "./listed-command.ts";

/** All that is known of one command. */
export interface CommandFacts {
  readonly command: ListedCommand;
  /** The customer accepts its deployment. */
  readonly accepted: boolean;
  /** As the API server has it, not only the cache: whether it exists decides whether it may be created. */
  readonly invocation: OperationInvocation | undefined;
  /** This process has seen the invocation. If it is absent now, it was deleted. */
  readonly seen: boolean;
}

export type NewInvocation = Omit<OperationInvocation, "metadata" | "status"> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
};

/** The next thing to do; carried out, the facts are read again and the next one decided. */
export type CommandStep =
  | { readonly do: "dispatch"; readonly dispatchedAt: string }
  | { readonly do: "create"; readonly invocation: NewInvocation }
  | { readonly do: "complete"; readonly end: CommandEnd }
  /** The operator is at work, or the platform ends it: an event will tell. */
  | { readonly do: "wait" }
  /** The platform has its end. */
  | { readonly do: "forget" };

/**
 * What has to happen for this command next, at `now`. Pure.
 *
 * The promises: no claim and no invocation for a deployment that the customer does not accept; `dispatch` is the one
 * claim, and an invocation is created only after it; the object's name is the command's id, so a second create is
 * refused by the API server; one that was seen and is gone is not made again. Decided from stored facts alone: after a
 * crash anywhere the next run goes on where this one stopped.
 */
export function nextStep(facts: CommandFacts, grantsNamespace: string, now: Date): CommandStep {
  const { command, accepted, invocation, seen } = facts;
  if (command.state !== "PENDING" && command.state !== "DISPATCHED") return { do: "forget" };
  // Not claimed, so that it may still run when the customer accepts in time; else the platform ends it.
  if (!accepted && command.state === "PENDING") return { do: "wait" };
  if (!command.wanted.fit) return { do: "complete", end: failed("COMMAND_HELD", command.wanted.problem, now) };
  const { run } = command.wanted;
  if (command.state === "PENDING") {
    // Past the deadline a dispatch loses, and the platform has ended the command by itself (§16.3).
    return isOver(command, now) ? { do: "forget" } : { do: "dispatch", dispatchedAt: now.toISOString() };
  }
  if (invocation !== undefined) {
    if (!isOf(invocation, command, run)) return { do: "complete", end: failed("COMMAND_HELD", OTHER, now) };
    const end = endOf(invocation, now);
    return end === undefined ? { do: "wait" } : { do: "complete", end };
  }
  if (seen) return { do: "complete", end: failed("OUTCOME_UNKNOWN", GONE, now) };
  if (isOver(command, now)) return { do: "complete", end: { state: "EXPIRED", completedAt: now.toISOString() } };
  if (!accepted) return { do: "complete", end: failed("COMMAND_HELD", NOT_ACCEPTED, now) };
  return { do: "create", invocation: invocationOf(command, run, grantsNamespace) };
}

const NOT_ACCEPTED = "the customer does not accept this deployment (any more)";
const OTHER = "another invocation has this command's name in the cluster";
const GONE = "the invocation was deleted in the cluster before its end was reported";

function isOver({ deadline }: ListedCommand, now: Date): boolean {
  return deadline !== undefined && Date.parse(deadline) <= now.getTime();
}

/**
 * Names are in lower case, ids are not: two ids can meet in one name. An object of another source is never taken for
 * ours.
 */
function isOf({ spec }: OperationInvocation, command: ListedCommand, run: Run): boolean {
  return (
    spec.commandId === command.id &&
    spec.deploymentId === command.deploymentId &&
    spec.plugin === run.plugin &&
    spec.operation === run.operation &&
    spec.grantName === grantNameOf(run) &&
    sameParams(spec.params, run.params)
  );
}

function invocationOf(command: ListedCommand, run: Run, namespace: string): NewInvocation {
  const grantName = grantNameOf(run);
  const spec: OperationInvocationSpec = {
    commandId: command.id,
    deploymentId: command.deploymentId,
    plugin: run.plugin,
    operation: run.operation,
    // For people to read; the operator goes by its own knowledge.
    tier: BUILT_IN.tierOf(`${run.plugin}/${run.operation}`),
    params: run.params,
    ...(command.deadline === undefined ? {} : { deadline: command.deadline }),
    ...(grantName === undefined ? {} : { grantName }),
    attempt: run.attempt,
  };
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: OPERATION_INVOCATION.kind,
    metadata: { name: objectName(command.id), namespace },
    spec,
  };
}

function grantNameOf({ accessRequestId }: Run): string | undefined {
  return accessRequestId === undefined ? undefined : objectName(accessRequestId);
}
