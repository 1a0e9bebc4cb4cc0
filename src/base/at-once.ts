/**
 * The results of `work` for all items, at most `limit` under way. An error of one lets no other begin, and is thrown when
 * none is under way any more: work that went on behind the caller's back would meet the caller's next try.
 */
export async function atOnce<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      try {
        results[index] = await work(items[index] as T);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, run));
  for (const each of ended) if (each.status === "rejected") throw each.reason;
  return results;
}
