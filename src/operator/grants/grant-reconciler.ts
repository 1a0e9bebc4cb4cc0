import type { Clock } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import { type AccessGrant, type AccessGrantStatus, FINAL_GRANT_STATES } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import type { Access } from "../access/access.ts";
import { plannedNamespaces, plannedPlaces } from "../access/planned-places.ts";
import type { Rights } from "../access/rights.ts";
import type { PlanLending, RoleLending } from "../access/role-lending.ts";
import type { Enforcement } from "../gate/enforcement.ts";
import type { CommandProblem } from "../gate/gate.ts";
import { openedWindow } from "../gate/grant-window.ts";
import type { CustomerPolicy } from "../gate/policy.ts";
import type { EventPublisher } from "../kernel/event-publisher.ts";
import type { OperatorMetrics } from "../kernel/metrics.ts";
import type { RunningOperations } from "../operations/running-operations.ts";
import { ANY_NAMESPACE } from "./grant-conditions.ts";
import { decideGrant } from "./grant-decision.ts";
import type { Linked } from "./receipt-chain.ts";

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface GrantPorts {
  readonly clock: Clock;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  /** From the caches. */
  readonly grant: (key: string) => AccessGrant | undefined;
  readonly invocation: (commandId: string) => OperationInvocation | undefined;
  readonly session?: (sessionId: string) => DebugSession | undefined;
  readonly drain?: (commandId: string) => MachineDrain | undefined;
  readonly policy: () => CustomerPolicy;
  /** What this installation knows of commands. */
  readonly commands: CommandTable;
  /** Why an operation of a plugin cannot run here. */
  readonly problemOf?: (command: string) => CommandProblem | undefined;
  /** Commands of debug sessions that are switched off here. */
  readonly switchedOff?: readonly string[];
  /** Where the customer accepts a deployment; undefined when this cluster serves none of that id. */
  readonly acceptedOf: (deploymentId: string) => readonly string[] | undefined;
  readonly enforcement: () => Enforcement;
  readonly rights: Pick<Rights, "missingFor" | "obstacle">;
  /** With the resourceVersion that was read. */
  readonly writeStatus: (grant: AccessGrant, status: AccessGrantStatus, signal: AbortSignal) => Promise<AccessGrant>;
  readonly linkReceipt: (grant: AccessGrant, signal: AbortSignal) => Promise<Linked>;
  readonly access: Pick<Access, "closeAll">;
  readonly roleLending: Pick<RoleLending, "ofPlan">;
  readonly running: Pick<RunningOperations, "stop">;
  readonly metrics: Pick<OperatorMetrics, "transition">;
  readonly publisher: Pick<EventPublisher, "grantBecame">;
}

/** Another write came in between, most likely this operator's own claim of a line; its event is on the way. */
const AFTER_CONFLICT_MS = 20;

/** The shell around {@link decideGrant}: carries out, decides nothing. */
export async function reconcileGrant(key: string, ports: GrantPorts, context: ReconcileContext): Promise<Result> {
  const grant = ports.grant(key);
  if (grant === undefined) return undefined;
  const facts = {
    grant,
    policy: ports.policy(),
    enforcement: ports.enforcement(),
    commands: ports.commands,
    ...(ports.problemOf && { problemOf: ports.problemOf }),
    invocationOf: ports.invocation,
    ...(ports.session && { sessionOf: ports.session }),
    ...(ports.drain && { drainOf: ports.drain }),
    missing: ports.rights.missingFor(grant),
    ...(ports.switchedOff && { switchedOff: ports.switchedOff }),
    unaccepted: unacceptedOf(grant, ports),
    isBlind: ports.rights.obstacle !== undefined,
    lending: await lendingOf(grant, ports, context.signal),
  };
  let result: Result;
  for (const action of decideGrant(facts, ports.clock.wallNow())) {
    context.signal.throwIfAborted(); // Leadership may end between two writes.
    ports.fence();
    if (action.do === "stopRunning") {
      const stopped = ports.running.stop(grant.metadata.uid, action.because);
      if (stopped > 0) context.log.info({ stopped, because: action.because }, "running operations told to stop");
    } else if (action.do === "closeAccess") {
      await ports.access.closeAll(grant.metadata.uid, plannedPlaces(grant, ports.commands), context.signal);
    } else if (action.do === "writeStatus") {
      if (!(await written(grant, action.status, ports, context))) return { requeueAfterMs: AFTER_CONFLICT_MS };
    } else if (action.do === "linkReceipt") {
      const linked = await ports.linkReceipt(grant, context.signal);
      if (linked === "again") return { requeueAfterMs: AFTER_CONFLICT_MS };
      if (linked === "no deployment")
        context.log.debug({ name: grant.metadata.name }, "receipt waits for its deployment");
    } else result = { requeueAfterMs: action.afterMs };
  }
  return result;
}

async function written(
  grant: AccessGrant,
  status: AccessGrantStatus,
  ports: GrantPorts,
  { signal, log }: ReconcileContext,
): Promise<boolean> {
  try {
    const stored = await ports.writeStatus(grant, status, signal);
    const from = grant.status?.state ?? "none";
    const to = status.state ?? "Pending";
    if (from === to) return true;
    ports.metrics.transition(from, to);
    ports.publisher.grantBecame(stored, to);
    log.info({ from, to, approvedUntil: status.approvedUntil }, "grant changed state");
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.isConflict) return false;
    throw error;
  }
}

/** Where the plan acts and nothing of it would pass the gate. */
function unacceptedOf(
  grant: AccessGrant,
  { acceptedOf, commands }: Pick<GrantPorts, "acceptedOf" | "commands">,
): readonly string[] {
  const accepted = acceptedOf(grant.spec.deploymentId) ?? [];
  const isWide = plannedPlaces(grant, commands).includes(undefined);
  if (isWide && accepted.length === 0 && plannedNamespaces(grant).length === 0) return [ANY_NAMESPACE];
  return plannedNamespaces(grant).filter((namespace) => !accepted.includes(namespace));
}

/** What is to be ended does not wait for a look at bindings, and a look does not outlast the window. */
async function lendingOf(
  grant: AccessGrant,
  { clock, roleLending }: GrantPorts,
  signal: AbortSignal,
): Promise<PlanLending | undefined> {
  const until = openedWindow(grant)?.until;
  const leftMs = until === undefined ? undefined : until.getTime() - clock.wallNow().getTime();
  if (isStopped(grant) || (leftMs !== undefined && leftMs <= 0)) return undefined;
  return await withDeadline(clock, leftMs, signal, (deadline) => roleLending.ofPlan(grant, deadline));
}

/** By a person, or over already. */
function isStopped({ metadata, spec, status }: AccessGrant): boolean {
  const stopped = metadata.deletionTimestamp ?? spec.revokedReason ?? spec.deniedReason;
  return stopped !== undefined || FINAL_GRANT_STATES.some((final) => final === status?.state);
}
