import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/clock.ts";
import type { ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import type { Change } from "../../kube/cache/cache.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import type { Node } from "../../kube/projection/shapes.ts";
import { listStateOf } from "../kernel/list-state.ts";
import type { ListState } from "../kernel/resource-metrics.ts";
import type { Names } from "../names/names.ts";
import { clusterHeartbeat } from "./cluster-heartbeat.ts";

export interface ClusterNodesOptions {
  /** Undefined: the customer does not let the agent read nodes. */
  readonly list: Pick<Informer<Node>, "store" | "synced" | "refusal" | "currentAtMs" | "onChange"> | undefined;
  /** Whether the agent has the right to: a watch that is open goes on for minutes after the right was taken. */
  readonly mayRead: () => boolean;
  readonly names: Names;
  readonly clock: Clock;
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
    return this.#options.list !== undefined && this.#state === "starting";
  }

  /** Whether what is told of them is what there is: nodes are off, or read. */
  get isCurrent(): boolean {
    return this.#options.list === undefined || this.#state === "read";
  }

  /** Undefined: nodes are off, or the first list is still to come. */
  heartbeat(now: Date): ResourceHeartbeat | undefined {
    const { list, names } = this.#options;
    if (list === undefined || this.isStarting) return undefined;
    const { hidden } = names;
    const nodes = list.store.list();
    const told = hidden === undefined ? nodes : nodes.map((node) => withName(node, hidden.node(node.metadata.name)));
    return clusterHeartbeat({ nodes: told, state: this.#state }, now);
  }

  get #state(): ListState {
    const { list, mayRead, clock } = this.#options;
    const facts = {
      ...{ isOpened: list !== undefined, mayRead: mayRead(), isRefused: list?.refusal !== undefined },
      ...{ isSynced: list?.synced === true, currentAtMs: list?.currentAtMs },
    };
    return listStateOf(facts, clock.monotonicMs());
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
