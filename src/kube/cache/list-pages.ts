import { collectionPath } from "../objects/paths.ts";
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
  const { client, resource, projection, namespace, labelSelector, fieldSelector } = target;
  let next = "";
  while (true) {
    const { body, contentType } = await client.exchange.bytes(
      {
        method: "GET",
        path: collectionPath(resource, namespace),
        query: { labelSelector, fieldSelector, limit: PAGE_SIZE, continue: next === "" ? undefined : next },
        accept: acceptOf(projection, ""),
      },
      signal,
    );
    const page = codecOf(target, contentType).page(body);
    for (const item of page.items) onItem(item);
    if (page.next === "") return page.resourceVersion;
    next = page.next;
  }
}
