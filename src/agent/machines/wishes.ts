import type { MachineAction } from "../../contract/machines/machines.ts";
import { GROUP, VERSION } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { MACHINE_DRAIN, type MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { sameParams } from "../../crds/plan.ts";
import { isOfEarlierNode } from "../../crds/retention.ts";
import type { Node } from "../../kube/projection/shapes.ts";
import { bornAt, type Member } from "./members.ts";

export type NewDrain = Omit<MachineDrain, "metadata" | "status"> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
};
/** What may change of a drain that is there: it can only be hastened. */
export interface Hastening {
  readonly deadlineAt?: string;
  readonly force?: true;
}

export type WishAction =
  | { readonly do: "create"; readonly drain: NewDrain }
  | { readonly do: "hasten"; readonly drain: MachineDrain; readonly by: Hastening }
  | { readonly do: "delete"; readonly drain: MachineDrain }
  | { readonly do: "refuse"; readonly because: "not accepted" | "not in the pool" | "name taken" | "deleted" };

export interface WishNode {
  readonly metadata: Pick<Node["metadata"], "creationTimestamp">;
  readonly spec: Pick<Node["spec"], "unschedulable">;
}

/** All that is known of one wish. */
export interface WishFacts {
  readonly accepted: boolean;
  /** The machine, if it is one of the deployment's pool. */
  readonly member: Member | undefined;
  /** The member's, if there is one. */
  readonly node: WishNode | undefined;
  /** Every drain of the cluster. */
  readonly drains: readonly MachineDrain[];
  readonly grants: readonly Pick<AccessGrant, "metadata" | "spec" | "status">[];
  /** A drain for this very wish has been in the cluster. */
  readonly isPassedOn: boolean;
}

/**
 * What has to be done for a wish of the platform. Pure, and the same again when its answer was lost.
 *
 * The promises: nothing for a deployment that the customer does not accept or a machine that is not in its pool, but for
 * ending what was begun; a drain that a person made is never touched; a wish that is older than the drain for it changes nothing.
 * What is over with an earlier node of the name is in no wish's way.
 */
export function decideWish(wish: MachineAction, facts: WishFacts, namespace: string): readonly WishAction[] {
  const born = facts.member && bornAt(facts.member, facts.node);
  const all = facts.drains.filter(({ metadata, spec: { requested } }) => {
    // What the machine itself wants, no wish of the platform ends.
    if (metadata.deletionTimestamp !== undefined || requested?.leaving === true) return false;
    return requested?.deploymentId === wish.deploymentId && requested.machineId === wish.machineId;
  });
  const own = all.filter((drain) => !isOfEarlierNode(drain, born)).toSorted((a, b) => revisionOf(b) - revisionOf(a));
  const [newest] = own;
  if (newest !== undefined && revisionOf(newest) > wish.revision) return [];
  // Ending a drain needs no approval.
  if (wish.action === "cancel-drain") return own.map((drain) => ({ do: "delete", drain }));
  if (!facts.accepted) return [{ do: "refuse", because: "not accepted" }];
  if (facts.member === undefined) return [{ do: "refuse", because: "not in the pool" }];
  const isOf = (drain: MachineDrain): boolean =>
    own.includes(drain) || drain.status?.state === "Failed" || revisionOf(drain) === wish.revision;
  const remove = wish.action === "remove";
  const isThere = all.some((drain) => (drain.spec.requested?.remove === true) === remove && isOf(drain));
  // The customer's word on this very wish; a newer one is a new question.
  if (facts.isPassedOn && !isThere) return [{ do: "refuse", because: "deleted" }];
  const made = create(wish, facts.member, facts, namespace);
  if (remove) {
    // The drain that emptied the node stays: its end would let pods come back.
    return own.some((drain) => removes(drain, wish)) ? [] : made;
  }
  if (newest === undefined) return made;
  const deletions = own.map((drain): WishAction => ({ do: "delete", drain }));
  // Made before the cache showed the other.
  const doubles = deletions.slice(1);
  if (revisionOf(newest) === wish.revision) return doubles;
  const by = hastening(newest, wish);
  if (by === undefined || newest.status?.state === "Failed" || newest.spec.requested?.remove === true) {
    return [...deletions, ...made];
  }
  // A person lets the node take pods again: having been empty is no answer to a newer wish.
  if (newest.status?.state === "Drained" && facts.node?.spec.unschedulable === false) return [...deletions, ...made];
  if (newest.status?.state === "Drained" || Object.keys(by).length === 0) return doubles;
  return [...doubles, { do: "hasten", drain: newest, by }];
}

