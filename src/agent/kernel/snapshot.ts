/**
 * The platform's last list of one kind, per scope (a deployment, or everything). Replacing a scope drops what its new
 * list does not have, so the platform bounds the size; `capacity` bounds it where the platform does not.
 */
export class Snapshot<T extends { readonly id: string }> {
  readonly #capacity: number;
  readonly #dropped: () => void;
  #isRead = false;
  readonly #items = new Map<string, { readonly scope: string; item: T; changedAs: number }>();
  #changes = 0;

  /** @param dropped called for each item that found no capacity. */
  constructor(capacity: number, dropped: () => void) {
    this.#capacity = capacity;
    this.#dropped = dropped;
  }

  /** A list was read into it. Before that an item's absence means nothing. */
  get isRead(): boolean {
    return this.#isRead;
  }

  get size(): number {
    return this.#items.size;
  }

  get(id: string): T | undefined {
    return this.#items.get(id)?.item;
  }

  values(): readonly T[] {
    return [...this.#items.values()].map(({ item }) => item);
  }

  /** How many items were added or updated so far: for {@link replace}, from before a list is asked for. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * The new list of a scope. Returns the ids that are in it now or were before: each may have changed.
   *
   * @param since items that were added or updated after this count stay as they are: the list is older than they are
   */
  replace(scope: string, items: readonly T[], since = this.#changes): readonly string[] {
    const touched = new Set<string>();
    this.#isRead = true;
    for (const [id, entry] of this.#items) {
      if (entry.scope !== scope) continue;
      touched.add(id);
      if (entry.changedAs <= since) this.#items.delete(id);
    }
    for (const item of items) {
      touched.add(item.id);
      if (this.#items.get(item.id)?.scope === scope) continue;
      if (this.#items.size < this.#capacity) this.#items.set(item.id, { scope, item, changedAs: 0 });
      else this.#dropped();
    }
    return [...touched];
  }

  /** One item that is known before the next list of its scope. False: there was no capacity. */
  add(scope: string, item: T): boolean {
    if (!this.#items.has(item.id) && this.#items.size >= this.#capacity) {
      this.#dropped();
      return false;
    }
    this.#changes += 1;
    this.#items.set(item.id, { scope, item, changedAs: this.#changes });
    return true;
  }

  /** A newer state of an item that is on the snapshot; without effect when it is not. */
  update(item: T): void {
    const entry = this.#items.get(item.id);
    if (entry === undefined) return;
    this.#changes += 1;
    entry.item = item;
    entry.changedAs = this.#changes;
  }

  remove(id: string): void {
    this.#items.delete(id);
  }
}
