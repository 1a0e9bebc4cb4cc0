import { type FileHandle, open, readFile } from "node:fs/promises";

const CHUNK = 8 * 1_048_576;

/** As text, as UTF-16, as hex, and inside of base64 wherever it begins: what a program may make of bytes it was given. */
export function formsOf(word: string): readonly Buffer[] {
  const inBase64 = [0, 1, 2].map((shift) => {
    const text = Buffer.from("x".repeat(shift) + word).toString("base64");
    // The first and last digits depend on the neighbours.
    return Buffer.from(text.replace(/=*$/, "").slice(shift === 0 ? 0 : shift + 1, -2));
  });
  return [Buffer.from(word), Buffer.from(word, "utf16le"), Buffer.from(Buffer.from(word).toString("hex")), ...inBase64];
}

/**
 * Which of the words are in the memory of a process, in all that it can read of it itself. In turns: an agent that runs in
 * this process must renew its lease meanwhile.
 */
export async function foundInMemory(pid: number, words: readonly string[]): Promise<readonly string[]> {
  const needles = words.map((word) => ({ word, forms: formsOf(word) }));
  const overlap = Math.max(...needles.flatMap(({ forms }) => forms.map(({ length }) => length)));
  const found = new Set<string>();
  const memory = await open(`/proc/${pid}/mem`, "r");
  const chunk = Buffer.alloc(CHUNK);
  try {
    for (const { from, to } of await readable(pid)) {
      for (let at = from; at < to; at += BigInt(CHUNK - overlap)) {
        const wanted = Number(to - at < BigInt(CHUNK) ? to - at : BigInt(CHUNK));
        const bytes = chunk.subarray(0, await readAt(memory, chunk, wanted, at));
        for (const { word, forms } of needles) if (forms.some((form) => bytes.includes(form))) found.add(word);
        if (wanted < CHUNK) break;
      }
    }
  } finally {
    await memory.close();
  }
  return words.filter((word) => found.has(word));
}

async function readable(pid: number): Promise<readonly { readonly from: bigint; readonly to: bigint }[]> {
  const lines = (await readFile(`/proc/${pid}/maps`, "utf8")).split("\n");
  return lines.flatMap((line) => {
    const [, from, to, rights] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? [];
    if (from === undefined || to === undefined || rights?.startsWith("r") !== true) return [];
    // The kernel's own pages cannot be read this way.
    return line.includes("[v") ? [] : [{ from: BigInt(`0x${from}`), to: BigInt(`0x${to}`) }];
  });
}

/** 0 for a region that is gone since. */
async function readAt(file: FileHandle, into: Buffer, length: number, at: bigint): Promise<number> {
  try {
    return (await file.read(into, 0, length, at)).bytesRead;
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "EIO" || error.code === "EFAULT")) return 0;
    throw error;
  }
}
