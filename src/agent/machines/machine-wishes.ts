import { isDeepStrictEqual } from "node:util";
import { MachineAction } from "../../contract/machines/machines.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { isGone, isUnknownRoute } from "../platform-link/platform-answer.ts";
import type { Platform } from "../platform-link/routes.ts";
import type { Member } from "./members.ts";
import { decideWish, type Hastening, type NewDrain, type WishAction, type WishNode } from "./wishes.ts";

/** All the I/O of this reconciler, as functions. Each is idempotent. */
export interface WishPorts {
  readonly platform: Pick<Platform["machines"], "actions">;
  /** @returns the id of the manager that the runtime key is of. */
  readonly managerId: (signal: AbortSignal) => Promise<string>;
  readonly accepts: (deploymentId: string) => boolean;
  readonly members: (deploymentId: string) => readonly Member[];
  readonly node: (name: string) => WishNode | undefined;
  readonly drains: () => readonly MachineDrain[];
  readonly grants: () => readonly Pick<AccessGrant, "metadata" | "spec" | "status">[];
  readonly create: (drain: NewDrain, signal: AbortSignal) => Promise<unknown>;
  readonly hasten: (drain: MachineDrain, by: Hastening, signal: AbortSignal) => Promise<unknown>;
  readonly delete: (drain: MachineDrain, signal: AbortSignal) => Promise<unknown>;
  /** Which of a deployment's wishes are refused has changed. */
  readonly refusalsChanged: (deploymentId: string) => void;
}

/** Why a wish is in the cluster by no object that could say it. */
export type Refusal = "DeletedByCustomer" | "NameTaken";

export interface MachineWishesOptions {
  readonly ports: WishPorts;
  readonly grantsNamespace: string;
}

const FIELDS = ["deploymentId", "machineId", "action", "deadlineAt", "force", "revision"] as const;
/** Most wishes looked at in one go, as many as the platform gives. */
const MAX_WISHES = 1_000;
const MAX_DELETED = 1_000;
/** A wish that the cache does not fit yet is looked at again with the next list. */
const AGAIN_MS = 5_000;

/** Brings what the platform wants of machines to the cluster: drains, their hastening, their end. It empties no node itself. */
export class MachineWishes {
  readonly #options: MachineWishesOptions;
  /** Names of the platform's drains that were deleted while this process watched: one that a person ended stays so. */
  readonly #deleted = new Set<string>();
  /** By deployment and machine, as of the last list. */
  readonly #refusals = new Map<string, ReadonlyMap<string, Refusal>>();

  constructor(options: MachineWishesOptions) {
    this.#options = options;
  }

  deleted({ metadata, spec }: MachineDrain): void {
    if (spec.requested === undefined) return;
    const [oldest] = this.#deleted;
    if (oldest !== undefined && this.#deleted.size >= MAX_DELETED) this.#deleted.delete(oldest);
    this.#deleted.add(metadata.name);
  }

  refusalOf(deploymentId: string, machineId: string): Refusal | undefined {
    return this.#refusals.get(deploymentId)?.get(machineId);
  }

  readonly reconcile = async (deploymentId: string, context: ReconcileContext): Promise<Result> => {
    const { signal, log } = context;
    let failed = false;
    const refusals = new Map<string, Refusal>();
    for (const item of await this.#listed(deploymentId, signal)) {
      if (misfit(MachineAction, item, FIELDS) !== undefined || item.deploymentId !== deploymentId) {
        log.warn({ deploymentId }, "the platform listed an unreadable wish for a machine; skipped");
        continue;
      }
      for (const action of this.#decide(item)) {
        signal.throwIfAborted();
        const refusal = refusalIn(action);
        if (refusal !== undefined) refusals.set(item.machineId, refusal);
        const done = await this.#act(item, action, context);
        failed ||= !done;
      }
    }
    this.#keep(deploymentId, refusals);
    return failed ? { requeueAfterMs: AGAIN_MS } : undefined;
  };

  #keep(deploymentId: string, refusals: ReadonlyMap<string, Refusal>): void {
    const before = this.#refusals.get(deploymentId) ?? new Map<string, Refusal>();
    if (refusals.size > 0) this.#refusals.set(deploymentId, refusals);
    else this.#refusals.delete(deploymentId);
    if (!isDeepStrictEqual(before, refusals)) this.#options.ports.refusalsChanged(deploymentId);
  }

  async #listed(deploymentId: string, signal: AbortSignal): Promise<readonly MachineAction[]> {
    const { platform, managerId } = this.#options.ports;
    try {
      const query = { managerId: await managerId(signal), deploymentId };
      return (await platform.actions({ query }, signal)).actions.slice(0, MAX_WISHES);
    } catch (error) {
      // A platform without machines wants nothing of them.
      if (isGone(error) || isUnknownRoute(error)) return [];
      throw error;
    }
  }

  #decide(wish: MachineAction): readonly WishAction[] {
    const { ports, grantsNamespace } = this.#options;
    const member = ports.members(wish.deploymentId).find(({ machineId }) => machineId === wish.machineId);
    const facts = {
      accepted: ports.accepts(wish.deploymentId),
      member,
      node: member && ports.node(member.nodeName),
      drains: ports.drains(),
      grants: ports.grants(),
      isDeleted: (name: string) => this.#deleted.has(name),
    };
    return decideWish(wish, facts, grantsNamespace);
  }

  /** @returns false: the object is another than the cache had. */
  async #act(wish: MachineAction, action: WishAction, { signal, log }: ReconcileContext): Promise<boolean> {
    const { ports } = this.#options;
    const { deploymentId, machineId, revision } = wish;
    const about = { deploymentId, machineId, revision, wish: wish.action };
    try {
      if (action.do === "refuse") {
        log.warn({ ...about, because: action.because }, "a wish for a machine is not passed on");
        return true;
      }
      if (action.do === "create") await ports.create(action.drain, signal);
      else if (action.do === "hasten") await ports.hasten(action.drain, action.by, signal);
      else await ports.delete(action.drain, signal);
      log.info(
        { ...about, did: action.do, name: action.drain.metadata.name },
        "a wish for a machine is in the cluster",
      );
      return true;
    } catch (error) {
      // Made, changed or deleted since; the cache will say so.
      if (!(error instanceof KubeError)) throw error;
      if (error.isAlreadyExists) return true;
      if (error.isConflict || error.isNotFound) return false;
      if (!error.isInvalid) throw error;
      log.warn({ ...about, err: error }, "the API server refuses a drain");
      return true;
    }
  }
}

/** Of what is not the deployment's machine, nothing is reported either. */
function refusalIn(action: WishAction): Refusal | undefined {
  if (action.do !== "refuse") return undefined;
  if (action.because === "deleted") return "DeletedByCustomer";
  return action.because === "name taken" ? "NameTaken" : undefined;
}
