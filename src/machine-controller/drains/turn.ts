import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";

/** Whether a drain may act now, and else what it waits for. */
export type Turn =
  | { readonly is: "go" }
  | {
      readonly is: "AwaitingApproval" | "Superseded" | "Queued" | "PoolInvalid" | "OtherMachine" | "PolicyMissing";
      readonly message: string;
    };

/** What the order of drains is decided by. */
export type Ordered = Pick<MachineDrain, "metadata" | "spec" | "status">;

/**
 * Whether the customer's word covers a drain. One that a person made is that word. For a wish of the platform the operator
 * writes the condition Approved, once the policy or a line of a grant covers it; admission lets no other account write it.
 */
export function isApproved({ spec, status }: Ordered): boolean {
  if (spec.requested === undefined) return true;
  return status?.conditions?.some(({ type, status: is }) => type === "Approved" && is === "True") === true;
}

export function isOver({ status }: Ordered): boolean {
  return status?.state === "Drained" || status?.state === "Failed";
}

export interface TurnFacts {
  /** All drains; this one may be among them. */
  readonly drains: Iterable<Ordered>;
  /** Whether a drain was begun: by its status, or by this process just now. */
  readonly isBegun: (drain: Ordered) => boolean;
  readonly poolOf: (drain: Ordered) => string | undefined;
  /** Whether its node is that of the machine which the platform's wish, and the customer's word, is about. */
  readonly isOfItsMachine: (drain: Ordered) => boolean;
  readonly maxParallel: number;
  /** Of the pool: no drain begins. */
  readonly problem?: string | undefined;
  /** Of this process: no drain begins, and none goes on. */
  readonly obstacle?: string | undefined;
}

/** What was begun goes on; among the others the older one is first. Every process gives the same order. */
export function turnOf(drain: Ordered, facts: TurnFacts): Turn {
  const { isBegun, isOfItsMachine, poolOf, maxParallel, problem } = facts;
  if (!isApproved(drain)) {
    return { is: "AwaitingApproval", message: "the customer's policy or a grant must cover it" };
  }
  if (facts.obstacle !== undefined) return { is: "PolicyMissing", message: facts.obstacle };
  const isStray = (each: Ordered): boolean => !isBegun(each) && !isOfItsMachine(each);
  if (isStray(drain)) {
    const { machineId, deploymentId } = drain.spec.requested ?? {};
    const message = `node ${drain.spec.nodeName} is not machine ${machineId} of deployment ${deploymentId}`;
    return { is: "OtherMachine", message };
  }
  if (problem !== undefined && !isBegun(drain)) return { is: "PoolInvalid", message: problem };
  const order = (one: Ordered, other: Ordered): number =>
    Number(isBegun(other)) - Number(isBegun(one)) ||
    one.metadata.creationTimestamp.localeCompare(other.metadata.creationTimestamp) ||
    one.metadata.uid.localeCompare(other.metadata.uid);
  const others = [...facts.drains].filter(
    (other) => other.metadata.uid !== drain.metadata.uid && !isOver(other) && isApproved(other) && !isStray(other),
  );
  const isAhead = (other: Ordered): boolean => order(other, drain) < 0;
  const first = others.filter(({ spec }) => spec.nodeName === drain.spec.nodeName).sort(order)[0];
  if (first !== undefined && isAhead(first)) {
    return { is: "Superseded", message: `drain ${first.metadata.name} empties this node` };
  }
  if (isBegun(drain)) return { is: "go" };
  const pool = poolOf(drain);
  const ahead = others.filter((other) => isAhead(other) && poolOf(other) === pool);
  // Two drains of one node take one turn.
  const nodes = new Set(ahead.map(({ spec }) => spec.nodeName));
  if (nodes.size < maxParallel) return { is: "go" };
  const [next] = ahead.sort(order);
  const whose = pool === undefined ? "nodes of no pool" : `MachinePool ${pool}`;
  return {
    is: "Queued",
    message: `${maxParallel} at a time of ${whose}; drain ${next?.metadata.name ?? ""} is ahead`,
  };
}
