import type { MachinePool } from "../../crds/kinds/machine-pool.ts";

/** What a pool's nodes begin with where it says nothing: the kind's own default. */
const PREFIX = "m-";

export function prefixOf({ spec }: MachinePool): string {
  return spec.namePrefix ?? PREFIX;
}

/** The pools that act: of each deployment the oldest, by creation and then by name. The others are Superseded. */
export function actingPools(pools: Iterable<MachinePool>): readonly MachinePool[] {
  const acting = new Map<string, MachinePool>();
  for (const pool of pools) {
    if (pool.metadata.deletionTimestamp !== undefined) continue;
    const { deploymentId } = pool.spec;
    const other = acting.get(deploymentId);
    if (other === undefined || isOlder(pool, other)) acting.set(deploymentId, pool);
  }
  return [...acting.values()];
}

function isOlder({ metadata: one }: MachinePool, { metadata: other }: MachinePool): boolean {
  if (one.creationTimestamp !== other.creationTimestamp) return one.creationTimestamp < other.creationTimestamp;
  return one.name < other.name;
}
