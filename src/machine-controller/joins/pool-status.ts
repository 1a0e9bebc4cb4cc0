import { isDeepStrictEqual } from "node:util";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool, MachinePoolStatus } from "../../crds/kinds/machine-pool.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { type Condition, withCondition } from "../../kube/objects/conditions.ts";

/** As long as the platform takes a join server for there that says nothing: it speaks each minute. */
const SILENT_MS = 180_000;

/** The pools of one deployment, the acting one first: the oldest. */
export function poolsOf(deploymentId: string, pools: Iterable<MachinePool>): readonly MachinePool[] {
  const of = [...pools].filter(({ spec }) => spec.deploymentId === deploymentId);
  const at = ({ metadata }: MachinePool): string => `${metadata.creationTimestamp} ${metadata.name}`;
  return of.sort((one, other) => (at(one) < at(other) ? -1 : 1));
}

export interface PoolPorts {
  readonly now: () => Date;
  readonly fence: () => void;
  readonly pool: (key: string) => MachinePool | undefined;
  readonly pools: () => Iterable<MachinePool>;
  readonly joins: () => Iterable<MachineJoin>;
  /** What keeps this process from signing; undefined: nothing. */
  readonly obstacle: () => string | undefined;
  /** Why no certificate to serve with can be approved, as the API server last said; undefined: it has not refused any. */
  readonly servingObstacle: () => string | undefined;
  readonly writeStatus: (pool: MachinePool, status: MachinePoolStatus, signal: AbortSignal) => Promise<unknown>;
}

/** How many have joined and wait, and whether machines may join at all. */
export async function reconcilePool(key: string, ports: PoolPorts, { signal }: ReconcileContext): Promise<Result> {
  const pool = ports.pool(key);
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return undefined;
  const joins = [...ports.joins()].filter(({ spec }) => spec.pool === pool.metadata.name);
  const status = poolStatus(
    pool,
    poolsOf(pool.spec.deploymentId, ports.pools())[0],
    joins,
    { signing: ports.obstacle(), serving: ports.servingObstacle() },
    ports.now(),
  );
  if (!isDeepStrictEqual(status, pool.status)) {
    ports.fence();
    await ports.writeStatus(pool, status, signal);
  }
  const left = silentInMs(pool, ports.now());
  return left > 0 && left !== NEVER ? { requeueAfterMs: left } : undefined;
}

const NEVER = Number.POSITIVE_INFINITY;

/** Until its join server counts as silent; of a pool without one it never does. */
function silentInMs({ status }: MachinePool, now: Date): number {
  const at = status?.joinServer?.at;
  return at === undefined ? NEVER : Date.parse(at) + SILENT_MS - now.getTime();
}

function poolStatus(
  pool: MachinePool,
  acting: MachinePool | undefined,
  joins: readonly MachineJoin[],
  obstacles: { readonly signing: string | undefined; readonly serving: string | undefined },
  now: Date,
): MachinePoolStatus {
  const count = (...states: readonly string[]): number =>
    joins.filter(({ status }) => states.includes(status?.state ?? "Waiting")).length;
  const observedGeneration = pool.metadata.generation ?? 0;
  const isKept = ({ type }: { readonly type: string }): boolean => type !== SERVING || pool.spec.serving === "approve";
  let conditions = (pool.status?.conditions ?? []).filter(isKept) as readonly Condition[];
  const said = [ready(pool, acting, obstacles.signing, now), ...signer(joins), ...serving(pool, obstacles.serving)];
  for (const [type, status, reason, message] of said) {
    conditions = withCondition(conditions, { type, status, reason, message, observedGeneration }, now);
  }
  return {
    ...pool.status,
    joined: count("Joined"),
    waiting: count("Waiting", "Approved", "Signing", "Issued"),
    observedGeneration,
    conditions: conditions.map((each) => ({ ...each })),
  };
}

const SERVING = "ServingApproved";
type Said = readonly [type: string, status: Condition["status"], reason: string, message: string];

function ready(pool: MachinePool, acting: MachinePool | undefined, obstacle: string | undefined, now: Date): Said {
  if (acting !== undefined && acting.metadata.name !== pool.metadata.name) {
    return ["Ready", "False", "Superseded", `machinepool ${acting.metadata.name} of this deployment is older and acts`];
  }
  if (obstacle !== undefined) return ["Ready", "False", "PolicyMissing", obstacle];
  if (pool.status?.joinServer === undefined) {
    return ["Ready", "False", "NoJoinServer", "no join server has said yet how machines reach it"];
  }
  if (silentInMs(pool, now) <= 0) {
    const message = `no join server has said since ${pool.status.joinServer.at} how machines reach it`;
    return ["Ready", "False", "JoinServerSilent", message];
  }
  return ["Ready", "True", "Ready", "machines may ask to join"];
}

/** What the last signed or refused join says of the cluster's signer; nothing before there was one. */
function signer(joins: readonly MachineJoin[]): readonly Said[] {
  const told = joins.flatMap(({ status }) => status?.conditions?.filter(({ type }) => type === "Signed") ?? []);
  const [last] = told
    .filter(({ status }) => status !== "Unknown")
    .sort((one, other) => (one.lastTransitionTime < other.lastTransitionTime ? 1 : -1));
  if (last === undefined) return [];
  if (last.status === "True")
    return [["SignerWorks", "True", "Signed", "the cluster's signer signs certificates of nodes"]];
  return [["SignerWorks", "False", last.reason, last.message]];
}

/** Whether its kubelets get certificates to serve with; nothing where the pool does not ask for it. */
function serving({ spec }: MachinePool, obstacle: string | undefined): readonly Said[] {
  if (spec.serving !== "approve") return [];
  if (spec.apiServer === undefined) {
    return [
      [SERVING, "False", "NoApiServer", "set spec.apiServer, so that no machine gets a certificate for its address"],
    ];
  }
  if (obstacle !== undefined) return [[SERVING, "False", "RightMissing", obstacle]];
  return [[SERVING, "True", "Approves", "kubelets of its machines get certificates for their nodes' own names"]];
}
