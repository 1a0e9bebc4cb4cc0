import { CORDONED_BY_ANNOTATION } from "../../crds/group.ts";
import { isOfEarlierNode } from "../../crds/retention.ts";
import type { DrainNode } from "./shapes.ts";
import { isApproved, isOver, type Ordered } from "./turn.ts";

/** What the annotation on a node says. */
export interface Cordon {
  /** The drain's. */
  readonly uid: string;
  /** False: the node was cordoned before, and the annotation only lets the drain delete the node. */
  readonly isOurs: boolean;
}

/** Reads and writes of nodes, which each reconciler of drains has. */
export interface NodePorts {
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  /** From the API server itself, before a word that is final. */
  readonly liveNode: (name: string, signal: AbortSignal) => Promise<DrainNode | undefined>;
  /** On exactly the version that was read. */
  readonly writeNode: (
    node: DrainNode,
    cordon: Cordon | undefined,
    unschedulable: boolean,
    signal: AbortSignal,
  ) => Promise<void>;
}

/** Behind the uid, where the cordon was there before the drain. */
const FOREIGN = "/found";

export function cordonText({ uid, isOurs }: Cordon): string {
  return isOurs ? uid : uid + FOREIGN;
}

export function cordonOf({ metadata }: DrainNode): Cordon | undefined {
  const text = metadata.annotations[CORDONED_BY_ANNOTATION];
  if (text === undefined) return undefined;
  const isOurs = !text.endsWith(FOREIGN);
  return { uid: isOurs ? text : text.slice(0, -FOREIGN.length), isOurs };
}

export type CordonDecision =
  | { readonly do: "nothing" }
  /** The node stays cordoned, for another drain. */
  | { readonly do: "hand over"; readonly to: Ordered; readonly isOurs: boolean }
  /** The annotation goes; the node takes pods again only where the cordon was ours. */
  | { readonly do: "undo"; readonly uncordon: boolean };

/**
 * What becomes of a drain's mark on a node. While the drain is there, over or not, its cordon stays. Without it a drain of
 * the same node that has begun inherits the cordon, and without any the node is as it was before.
 *
 * @param drains those of this node; others may be among them
 */
export function decideCordon(node: DrainNode, drains: Iterable<Ordered>): CordonDecision {
  const cordon = cordonOf(node);
  if (cordon === undefined) return { do: "nothing" };
  const here = [...drains].filter(
    ({ spec, metadata }) => spec.nodeName === node.metadata.name && !isBeingDeleted(metadata),
  );
  if (here.some(({ metadata }) => metadata.uid === cordon.uid)) return { do: "nothing" };
  const heirs = here.filter((drain) => isHeir(drain, node)).sort(byAge);
  const [to] = heirs;
  if (to !== undefined) return { do: "hand over", to, isOurs: cordon.isOurs };
  return { do: "undo", uncordon: cordon.isOurs && node.spec.unschedulable };
}

function isHeir(drain: Ordered, { metadata }: DrainNode): boolean {
  if (isOver(drain)) return drain.status?.state === "Drained" && !isOfEarlierNode(drain, metadata.creationTimestamp);
  return isApproved(drain);
}

function isBeingDeleted(metadata: { readonly deletionTimestamp?: string }): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function byAge(one: Ordered, other: Ordered): number {
  return (
    one.metadata.creationTimestamp.localeCompare(other.metadata.creationTimestamp) ||
    one.metadata.uid.localeCompare(other.metadata.uid)
  );
}
