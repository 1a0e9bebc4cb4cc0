import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { MACHINE_DRAIN, type MachineDrain, machineDrains } from "../../crds/kinds/machine-drain.ts";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { LEAVE_INFIX } from "../../crds/manifests/admission/machine-admission.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import { Refusal } from "../kernel/refusal.ts";
import { refusalOfServer } from "./joins.ts";

export interface LeavesOptions {
  readonly client: Pick<Client, "create" | "get">;
  readonly namespace: string;
  // From the cache.
  readonly pools: () => Iterable<MachinePool>;
  readonly joins: () => Iterable<MachineJoin>;
  readonly drainsOf: (nodeName: string) => readonly MachineDrain[];
  /** Its calendar is the API server's. */
  readonly clock: Clock;
  readonly log: Logger;
}

const MINUTE_MS = 60_000;
/** An empty node is drained at once: without a bound its root could fill the API server with ended drains. */
const MAX_ENDED = 5;

/** Lets a joined machine ask that its node be emptied. The customer's policy or grant decides, as on the vendor's wishes. */
export class Leaves {
  readonly #options: LeavesOptions;

  constructor(options: LeavesOptions) {
    this.#options = options;
  }

  /**
   * The drain of this machine: a new one, or the one that it asked for before and that has not ended.
   * @throws Refusal
   */
  async ask(nodeName: string, deadlineMinutes: number | undefined, signal: AbortSignal): Promise<MachineDrain> {
    const { client, namespace, drainsOf, clock, log } = this.#options;
    const requested = this.#machine(nodeName);
    const own = drainsOf(nodeName).filter((drain) => drain.spec.requested?.leaving === true);
    const open = own.find((drain) => !isOver(drain) && drain.metadata.deletionTimestamp === undefined);
    if (open !== undefined) return open;
    if (own.filter(isOver).length >= MAX_ENDED) {
      const words = `this machine has left ${MAX_ENDED} times: the customer deletes its ended MachineDrains, or removes it`;
      throw new Refusal(409, "TOO_MANY_DRAINS", "rate", words);
    }
    // One name until it ends, so that a second ask after a lost answer meets the first.
    const name = `${nodeName}${LEAVE_INFIX}${Math.max(-1, ...own.map(numberOf)) + 1}`;
    const deadlineMs = clock.wallNow().getTime() + (deadlineMinutes ?? 0) * MINUTE_MS;
    const { group, version, kind } = { ...machineDrains, ...MACHINE_DRAIN };
    const made = {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, namespace },
      spec: {
        nodeName,
        ...(deadlineMinutes !== undefined && { deadlineAt: timestamp(new Date(deadlineMs)) }),
        reason: "the machine itself asked to leave",
        requested,
      },
    };
    try {
      const drain = await client.create<MachineDrain>(machineDrains, made, signal);
      log.info({ drain: name, node: nodeName, machineId: requested.machineId }, "a machine asks to leave");
      return drain;
    } catch (error) {
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw refusalOfServer(error);
    }
    const stored = await client
      .get<MachineDrain>(machineDrains, { name, namespace }, signal)
      .catch((error: unknown) => {
        throw refusalOfServer(error);
      });
    if (stored !== undefined && (stored.spec.nodeName !== nodeName || stored.spec.requested?.leaving !== true)) {
      throw new Refusal(
        409,
        "NAME_TAKEN",
        "taken",
        `there is a MachineDrain ${name} that this machine did not ask for`,
      );
    }
    if (stored === undefined) throw new Refusal(503, "TRY_AGAIN", "api-server", "the drain is just being deleted", 1);
    return stored;
  }

  /** What became of it; undefined: there is no such drain of this machine, or not yet in the cache. @throws Refusal */
  look(nodeName: string, uid: string): Readonly<Record<string, string>> | undefined {
    this.#machine(nodeName);
    const drains = this.#options.drainsOf(nodeName);
    const own = drains.find(({ metadata, spec }) => metadata.uid === uid && spec.requested?.leaving === true);
    if (own === undefined) return undefined;
    // A person who empties the node for it has said yes in another way.
    const other = drains.find(
      ({ status }) =>
        status?.state === "Drained" && Date.parse(status.drainedAt ?? "") >= Date.parse(own.metadata.creationTimestamp),
    );
    return wordsOf(isOver(own) ? own : (other ?? own));
  }

  /** @throws Refusal when it has not joined, or not any more */
  #machine(nodeName: string) {
    const joined = [...this.#options.joins()].find(
      ({ spec, status }) => spec.nodeName === nodeName && status?.state === "Joined",
    );
    if (joined === undefined) {
      throw new Refusal(
        403,
        "NOT_JOINED",
        "not-joined",
        `${nodeName} is no machine that has joined, or it was removed`,
      );
    }
    const { pool: name, machineId } = joined.spec;
    const pool = [...this.#options.pools()].find(({ metadata }) => metadata.name === name);
    if (pool === undefined) {
      const words = `MachinePool ${name} was deleted: the customer can empty the node with a MachineDrain`;
      throw new Refusal(409, "NO_POOL", "no-pool", words);
    }
    return { deploymentId: pool.spec.deploymentId, machineId, revision: 0, leaving: true };
  }
}

function isOver({ status }: MachineDrain): boolean {
  return status?.state === "Drained" || status?.state === "Failed";
}

function numberOf({ metadata: { name } }: MachineDrain): number {
  const number = Number(name.slice(name.lastIndexOf("-") + 1));
  return Number.isSafeInteger(number) ? number : -1;
}

function wordsOf({ metadata, spec, status }: MachineDrain): Readonly<Record<string, string>> {
  const state = status?.state ?? "Waiting";
  const said = (type: string) => status?.conditions?.find((each) => each.type === type);
  const approved = said("Approved");
  const because = said("Progressing")?.message ?? "";
  const messages: Partial<Record<typeof state, string>> = {
    Waiting:
      approved?.status === "True" || spec.requested === undefined
        ? `waits for its turn: ${because}`
        : `waits for the customer, who must allow drain ${metadata.name}: ${approved?.message ?? "it is not judged yet"}`,
    Drained: `the node ${spec.nodeName} is empty`,
    Failed: `the drain failed: ${said("Drained")?.message ?? ""}`,
  };
  const pods = `${status?.left ?? "?"} pods are left, deadline ${status?.deadlineAt ?? "unknown"}`;
  const blockers = (status?.blockers ?? [])
    .filter(({ reason }) => reason !== "daemon")
    .map(
      ({ reason, workload, pods: [pod = ""], count, message }) =>
        `${workload ?? pod} (${count}): ${reason}: ${message}`,
    );
  return { state, message: messages[state] ?? pods, blockers: blockers.join("\n") };
}
