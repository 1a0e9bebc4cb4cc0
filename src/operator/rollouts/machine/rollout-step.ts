import type { RolloutConditionType, RolloutReason } from "../../../crds/conditions.ts";
import type { FinalRolloutState, Rollout, RolloutState, RolloutStatus } from "../../../crds/kinds/rollout.ts";
import type { Condition } from "../../../kube/objects/conditions.ts";
import type { CustomerPolicy } from "../../gate/policy.ts";
import type { WindowState } from "../../gate/release-windows.ts";

/** Everything that the decision about one rollout looks at. It does no I/O. */
export interface RolloutFacts {
  readonly rollout: Rollout;
  /** Other rollouts of the deployment. */
  readonly siblings: readonly Rollout[];
  readonly policy: CustomerPolicy;
  /** Namespaces that the customer accepts the deployment for; undefined: this cluster serves no such deployment. */
  readonly accepted: readonly string[] | undefined;
  readonly window: WindowState;
  /** Why nothing may be begun now: a right of the operator's own or a policy is missing. */
  readonly obstacle: string | undefined;
  readonly now: Date;
}

/** One condition, in words. */
export type Said = {
  [T in RolloutConditionType]: readonly [
    type: T,
    status: Condition["status"],
    reason: RolloutReason<T>,
    message: string,
  ];
}[RolloutConditionType];

/** Fields of the status; undefined: the field goes. */
export type Fields = { readonly [K in keyof RolloutStatus]?: RolloutStatus[K] | undefined };

/**
 * What is done in the cluster. `restore` is a step of the way back: a wave of the former content, its gate, or what only
 * the new content has.
 */
export type RolloutAct = "plan" | "apply" | "gate" | "remove" | "detach" | "prune" | "restore";

export type RolloutStep =
  /** There is nothing to do, now or later. */
  | { readonly do: "rest" }
  /** Says why, if something is to be said, and looks again. */
  | { readonly do: "wait"; readonly said: readonly Said[]; readonly fields?: Fields; readonly againMs: number }
  /** One write, and on. */
  | { readonly do: "go"; readonly to: RolloutState; readonly said: readonly Said[]; readonly fields?: Fields }
  /** The write that makes it the one rollout of its deployment that runs. */
  | { readonly do: "claim"; readonly to: "Applying"; readonly said: readonly Said[]; readonly fields: Fields }
  | { readonly do: "act"; readonly act: RolloutAct }
  /** Its accounts and bindings go first, then the final state is written. */
  | { readonly do: "end"; readonly to: FinalRolloutState; readonly said: readonly Said[]; readonly fields?: Fields };

export function rest(): RolloutStep {
  return { do: "rest" };
}

export type Wait = Extract<RolloutStep, { do: "wait" }>;

export function wait(againMs: number, said: readonly Said[] = [], fields: Fields = {}): Wait {
  return { do: "wait", againMs, said, fields };
}

export function go(to: RolloutState, said: readonly Said[], fields: Fields = {}): RolloutStep {
  return { do: "go", to, said, fields };
}

export function end(to: FinalRolloutState, said: readonly Said[], fields: Fields = {}): RolloutStep {
  return { do: "end", to, said, fields };
}

export function conditionOf({ status }: Pick<Rollout, "status">, type: RolloutConditionType): Condition | undefined {
  return (status?.conditions as readonly Condition[] | undefined)?.find((each) => each.type === type);
}
