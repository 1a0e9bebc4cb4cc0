import { type DeployedResource, MAX_RESOURCE_ROWS } from "../../../contract/resources/resources.ts";

/** What is shown of a resource: as it is, or as it was last shown and why no more is known. */
export interface Shown {
  readonly row: DeployedResource;
  readonly end?: "gone" | "not listed";
}

/** One answer of the list. `isCut`: there are more rows than it has, so that a row which it lacks may be there. */
export interface Listed {
  readonly rows: readonly DeployedResource[];
  readonly isCut: boolean;
}

/**
 * Rows of one look that are asked for by themselves. A look each two seconds makes 330 calls a minute with them; a key
 * may make 600.
 */
const MOST_ASKED = 10;

/** Rows that wait to be asked for; more are told as not listed. */
const MOST_WAITING = MAX_RESOURCE_ROWS;

/** The rows of a list, those that wait, and as many beyond the cut, so that one that comes back unchanged is no news. */
const MOST_KNOWN = 3 * MAX_RESOURCE_ROWS;

/**
 * What `resources watch` shows: each row once, and again when it has changed; the age of what is known is no change.
 * What is sick comes first in a list, so a row that recovers may fall behind the cut of a long one. It is then asked
 * for by itself, a few at each look; only what is not there either is gone.
 */
export class FollowedRows {
  /** As last shown. */
  readonly #known = new Map<string, DeployedResource>();
  /** The keys of those that have left a cut list and were not asked for yet, the oldest first, and of the last list. */
  #followed: readonly string[] = [];

  /** @param ask looks for one row by itself; undefined when there is none. */
  async changes(
    { rows, isCut }: Listed,
    isWanted: (row: DeployedResource) => boolean,
    ask: (row: DeployedResource) => Promise<DeployedResource | undefined>,
  ): Promise<readonly Shown[]> {
    const shown: Shown[] = [];
    const tell = (key: string, row: DeployedResource): void => {
      if (contentOf(row) !== contentOf(this.#known.get(key))) shown.push({ row });
      this.#known.delete(key);
      this.#known.set(key, row);
    };
    const end = (key: string, row: DeployedResource, word: "gone" | "not listed"): void => {
      shown.push({ row, end: word });
      this.#known.delete(key);
    };
    // The last row of a cut list has the word on the cut in place of its message.
    const all = new Map((isCut ? rows.slice(0, -1) : rows).map((row) => [keyOf(row), row]));
    const now = [...all].filter(([, row]) => isWanted(row));
    for (const [key, row] of now) tell(key, row);
    const isNow = new Set(now.map(([key]) => key));
    const missing: [string, DeployedResource][] = [];
    for (const key of this.#followed) {
      if (isNow.has(key)) continue;
      const [listed, known] = [all.get(key), this.#known.get(key)];
      // What has recovered is shown once more, as it is now.
      if (listed !== undefined) tell(key, listed);
      else if (known !== undefined) missing.push([key, known]);
    }
    const asked = isCut ? missing.slice(0, MOST_ASKED) : [];
    const waiting = isCut ? missing.slice(MOST_ASKED, MOST_ASKED + MOST_WAITING) : [];
    for (const [key, row] of missing.slice(asked.length + waiting.length)) end(key, row, isCut ? "not listed" : "gone");
    for (const [key, row] of asked) {
      const found = await ask(row);
      if (found === undefined) end(key, row, "gone");
      else tell(key, found);
    }
    this.#followed = [...waiting.map(([key]) => key), ...isNow];
    this.#forget(isCut ? MOST_KNOWN : 0);
    return shown;
  }

  /** Rows that are not followed go, the oldest first, until so many are known. */
  #forget(most: number): void {
    const isFollowed = new Set(this.#followed);
    for (const key of this.#known.keys()) {
      if (this.#known.size <= most) return;
      if (!isFollowed.has(key)) this.#known.delete(key);
    }
  }
}

export function keyOf({ deploymentId, resourceType, objectId, source }: DeployedResource): string {
  return JSON.stringify([deploymentId, resourceType, objectId, source]);
}

function contentOf(row: DeployedResource | undefined): string {
  return JSON.stringify({ ...row, lastObservedAt: null });
}
