import type { ObservedResource, ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { HEALTHS, type Health } from "../../kube/workload-state/words.ts";

/** What waits to be told of one object; undefined parts are gone. */
export type Pending =
  | { readonly is: "row"; readonly scope: string; readonly id: string; readonly row: ObservedResource | undefined }
  | {
      readonly is: "heartbeat";
      readonly id: string;
      readonly resourceType: string;
      readonly heartbeat: ResourceHeartbeat | undefined;
    };

/** 0 is the worst. */
export const severityOf = (health: Health): number => HEALTHS.indexOf(health);

/** What is well and has ended, as a Job of last week, gives way to all that runs. */
export const ENDED: number = HEALTHS.length;

export function importanceOf({ health, lifecycle }: ObservedResource): number {
  return health === "healthy" && lifecycle === "stopped" ? ENDED : severityOf(health);
}

/** Of each object the last change that is not told yet. */
export class Changes {
  readonly #byKey = new Map<string, Pending>();

  get size(): number {
    return this.#byKey.size;
  }

  /** What is gone, which makes room for the others; then the worst. */
  inOrder(): readonly Pending[] {
    return [...this.#byKey.values()].toSorted((a, b) => rankOf(a) - rankOf(b));
  }

  set(change: Pending): void {
    this.#byKey.set(keyOf(change), change);
  }

  /** Whether a change of the same object waits. */
  has(change: Pending): boolean {
    return this.#byKey.has(keyOf(change));
  }

  /** All changes of the object. */
  drop(change: Pending): void {
    this.#byKey.delete(keyOf(change));
  }

  /** Of all rows of a list. */
  dropRows(scope: string): void {
    for (const [key, change] of this.#byKey) if (change.is === "row" && change.scope === scope) this.#byKey.delete(key);
  }

  /** This change, unless a newer one of the object waits by now. */
  told(change: Pending): void {
    const key = keyOf(change);
    if (this.#byKey.get(key) === change) this.#byKey.delete(key);
  }
}

function keyOf(change: Pending): string {
  return change.is === "row" ? `row ${change.scope} ${change.id}` : `heartbeat ${change.resourceType} ${change.id}`;
}

function rankOf(change: Pending): number {
  const health = change.is === "row" ? change.row?.health : change.heartbeat?.data.data.status.health;
  return health === undefined ? -1 : severityOf(health);
}
