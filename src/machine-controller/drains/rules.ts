import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { parseSelector, type Requirement } from "../../kube/objects/label-match.ts";

/** What the customer allows drains of one pool, and of the nodes that are of none. */
export interface DrainRules {
  /** Undefined: of no pool. */
  readonly pool: string | undefined;
  readonly defaultDeadlineMs: number;
  readonly allowForce: boolean;
  readonly deleteEmptyDir: boolean;
  /** A pod that one of these selects stays. */
  readonly skip: readonly (readonly Requirement[])[];
  /** Drains of this pool that may run at a time. */
  readonly maxParallel: number;
  /** Why no drain may begin: the pool says something that cannot be understood. */
  readonly problem?: string;
}

const MINUTE_MS = 60_000;

/** Of a node that no pool names. */
export const STRICT_RULES: DrainRules = {
  pool: undefined,
  defaultDeadlineMs: 60 * MINUTE_MS,
  allowForce: false,
  deleteEmptyDir: true,
  skip: [],
  maxParallel: 1,
};

export function rulesOf(pool: Pick<MachinePool, "metadata" | "spec"> | undefined): DrainRules {
  if (pool === undefined) return STRICT_RULES;
  const { name } = pool.metadata;
  const { defaultDeadlineMinutes = 60, allowForce, deleteEmptyDir, skip = [], maxParallel } = pool.spec.drain ?? {};
  const parsed = skip.map(parseSelector);
  const wrong = skip.find((_, index) => parsed[index] === undefined);
  return {
    pool: name,
    defaultDeadlineMs: defaultDeadlineMinutes * MINUTE_MS,
    allowForce: allowForce ?? STRICT_RULES.allowForce,
    deleteEmptyDir: deleteEmptyDir ?? STRICT_RULES.deleteEmptyDir,
    skip: parsed.filter((each) => each !== undefined),
    maxParallel: maxParallel ?? STRICT_RULES.maxParallel,
    ...(wrong !== undefined && {
      problem: `spec.drain.skip of MachinePool ${name} has what is no label selector: ${wrong}`,
    }),
  };
}

interface Member {
  readonly spec: { readonly pool: string; readonly nodeName: string; readonly machineId: string };
  readonly status?: { readonly state?: string };
}

/** The pool that a node is of: that of its join, or else the one whose prefix its name begins with. */
export function poolOf<P extends Pick<MachinePool, "metadata" | "spec">>(
  nodeName: string,
  joins: Iterable<Member>,
  pools: Iterable<P>,
): P | undefined {
  const all = [...pools];
  for (const { spec, status } of joins) {
    if (spec.nodeName !== nodeName || !["Issued", "Joined", "Removed"].includes(status?.state ?? "")) continue;
    const pool = all.find(({ metadata }) => metadata.name === spec.pool);
    if (pool !== undefined) return pool;
  }
  const prefix = (pool: P): string => pool.spec.namePrefix ?? "m-";
  const older = (one: P, other: P): number =>
    prefix(other).length - prefix(one).length ||
    one.metadata.creationTimestamp.localeCompare(other.metadata.creationTimestamp) ||
    one.metadata.name.localeCompare(other.metadata.name);
  return all.filter((pool) => nodeName.startsWith(prefix(pool))).sort(older)[0];
}

/**
 * Whether a drain is for the node of the machine that it is about. The agent writes both names; the policy and the grant
 * that cover the drain know the machine alone, and must let no other node be emptied, such as a control plane's.
 */
export function isOfItsMachine(
  { nodeName, requested }: MachineDrain["spec"],
  joins: Iterable<Member>,
  pools: Iterable<Pick<MachinePool, "metadata" | "spec">>,
): boolean {
  if (requested === undefined) return true;
  const { deploymentId, machineId } = requested;
  const named = [...joins].filter(({ spec }) => spec.nodeName === nodeName);
  const pool = poolOf(nodeName, named, pools);
  if (pool?.spec.deploymentId !== deploymentId) return false;
  const came = named.filter(({ status }) => status?.state === "Issued" || status?.state === "Joined");
  // A node of the pool's prefix that came by no join is a machine of its own name.
  if (came.length === 0) return machineId === nodeName;
  return came.some(({ spec }) => spec.pool === pool.metadata.name && spec.machineId === machineId);
}
