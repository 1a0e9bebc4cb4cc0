import type { Clock } from "../../base/clock.ts";
import type { NamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import type { AccessGrant, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { OperationPolicy } from "../../crds/kinds/operation-policy.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { type Condition, withCondition } from "../../kube/objects/conditions.ts";
import { claimDigest } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import { type DrainFacts, type DrainVerdict, drainCommandId, drainVerdict } from "./drain-gate.ts";

/** What the gate reads besides the drain. */
export interface DrainGateFacts {
  readonly grants: readonly AccessGrant[];
  readonly policies: readonly Pick<OperationPolicy, "spec">[];
  readonly deployments: readonly Pick<ManagedDeployment, "spec" | "status">[];
}

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface DrainPorts {
  readonly clock: Clock;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  /** From the cache. */
  readonly drain: (key: string) => MachineDrain | undefined;
  readonly facts: () => DrainGateFacts;
  /** Why nothing may be allowed now: a right of the operator's own is missing. */
  readonly obstacle: () => string | undefined;
  readonly named: NamedDeployments;
  readonly commands: CommandTable;
  /** Both with the resourceVersion that was read. */
  readonly writeDrain: (drain: MachineDrain, status: MachineDrainStatus, signal: AbortSignal) => Promise<MachineDrain>;
  readonly writeGrant: (grant: AccessGrant, status: AccessGrantStatus, signal: AbortSignal) => Promise<AccessGrant>;
}

const AFTER_CONFLICT_MS = 20;
const AFTER_OBSTACLE_MS = 5_000;
const LOOK_AT_MOST_MS = 24 * 3_600_000;
const MAX_MESSAGE = 1_024;

/**
 * One drain that the platform asks for: gate → claim the plan's line → condition Approved. The machine controller acts on
 * that condition alone. Each step is one write, so a crash between the two is resumed: the line says which drain used it.
 */
export async function reconcileDrain(key: string, ports: DrainPorts, context: ReconcileContext): Promise<Result> {
  const drain = ports.drain(key);
  if (drain === undefined || drain.metadata.deletionTimestamp !== undefined || isOver(drain)) return undefined;
  if (!isRequested(drain)) return undefined;
  const { policies, ...rest } = ports.facts();
  const policy = mergePolicies(policies);
  const verdict = drainVerdict({
    ...rest,
    drain,
    policy,
    commands: ports.commands,
    named: ports.named,
    now: ports.clock.wallNow(),
  });
  // Rights that are missing may hide what people decided since. What is allowed already is left as it is.
  const obstacle = verdict.approved ? ports.obstacle() : undefined;
  if (obstacle !== undefined && !isApproved(drain)) {
    await say(drain, { approved: false, reason: "NoGrant", message: obstacle }, ports, context);
    return { requeueAfterMs: AFTER_OBSTACLE_MS };
  }
  try {
    if (verdict.approved) await claim(drain, verdict, ports, context);
    await say(drain, verdict, ports, context);
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    // The machine controller writes the same status, another drain the same grant: the next look has the newer version.
    return { requeueAfterMs: AFTER_CONFLICT_MS };
  }
  return verdict.againMs === undefined
    ? undefined
    : { requeueAfterMs: Math.min(Math.max(verdict.againMs, 1), LOOK_AT_MOST_MS) };
}

function isRequested(drain: MachineDrain): drain is DrainFacts["drain"] {
  return drain.spec.requested !== undefined;
}

function conditionOf({ status }: MachineDrain, type: string): Condition | undefined {
  return (status?.conditions as readonly Condition[] | undefined)?.find((each) => each.type === type);
}

function isApproved(drain: MachineDrain): boolean {
  return conditionOf(drain, "Approved")?.status === "True";
}

/** Nothing more is done for it. A node that is to be removed is not, while it is only empty. */
function isOver(drain: MachineDrain): boolean {
  const { state } = drain.status ?? {};
  if (state === "Failed") return true;
  if (state !== "Drained") return false;
  return drain.spec.requested?.remove !== true || conditionOf(drain, "Removed")?.status === "True";
}

/** A lost race is a 409: the plan has moved on, and the drain is judged again. */
async function claim(
  drain: MachineDrain,
  { granted }: Extract<DrainVerdict, { approved: true }>,
  ports: DrainPorts,
  { signal }: ReconcileContext,
): Promise<void> {
  if (granted === undefined || granted.claimed) return;
  const { index, grant } = granted;
  const line = {
    index,
    state: "Starting" as const,
    commandId: drainCommandId(drain),
    digest: claimDigest(drain.metadata.uid),
  };
  const others = (grant.status?.commands ?? []).filter((each) => each.index !== index);
  const commands = [...others, line].sort((one, other) => one.index - other.index);
  signal.throwIfAborted();
  ports.fence();
  await ports.writeGrant(grant, { ...grant.status, commands }, signal);
}

async function say(
  drain: MachineDrain,
  { approved, reason, message }: Pick<DrainVerdict, "approved" | "reason" | "message">,
  ports: DrainPorts,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const before = conditionOf(drain, "Approved");
  const said = {
    type: "Approved",
    status: approved ? ("True" as const) : ("False" as const),
    reason,
    message: lineWithoutCommands(message, MAX_MESSAGE),
    observedGeneration: drain.metadata.generation ?? 0,
  };
  if (before?.status === said.status && before.reason === said.reason && before.message === said.message) return;
  const known = (drain.status?.conditions ?? []) as readonly Condition[];
  const conditions = withCondition(known, said, ports.clock.wallNow()).map((each) => ({ ...each }));
  signal.throwIfAborted();
  ports.fence();
  await ports.writeDrain(drain, { ...drain.status, conditions }, signal);
  log.info({ node: drain.spec.nodeName, approved, reason }, "drain that the platform asks for was judged");
}