/** Whether the wish to remove is this drain already. One whose node is deleted answers no newer wish. */
function removes({ spec, status }: MachineDrain, { revision }: MachineAction): boolean {
  if (spec.requested?.remove !== true) return false;
  const isDone = status?.conditions?.some(({ type, status: is }) => type === "Removed" && is === "True") === true;
  return !isDone || spec.requested.revision === revision;
}

function revisionOf({ spec }: MachineDrain): number {
  return spec.requested?.revision ?? -1;
}

/** Undefined: the wish is milder than the drain that is there, which was therefore cancelled while the agent was away. */
function hastening({ spec }: MachineDrain, { deadlineAt, force }: MachineAction): Hastening | undefined {
  if (spec.force === true && !force) return undefined;
  const was = spec.deadlineAt === undefined ? undefined : Date.parse(spec.deadlineAt);
  const is = deadlineAt === null ? undefined : Date.parse(seconds(deadlineAt));
  if (was !== undefined && (is === undefined || is > was)) return undefined;
  return {
    ...(is !== undefined && is !== was && deadlineAt !== null && { deadlineAt: seconds(deadlineAt) }),
    ...(force && spec.force !== true && { force: true as const }),
  };
}

function create(
  wish: MachineAction,
  member: Member,
  { drains, grants, node }: WishFacts,
  namespace: string,
): readonly WishAction[] {
  const { nodeName } = member;
  const { deploymentId, machineId, revision, action, deadlineAt, force } = wish;
  const remove = action === "remove";
  const name = drainName(nodeName, revision);
  const holder = drains.find(({ metadata }) => metadata.name === name);
  // Names of two nodes may be alike: `a.b` and `a-b`.
  const isOwn = holder?.spec.nodeName === nodeName && holder.spec.requested?.deploymentId === deploymentId;
  const isLeft = holder !== undefined && isOwn && isOfEarlierNode(holder, bornAt(member, node));
  if (holder !== undefined && !isLeft) return [{ do: "refuse", because: "name taken" }];
  const command = remove ? "machines/remove" : "machines/drain";
  const grantName = grantFor(deploymentId, command, machineId, grants);
  const drain: NewDrain = {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: MACHINE_DRAIN.kind,
    metadata: { name, namespace },
    spec: {
      nodeName,
      ...(deadlineAt !== null && { deadlineAt: seconds(deadlineAt) }),
      ...(force && { force }),
      requested: {
        deploymentId,
        machineId,
        revision,
        ...(remove && { remove }),
        ...(grantName !== undefined && { grantName }),
      },
    },
  };
  const cleared: readonly WishAction[] = holder === undefined ? [] : [{ do: "delete", drain: holder }];
  return [...cleared, { do: "create", drain }];
}

/** One name a wish, so that a second creation after a lost answer meets the first. */
function drainName(nodeName: string, revision: number): string {
  return `${nodeName.replaceAll(".", "-")}-${revision}`;
}

/** As Kubernetes writes times. Cut, never rounded up: a deadline only comes nearer. */
function seconds(instant: string): string {
  return new Date(Math.floor(Date.parse(instant) / 1_000) * 1_000).toISOString().replace(".000Z", "Z");
}

/** The approved grant, newest first, whose plan has this very line. The operator judges whether it covers the drain. */
function grantFor(
  deploymentId: string,
  command: string,
  machineId: string,
  grants: WishFacts["grants"],
): string | undefined {
  const fitting = grants.filter(({ metadata, spec, status }) => {
    if (spec.deploymentId !== deploymentId || metadata.deletionTimestamp !== undefined) return false;
    if (spec.approvedForMinutes === undefined || spec.revokedReason !== undefined) return false;
    const lines = status?.commands ?? [];
    return spec.commands.some(
      (line, index) =>
        line.command === command &&
        sameParams(line.params, { machineId }) &&
        lines.find((each) => each.index === index)?.commandId === undefined,
    );
  });
  const [newest] = fitting.toSorted((a, b) => b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp));
  return newest?.metadata.name;
}
