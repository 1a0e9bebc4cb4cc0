import { readFile, writeFile } from "node:fs/promises";
import type { Clock } from "../../base/clock.ts";

/** As Linux counts in `statm`, on every machine that Node.js 24 is built for but some of arm64 (64 KiB): a larger page is caught later. */
const PAGE_BYTES = 4_096;

/**
 * Calls `over` once the process holds more memory than it may. V8's own limit knows nothing of buffers. Where there is no
 * `/proc`, nothing is watched.
 *
 * @returns how to end the watch
 */
export function watchMemory(
  pid: number,
  { residentBytes, lookMs, clock }: { readonly residentBytes: number; readonly lookMs: number; readonly clock: Clock },
  over: () => void,
): () => void {
  let cancel = (): void => undefined;
  let isOver = false;
  const look = async (): Promise<void> => {
    const resident = await residentOf(pid);
    if (isOver || resident === undefined) return;
    if (resident > residentBytes) return over();
    cancel = clock.after(lookMs, () => void look());
  };
  // When memory runs out, the kernel ends this process before the operator. A process may raise its own number unasked.
  void writeFile(`/proc/${pid}/oom_score_adj`, "1000").catch(() => undefined);
  void look();
  return () => {
    isOver = true;
    cancel();
  };
}

/** With all that it has started: a boundary is a process or two of its own around the plugin's. */
async function residentOf(pid: number): Promise<number | undefined> {
  try {
    const [, pages] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ");
    const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "")).match(/\d+/g) ?? [];
    const theirs = await Promise.all(children.map((child) => residentOf(Number(child))));
    return theirs.reduce<number>((sum, each = 0) => sum + each, Number(pages) * PAGE_BYTES);
  } catch {
    return undefined;
  }
}
