import type { MachineProfile, PoolPlan, Selection } from "../../../contract/deployment-portal/deployment-portal.ts";
import type { Stack } from "../../../contract/deployments/stack.ts";
import type { StackSettings } from "../../../contract/deployments/stack-settings.ts";
import type { Machine } from "./machines.ts";
import { type Workload, workloadsOf } from "./workload.ts";

/** The usable part of a machine: daemons, the system and moved workloads need the rest (§8). */
const USABLE = 0.85;
const MIN_MACHINES = 1;
const MAX_MACHINES = 100;

type Pool = NonNullable<NonNullable<StackSettings["compute"]>["pools"]>[string];

/** Computes the machines of each pool. Deterministic: the same release, settings and catalogue give the same plan. */
export function computePlan(stack: Stack, settings: StackSettings, catalogue: readonly Machine[]): PoolPlan[] {
  const pools = Map.groupBy(workloadsOf(stack), ({ pool }) => pool);
  return [...pools]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([poolId, workloads]) => planPool(poolId, workloads, settings.compute?.pools?.[poolId], catalogue));
}

function planPool(
  poolId: string,
  workloads: readonly Workload[],
  settings: Pool | undefined,
  catalogue: readonly Machine[],
): PoolPlan {
  const needs = largest(workloads);
  const candidates = catalogue.filter((machine) => holdsOne(machine, needs)).sort((a, b) => a.cost - b.cost);
  const [cheapest] = candidates;
  const count = cheapest === undefined ? MIN_MACHINES : machinesFor(workloads, cheapest);
  const recommended: Selection | undefined =
    cheapest === undefined ? undefined : { mode: "fixed", machine: cheapest.name, machines: count };
  const wanted: Selection | undefined = settings && { ...settings, machine: settings.machine ?? cheapest?.name ?? "" };
  const problem = wanted === undefined ? undefined : problemOf(poolId, wanted, workloads, candidates);
  const selected =
    wanted !== undefined && wanted.machine !== "" && problem === undefined ? chosen(wanted) : recommended;
  const range = { min: MIN_MACHINES, max: MAX_MACHINES };
  return {
    poolId,
    workloads: workloads.map(({ id }) => id),
    requirements: needs,
    scale:
      wanted?.mode === "autoscale"
        ? { type: "autoscale", min: { ...range, default: MIN_MACHINES }, max: { ...range, default: count } }
        : { type: "fixed", machines: { ...range, default: count } },
    ...(selected && { selected }),
    ...(recommended && { recommended }),
    machines: candidates.map((machine) => ({
      machine: machine.name,
      profile: profileOf(machine),
      recommended: machine === cheapest,
    })),
    errors: [
      ...(cheapest === undefined ? [`no machine is large enough for pool ${poolId}`] : []),
      ...(problem === undefined ? [] : [problem]),
    ],
  };
}

/** The largest need of a single workload, separately in each dimension. */
function largest(workloads: readonly Workload[]): MachineProfile {
  const most = (of: (each: Workload) => number): number => Math.max(0, ...workloads.map(of));
  const gpu = workloads.flatMap((each) => each.gpu ?? []).sort((a, b) => b.count - a.count)[0];
  const architecture = workloads.find((each) => each.architecture !== undefined)?.architecture;
  return {
    cpu: String(most(({ cpu }) => cpu)),
    memoryBytes: most(({ memoryBytes }) => memoryBytes),
    ephemeralStorageBytes: most(({ diskBytes }) => diskBytes),
    ...(architecture !== undefined && { architecture }),
    ...(gpu !== undefined && { gpu: { type: gpu.type, count: gpu.count } }),
  };
}

function holdsOne(machine: Machine, needs: MachineProfile): boolean {
  const { architecture, gpu } = needs;
  return (
    machine.cpu >= Number(needs.cpu) &&
    machine.memoryBytes >= needs.memoryBytes &&
    machine.diskBytes >= needs.ephemeralStorageBytes &&
    (architecture == null || machine.architecture === architecture) &&
    (gpu == null || (machine.gpu?.type === gpu.type && machine.gpu.count >= gpu.count))
  );
}

/** The number of machines that hold all copies in the scarcest dimension, within the bounds of a pool. */
function machinesFor(workloads: readonly Workload[], machine: Machine): number {
  const sum = (of: (each: Workload) => number): number =>
    workloads.reduce((total, each) => total + each.replicas * of(each), 0);
  const shares = [
    sum(({ cpu }) => cpu) / (machine.cpu * USABLE),
    sum(({ memoryBytes }) => memoryBytes) / (machine.memoryBytes * USABLE),
    sum(({ diskBytes }) => diskBytes) / (machine.diskBytes * USABLE),
    sum(({ gpu }) => gpu?.count ?? 0) / (machine.gpu?.count ?? 1),
  ];
  return Math.min(MAX_MACHINES, Math.max(MIN_MACHINES, Math.ceil(Math.max(...shares))));
}

/** The problem with the machines that the settings ask for, if any. */
function problemOf(
  poolId: string,
  wanted: Selection,
  workloads: readonly Workload[],
  candidates: readonly Machine[],
): string | undefined {
  const machine = candidates.find(({ name }) => name === wanted.machine);
  if (wanted.machine === "") return undefined;
  if (machine === undefined) return `${wanted.machine} is unknown or too small for pool ${poolId}`;
  const most = wanted.mode === "fixed" ? wanted.machines : wanted.max;
  if (wanted.mode === "autoscale" && wanted.min > wanted.max) return `min is over max in pool ${poolId}`;
  const needed = machinesFor(workloads, machine);
  return most < needed ? `pool ${poolId} needs ${needed} machines of ${machine.name}, not ${most}` : undefined;
}

function chosen(wanted: Selection): Selection {
  return wanted.mode === "fixed"
    ? { mode: "fixed", machine: wanted.machine, machines: wanted.machines }
    : { mode: "autoscale", machine: wanted.machine, min: wanted.min, max: wanted.max };
}

function profileOf({ cpu, memoryBytes, diskBytes, architecture, gpu }: Machine): MachineProfile {
  return {
    cpu: String(cpu),
    memoryBytes,
    ephemeralStorageBytes: diskBytes,
    architecture,
    ...(gpu !== undefined && { gpu: { type: gpu.type, count: gpu.count } }),
  };
}
