import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";

type Pool = Pick<MachinePool, "metadata" | "spec">;
type Join = Pick<MachineJoin, "metadata" | "spec" | "status">;

/** What machines are told apart by: all pools of the cluster, and all joins. */
export interface Fleet {
  readonly pools: readonly Pool[];
  readonly joins: readonly Join[];
}

/** One machine of a deployment: the platform's id of it, and its node's name. */
export interface Member {
  readonly machineId: string;
  readonly nodeName: string;
  /** How it came; undefined for a node that only bears the prefix of the pool. */
  readonly join: Join | undefined;
}

const DEFAULT_PREFIX = "m-";
/** As long as the platform takes for an id. A node of a longer name can have joined in no way of ours. */
const MACHINE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** The machine has, or had, a certificate: the node of this name is it. */
const CAME: readonly string[] = ["Issued", "Joined"];
/** Has asked, and may still become a node. */
const COMING: readonly string[] = ["Waiting", "Approved", "Signing"];

/** The one pool that acts for a deployment: the oldest, then the first by name. Undefined: no machine is the deployment's. */
export function poolOf<P extends Pool>(deploymentId: string, pools: readonly P[]): P | undefined {
  return acting(pools).get(deploymentId);
}

/**
 * The machines of a deployment's pool. A node belongs to the pool of the join that it came by, else to the pool with the
 * longest prefix that its name begins with, so that it is one deployment's machine and no other's. A machine that waits to
 * become a node is there too. Pure.
 */
export function membersOf(deploymentId: string, fleet: Fleet, nodeNames: Iterable<string>): readonly Member[] {
  const pools = acting(fleet.pools);
  const pool = pools.get(deploymentId);
  if (pool === undefined) return [];
  const nodes = new Set(nodeNames);
  const came = new Map<string, Join>();
  const coming: Join[] = [];
  for (const join of byAge(fleet.joins)) {
    const state = join.status?.state ?? "Waiting";
    // Of a removed one that is refused already its node may still be there.
    if (CAME.includes(state) || (state === "Removed" && nodes.has(join.spec.nodeName)))
      came.set(join.spec.nodeName, join);
    else if (COMING.includes(state) && join.spec.pool === pool.metadata.name) coming.push(join);
  }
  const found = new Map<string, Member>();
  const add = (member: Member): void => {
    if (MACHINE_ID.test(member.machineId) && !found.has(member.machineId)) found.set(member.machineId, member);
  };
  for (const join of came.values()) {
    const { machineId, nodeName } = join.spec;
    if (join.spec.pool === pool.metadata.name) add({ machineId, nodeName, join });
  }
  for (const nodeName of nodes) {
    if (!came.has(nodeName) && prefixOwner(nodeName, pools.values()) === pool) {
      add({ machineId: nodeName, nodeName, join: undefined });
    }
  }
  for (const join of coming) add({ machineId: join.spec.machineId, nodeName: join.spec.nodeName, join });
  return [...found.values()];
}

const ENDED: readonly string[] = ["Denied", "Expired"];

/**
 * Joins that came to nothing, in any pool of the deployment: the newest one of each machine id that no machine has. They are
 * told with their reason, and are no machines.
 */
export function endedJoins(deploymentId: string, { pools, joins }: Fleet, members: readonly Member[]): readonly Join[] {
  const ours = new Set(
    pools.flatMap(({ metadata, spec }) => (spec.deploymentId === deploymentId ? metadata.name : [])),
  );
  const taken = new Set(members.map(({ machineId }) => machineId));
  const ended = byAge(joins).filter(({ spec, status }) => {
    return ours.has(spec.pool) && ENDED.includes(status?.state ?? "") && !taken.has(spec.machineId);
  });
  return [...new Map(ended.map((join) => [join.spec.machineId, join])).values()];
}

/** When the machine came to be: as the node that is there, else as one that asked to become it. */
export function bornAt(
  { join }: Member,
  node: { readonly metadata: { readonly creationTimestamp: string } } | undefined,
): string | undefined {
  return node?.metadata.creationTimestamp ?? join?.metadata.creationTimestamp;
}

function acting<P extends Pool>(pools: readonly P[]): ReadonlyMap<string, P> {
  const found = new Map<string, P>();
  for (const pool of byAge(pools)) {
    if (!found.has(pool.spec.deploymentId)) found.set(pool.spec.deploymentId, pool);
  }
  return found;
}

function prefixOwner(nodeName: string, pools: Iterable<Pool>): Pool | undefined {
  const prefix = ({ spec }: Pool): string => spec.namePrefix ?? DEFAULT_PREFIX;
  const matching = byAge([...pools]).filter((pool) => nodeName.startsWith(prefix(pool)));
  // A stable sort: of equal prefixes the older pool stays first.
  return matching.toSorted((a, b) => prefix(b).length - prefix(a).length)[0];
}

function byAge<T extends Pick<MachinePool, "metadata">>(objects: readonly T[]): readonly T[] {
  return objects.toSorted(
    ({ metadata: a }, { metadata: b }) =>
      a.creationTimestamp.localeCompare(b.creationTimestamp) || a.name.localeCompare(b.name),
  );
}
