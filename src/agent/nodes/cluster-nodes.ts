import { isDeepStrictEqual } from "node:util";
import type { ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import type { Change } from "../../kube/cache/cache.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import type { Node } from "../../kube/projection/shapes.ts";
import type { Names } from "../names/names.ts";
import { clusterHeartbeat } from "./cluster-heartbeat.ts";

export interface ClusterNodesOptions {
  /** Undefined: the customer does not let the agent read nodes. */
  readonly list: Pick<Informer<Node>, "store" | "synced" | "refusal" | "onChange"> | undefined;
  /** Whether the agent has the right to: a watch that is open goes on for minutes after the right was taken. */
  readonly mayRead: () => boolean;
  readonly names: Names;
  /** What is told of the cluster may have changed. */
  readonly changed: () => void;
}

/** The nodes, for the one heartbeat of the cluster. Off unless the customer's `observe.nodes` is on. */
export class ClusterNodes {
  readonly #options: ClusterNodesOptions;

  constructor(options: ClusterNodesOptions) {
    this.#options = options;
    options.list?.onChange((change) => {
      if (isNews(change)) options.changed();
    });
  }

  /** Nodes are on, and the first list has neither come nor been refused. */
  get isStarting(): boolean {
    const { list } = this.#options;
    return list !== undefined && !list.synced && !this.#isRefused;
  }

  /** Undefined: nodes are off, or the first list is still to come. */
  heartbeat(now: Date): ResourceHeartbeat | undefined {
    const { list, names } = this.#options;
    if (list === undefined || this.isStarting) return undefined;
    const { hidden } = names;
    const nodes = list.store.list();
    const told = hidden === undefined ? nodes : nodes.map((node) => withName(node, hidden.node(node.metadata.name)));
    return clusterHeartbeat({ nodes: told, isRefused: this.#isRefused }, now);
  }

  get #isRefused(): boolean {
    const { list, mayRead } = this.#options;
    return list?.refusal !== undefined || !mayRead();
  }
}

function withName(node: Node, name: string): Node {
  return { ...node, metadata: { ...node.metadata, name } };
}

/** A kubelet writes its node every five minutes though nothing has changed. */
function isNews(change: Change<Node>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return !(
    isDeepStrictEqual(object.status, previous.status) &&
    isDeepStrictEqual(object.metadata.labels, previous.metadata.labels) &&
    object.spec.unschedulable === previous.spec.unschedulable
  );
}
