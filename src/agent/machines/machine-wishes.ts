import { isDeepStrictEqual } from "node:util";
import type { MachineReport } from "../../contract/machines/machine.ts";
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
  /** From the API server itself, before a word that is final. */
  readonly liveDrains: (signal: AbortSignal) => Promise<readonly MachineDrain[]>;
  readonly grants: () => readonly Pick<AccessGrant, "metadata" | "spec" | "status">[];
  readonly create: (drain: NewDrain, signal: AbortSignal) => Promise<unknown>;
  readonly hasten: (drain: MachineDrain, by: Hastening, signal: AbortSignal) => Promise<unknown>;
  readonly delete: (drain: MachineDrain, signal: AbortSignal) => Promise<unknown>;
  /** What became of a deployment's wishes has changed. */
  readonly answersChanged: (deploymentId: string) => void;
}

/** Why a wish is in the cluster by no object that could say it. */
export type Refusal = "DeletedByCustomer" | "NameTaken";

/** What the platform is told of a wish. */
export interface WishAnswer {
  readonly refusal?: Refusal;
  readonly wish?: NonNullable<MachineReport["wish"]>;
}

export interface MachineWishesOptions {
  readonly ports: WishPorts;
  readonly grantsNamespace: string;
}

const FIELDS = ["deploymentId", "machineId", "action", "deadlineAt", "force", "revision"] as const;
/** Most wishes looked at in one go, as many as the platform gives. */
const MAX_WISHES = 1_000;
/** A wish that the cache does not fit yet is looked at again with the next list. */
const AGAIN_MS = 5_000;

/** Brings what the platform wants of machines to the cluster: drains, their hastening, their end. It empties no node itself. */
export class MachineWishes {
  readonly #options: MachineWishesOptions;
  /** By deployment and machine, as of the last list. What the platform has taken of it comes back with the wish. */
  readonly #answers = new Map<string, ReadonlyMap<string, WishAnswer>>();

  constructor(options: MachineWishesOptions) {
    this.#options = options;
  }

  answerOf(deploymentId: string, machineId: string): WishAnswer | undefined {
    return this.#answers.get(deploymentId)?.get(machineId);
  }

  readonly reconcile = async (deploymentId: string, context: ReconcileContext): Promise<Result> => {
    const { signal, log } = context;
    let failed = false;
    const answers = new Map<string, WishAnswer>();
    let listed: Promise<readonly MachineDrain[]> | undefined;
    const live = () => (listed ??= this.#options.ports.liveDrains(signal));
    for (const item of await this.#listed(deploymentId, signal)) {
      if (misfit(MachineAction, item, FIELDS) !== undefined || item.deploymentId !== deploymentId) {
        log.warn({ deploymentId }, "the platform listed an unreadable wish for a machine; skipped");
        continue;
      }
      const actions = await this.#decide(item, live);
      const ends: ActEnd[] = [];
      for (const action of actions) {
        signal.throwIfAborted();
        ends.push(await this.#act(item, action, context));
      }
      failed ||= ends.includes("again");
      const answer = this.#answerTo(item, actions, ends);
      if (answer !== undefined) answers.set(item.machineId, answer);
    }
    this.#keep(deploymentId, answers);
    return failed ? { requeueAfterMs: AGAIN_MS } : undefined;
  };

  #answerTo(
    { deploymentId, machineId, revision, action }: MachineAction,
    actions: readonly WishAction[],
    ends: readonly ActEnd[],
  ): WishAnswer | undefined {
    const [refusal] = actions.flatMap((each) => refusalIn(each) ?? []);
    if (refusal === "DeletedByCustomer") return { refusal, wish: { revision, state: "deleted" } };
    if (refusal !== undefined) return { refusal };
    if (action === "cancel-drain") return undefined;
    if (ends.every((end) => end === "done")) return { wish: { revision, state: "passed-on" } };
    const before = this.answerOf(deploymentId, machineId);
    return before?.wish?.revision === revision ? before : undefined;
  }

  #keep(deploymentId: string, answers: ReadonlyMap<string, WishAnswer>): void {
    const before = this.#answers.get(deploymentId) ?? new Map<string, WishAnswer>();
    if (answers.size > 0) this.#answers.set(deploymentId, answers);
    else this.#answers.delete(deploymentId);
    if (!isDeepStrictEqual(before, answers)) this.#options.ports.answersChanged(deploymentId);
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

  async #decide(wish: MachineAction, live: () => Promise<readonly MachineDrain[]>): Promise<readonly WishAction[]> {
    const { ports, grantsNamespace } = this.#options;
    const { deploymentId, machineId, revision } = wish;
    const member = ports.members(deploymentId).find((each) => each.machineId === machineId);
    const facts = {
      accepted: ports.accepts(deploymentId),
      member,
      node: member && ports.node(member.nodeName),
      grants: ports.grants(),
      // A platform of the release before does not say it.
      isPassedOn: wish.passedOn === true || this.answerOf(deploymentId, machineId)?.wish?.revision === revision,
    };
    const actions = decideWish(wish, { ...facts, drains: ports.drains() }, grantsNamespace);
    // Both words stay said. The cache may not have yet what was just made, and still have what was just deleted.
    const isHere = actions.every((action) => action.do !== "create" && action.do !== "refuse");
    const isFinal = facts.isPassedOn ? actions.some(isDeleted) : isHere;
    return isFinal ? decideWish(wish, { ...facts, drains: await live() }, grantsNamespace) : actions;
  }

  /** Again: the object is another than the cache had. */
  async #act(wish: MachineAction, action: WishAction, { signal, log }: ReconcileContext): Promise<ActEnd> {
    const { ports } = this.#options;
    const { deploymentId, machineId, revision } = wish;
    const about = { deploymentId, machineId, revision, wish: wish.action };
    try {
      if (action.do === "refuse") {
        log.warn({ ...about, because: action.because }, "a wish for a machine is not passed on");
        return "refused";
      }
      if (action.do === "create") await ports.create(action.drain, signal);
      else if (action.do === "hasten") await ports.hasten(action.drain, action.by, signal);
      else await ports.delete(action.drain, signal);
      log.info(
        { ...about, did: action.do, name: action.drain.metadata.name },
        "a wish for a machine is in the cluster",
      );
      return "done";
    } catch (error) {
      // Made, changed or deleted since; the cache will say so.
      if (!(error instanceof KubeError)) throw error;
      if (error.isAlreadyExists) return "done";
      if (error.isConflict || error.isNotFound) return "again";
      if (!error.isInvalid) throw error;
      log.warn({ ...about, err: error }, "the API server refuses a drain");
      return "refused";
    }
  }
}

type ActEnd = "done" | "again" | "refused";

function isDeleted(action: WishAction): boolean {
  return refusalIn(action) === "DeletedByCustomer";
}

/** Of what is not the deployment's machine, nothing is reported either. */
function refusalIn(action: WishAction): Refusal | undefined {
  if (action.do !== "refuse") return undefined;
  if (action.because === "deleted") return "DeletedByCustomer";
  return action.because === "name taken" ? "NameTaken" : undefined;
}
