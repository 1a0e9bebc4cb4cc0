import { isOpen, type OpenCounts } from "./open-cap.ts";

interface Counted {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
  readonly spec: { readonly deploymentId: string };
  readonly status?: { readonly state?: string };
}

interface ObjectChange<T> {
  readonly type: "added" | "updated" | "deleted";
  readonly object: T;
}

/**
 * The open objects of one kind and namespace, the oldest first, kept up to date from a cache. A count does not read the
 * objects: thousands may wait, and each asks again every few seconds.
 */
export class OpenObjects<T extends Counted> {
  readonly #counts: (object: T) => boolean;
  readonly #byName = new Map<string, T>();
  readonly #all: T[] = [];
  /** Empty lists are deleted: otherwise ids that are gone would fill memory. */
  readonly #ofDeployment = new Map<string, T[]>();

  /** @param counts which objects take room; by default all that are open. */
  constructor(counts: (object: T) => boolean = isOpen) {
    this.#counts = counts;
  }

  /** Handler for the cache's `onChange`. */
  readonly changed = ({ type, object }: ObjectChange<T>): void => {
    const before = this.#byName.get(object.metadata.name);
    if (before !== undefined) this.#remove(before);
    if (type !== "deleted" && this.#counts(object)) this.#insert(object);
  };

  counts(deploymentId: string): OpenCounts {
    return { ofDeployment: this.#ofDeployment.get(deploymentId)?.length ?? 0, inAll: this.#all.length };
  }

  /** Counts the objects that were made before `object`, which may be open itself. */
  countsBefore(object: T): OpenCounts {
    const same = this.#ofDeployment.get(object.spec.deploymentId) ?? [];
    return { ofDeployment: placeOf(object, same), inAll: placeOf(object, this.#all) };
  }

  #insert(object: T): void {
    const { deploymentId } = object.spec;
    const same = this.#ofDeployment.get(deploymentId) ?? [];
    this.#byName.set(object.metadata.name, object);
    this.#ofDeployment.set(deploymentId, same);
    for (const line of [same, this.#all]) line.splice(placeOf(object, line), 0, object);
  }

  #remove(object: T): void {
    const { deploymentId } = object.spec;
    const same = this.#ofDeployment.get(deploymentId) ?? [];
    this.#byName.delete(object.metadata.name);
    for (const line of [same, this.#all]) line.splice(placeOf(object, line), 1);
    if (same.length === 0) this.#ofDeployment.delete(deploymentId);
  }
}

/** How many in `line` are older; where `object` stands in it, if it does. */
function placeOf(object: Counted, line: readonly Counted[]): number {
  let [from, to] = [0, line.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = line[middle];
    if (other !== undefined && isOlder(other, object)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The API server's time has whole seconds; within one second the name decides. */
function isOlder({ metadata: one }: Counted, { metadata: other }: Counted): boolean {
  if (one.creationTimestamp !== other.creationTimestamp) return one.creationTimestamp < other.creationTimestamp;
  return one.name < other.name;
}
