import { PageTurns } from "../base/peer-numbers.ts";
import { transportError } from "./api-error.ts";

interface PageOf<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/**
 * All items of a paginated route, page after page as they are consumed: `pages(client.projects.list, { query }, signal)`.
 *
 * @throws ApiError CURSOR_REPEATED when the server hands out a cursor again, or pages without end.
 */
export async function* pages<Args extends { readonly query?: object }, Item>(
  list: (args: Args, signal: AbortSignal) => Promise<PageOf<Item>>,
  args: Args,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const turns = new PageTurns();
  for (let cursor: string | undefined, page: PageOf<Item>; ; cursor = page.nextCursor ?? undefined) {
    page = await list(cursor === undefined ? args : { ...args, query: { ...args.query, cursor } }, signal);
    yield* page.items;
    if (page.nextCursor === null || page.nextCursor === undefined) return;
    const wrong = turns.turn(page.items.length, page.nextCursor);
    if (wrong !== undefined) throw transportError("CURSOR_REPEATED", wrong);
  }
}
