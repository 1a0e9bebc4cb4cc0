import { ApiError } from "../../api-client/api-error.ts";
import type { Clock } from "../../base/clock.ts";
import type { MachineReport } from "../../contract/machines/machine.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { isGone, isUnknownRoute } from "../platform-link/platform-answer.ts";
import type { Platform } from "../platform-link/routes.ts";

export interface InventoryPorts {
  readonly platform: Pick<Platform["machines"], "report">;
  readonly accepts: (deploymentId: string) => boolean;
  /** Every machine of the deployment at `now`. Undefined: something of it is not read, or it has no pool. */
  readonly machines: (deploymentId: string, now: Date) => readonly MachineReport[] | undefined;
}

export interface MachineInventoryOptions {
  readonly ports: InventoryPorts;
  readonly clock: Clock;
}

interface Memory {
  /** What was told, but for heartbeats, which are news every ten seconds. */
  readonly told: string;
  readonly toldAtMs: number;
  readonly machines: readonly MachineReport[];
}

const BETWEEN_MS = 5_000;
const AT_LEAST_EVERY_MS = 60_000;
/** Bounds of one call: machines, and a body of 1 MiB with room for the rest. */
const MAX_MACHINES = 500;
const MAX_PART_BYTES = 786_432;
const MAX_PARTS = 20;

/** Tells the platform of each deployment's machines: when they change, and at least once a minute. */
export class MachineInventory {
  readonly #options: MachineInventoryOptions;
  readonly #memories = new Map<string, Memory>();

  constructor(options: MachineInventoryOptions) {
    this.#options = options;
  }

  /** Of all deployments, as they were last reported: at most a minute ago. */
  get reported(): readonly MachineReport[] {
    return [...this.#memories.values()].flatMap(({ machines }) => machines);
  }

  readonly reconcile = async (deploymentId: string, { signal, log }: ReconcileContext): Promise<Result> => {
    const { ports, clock } = this.#options;
    if (!ports.accepts(deploymentId)) {
      this.#memories.delete(deploymentId);
      return undefined;
    }
    const nowMs = clock.monotonicMs();
    const memory = this.#memories.get(deploymentId);
    const quietMs = memory === undefined ? Number.POSITIVE_INFINITY : nowMs - memory.toldAtMs;
    if (quietMs < BETWEEN_MS) return { requeueAfterMs: BETWEEN_MS - quietMs };
    const now = clock.wallNow();
    const machines = ports.machines(deploymentId, now);
    if (machines === undefined) return { requeueAfterMs: BETWEEN_MS };
    const told = withoutHeartbeats(machines);
    if (told === memory?.told && quietMs < AT_LEAST_EVERY_MS) return { requeueAfterMs: AT_LEAST_EVERY_MS - quietMs };
    try {
      await this.#report(deploymentId, machines, now, signal);
    } catch (error) {
      if (!isUnserved(error)) throw error;
      // It is not provisioned yet, or has no machines for the platform: the next minute may know better.
      log.debug({ deploymentId, err: error }, "the platform takes no machines of this deployment");
    }
    this.#memories.set(deploymentId, { told, toldAtMs: nowMs, machines });
    return { requeueAfterMs: AT_LEAST_EVERY_MS };
  };

  /** All parts bear one time and one name, by which the platform knows that they are one list. */
  async #report(
    deploymentId: string,
    machines: readonly MachineReport[],
    now: Date,
    signal: AbortSignal,
  ): Promise<void> {
    const { report } = this.#options.ports.platform;
    const parts = partsOf(machines);
    const id = `inventory-${now.getTime()}`;
    for (const [index, each] of parts.slice(0, MAX_PARTS).entries()) {
      const body = {
        observedAt: now.toISOString(),
        // More than a cluster may have: what is left out must not count as gone.
        complete: parts.length <= MAX_PARTS,
        ...(parts.length > 1 && { part: { index, of: Math.min(parts.length, MAX_PARTS), id } }),
        machines: [...each],
      };
      await report({ params: { id: deploymentId }, body }, signal);
    }
  }
}

/** Cut into calls that the platform takes. At least one: an empty list is told as one. */
export function partsOf(machines: readonly MachineReport[]): readonly (readonly MachineReport[])[] {
  const parts: MachineReport[][] = [[]];
  let bytes = 0;
  for (const machine of machines) {
    const size = Buffer.byteLength(JSON.stringify(machine));
    const last = parts.at(-1) ?? [];
    if (last.length >= MAX_MACHINES || (last.length > 0 && bytes + size > MAX_PART_BYTES)) {
      parts.push([machine]);
      bytes = size;
    } else {
      last.push(machine);
      bytes += size;
    }
  }
  return parts;
}

function withoutHeartbeats(machines: readonly MachineReport[]): string {
  return JSON.stringify(machines, (key, value: unknown) => (key === "lastHeartbeat" ? undefined : value));
}

function isUnserved(error: unknown): boolean {
  if (isGone(error) || isUnknownRoute(error)) return true;
  return error instanceof ApiError && error.code === "MACHINES_DEPLOYMENT_UNAVAILABLE";
}
