import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";

/** A file of an archive, or a link: its path from the archive's root. */
export type Entry =
  | { readonly path: string; readonly content: Uint8Array; readonly isExecutable?: boolean }
  | { readonly path: string; readonly link: string };

/** All files and links below a folder. */
export function entriesBelow(folder: string): readonly Entry[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found.flatMap((each): readonly Entry[] => {
    const file = join(each.parentPath, each.name);
    const path = file.slice(folder.length + 1);
    if (each.isSymbolicLink()) return [{ path, link: readlinkSync(file) }];
    if (!each.isFile()) return [];
    return [{ path, content: readFileSync(file), isExecutable: (statSync(file).mode & 0o100) !== 0 }];
  });
}

/**
 * The bytes follow from the entries and the time alone: sorted, of owner 0, each with the same two modes, each folder before what
 * is in it.
 *
 * @param at of each entry, in seconds since 1970
 */
export async function tarOf(entries: readonly Entry[], at: number): Promise<Buffer> {
  const archive = pack();
  const mtime = new Date(at * 1_000);
  const folders = new Set<string>();
  const sorted = entries.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  for (const entry of sorted) {
    for (const name of foldersOf(entry.path)) {
      if (!folders.has(name)) archive.entry({ name: `${name}/`, type: "directory", mode: 0o755, mtime });
      folders.add(name);
    }
    if ("link" in entry) archive.entry({ name: entry.path, type: "symlink", linkname: entry.link, mode: 0o777, mtime });
    else archive.entry({ name: entry.path, mode: entry.isExecutable ? 0o755 : 0o644, mtime }, entry.content as Buffer);
  }
  archive.finalize();
  return await buffer(archive);
}

export function gzipped(bytes: Uint8Array): Buffer {
  const packed = gzipSync(bytes, { level: 9 });
  // The byte for the operating system that packed it: "unknown", so that all systems give the same bytes.
  packed[9] = 255;
  return packed;
}

/** `a/b/c` → `a`, `a/b`. */
function foldersOf(path: string): readonly string[] {
  const words = path.split("/").slice(0, -1);
  return words.map((_, index) => words.slice(0, index + 1).join("/"));
}
