import { isResumable, PageTurns } from "../../base/peer-numbers.ts";
import { collectionPath } from "../objects/paths.ts";
import { DecodeError } from "../projection/protobuf.ts";
import type { Page } from "./codec.ts";
import { acceptOf, codecOf, type WatchTarget } from "./watch.ts";

/** Objects a page. Source: client-go tools/pager. Keeps the decoding of one page well under 50 ms. */
const PAGE_SIZE = 500;

/**
 * Reads all objects, page by page, each given to `onItem`; returns the version that the whole list is of.
 *
 * @throws ApiError 410 when the version of the first page is compacted before the last is read: begin again.
 * DecodeError. `signal.reason` on abort.
 */
export async function listPages<T>(
  target: WatchTarget<T>,
  onItem: (object: T) => void,
  signal: AbortSignal,
): Promise<string> {
  let next = "";
  const turns = new PageTurns();
  while (true) {
    const page = await listPage(target, { limit: PAGE_SIZE, next }, signal);
    for (const item of page.items) onItem(item);
    if (page.next === "") {
      if (!isResumable(page.resourceVersion)) throw new DecodeError("a list without a resourceVersion to go on from");
      return page.resourceVersion;
    }
    const wrong = turns.turn(page.items.length, page.next);
    if (wrong !== undefined) throw new DecodeError(`a list without an end: ${wrong}`);
    next = page.next;
  }
}

/** What is asked for in one request. */
export interface PageLimits {
  /** Objects. */
  readonly limit: number;
  /** Where the page before ended; `""`: the first. */
  readonly next?: string;
  /** An answer that is longer is an error. */
  readonly maxBytes?: number;
  /** False when a refusal is news for the caller, not a reason to wait. */
  readonly retry?: boolean;
}

/** One page. @throws ApiError. DecodeError. `signal.reason` on abort. */
export async function listPage<T>(
  target: Omit<WatchTarget<T>, "clock">,
  { limit, next = "", maxBytes, retry }: PageLimits,
  signal: AbortSignal,
): Promise<Page<T>> {
  const { client, resource, projection, namespace, labelSelector, fieldSelector } = target;
  const { body, contentType } = await client.exchange.bytes(
    {
      method: "GET",
      path: collectionPath(resource, namespace),
      query: { labelSelector, fieldSelector, limit, continue: next === "" ? undefined : next },
      accept: acceptOf(projection, ""),
      ...(maxBytes !== undefined && { maxBytes }),
      ...(retry !== undefined && { retry }),
    },
    signal,
  );
  return codecOf(target, contentType).page(body);
}
