import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import Type from "typebox";
import { Check } from "typebox/schema";
import { readTar } from "../../kernel/tar.ts";

const INDEX = "index.json";
/** The files of a layout. docker's archives hold others beside them. */
const LAYOUT_FILE = /^(oci-layout|index\.json|blobs\/sha256\/[0-9a-f]{64})$/;
const MAX_INDEX_BYTES = 1024 ** 2;
const MAX_ARCHIVE_BYTES = 4 * 1024 ** 3;

const Index = Type.Object({
  manifests: Type.Array(Type.Object({ digest: Type.String({ pattern: "^sha256:[0-9a-f]{64}$" }) }), {
    minItems: 1,
    maxItems: 1,
  }),
});

/** The image to which plugins are added. */
export interface BaseImage {
  readonly digest: string;
  /**
   * A folder with its layout: the image's own, or one that is made in `work`.
   * @throws Error when another image lies there than at the start.
   */
  layout(work: string, signal: AbortSignal): Promise<string>;
}

/** @param path of a folder, or of a tar archive. @throws Error that says what is wrong with it. */
export async function openBaseImage(path: string, signal: AbortSignal): Promise<BaseImage> {
  const found = await stat(path);
  const digest = await (found.isDirectory() ? digestOfFolder(path) : digestOfArchive(path, found.size, signal));
  return {
    digest,
    async layout(work, aborted) {
      const folder = found.isDirectory() ? path : await unpack(path, join(work, "base"), aborted);
      if ((await digestOfFolder(folder)) === digest) return folder;
      throw new Error(`another image lies at ${path} than at the start: restart the platform`);
    },
  };
}

async function digestOfFolder(folder: string): Promise<string> {
  const index = join(folder, INDEX);
  if ((await stat(index)).size > MAX_INDEX_BYTES) throw new Error(`${index} is larger than 1 MiB`);
  return digestIn(await readFile(index, "utf8"));
}

async function digestOfArchive(path: string, size: number, signal: AbortSignal): Promise<string> {
  if (size > MAX_ARCHIVE_BYTES) throw new Error(`${path} is larger than 4 GiB`);
  let index = "";
  const take = async (file: { readonly size: number }, content: AsyncIterable<Uint8Array>): Promise<void> => {
    if (file.size > MAX_INDEX_BYTES) throw new Error(`${INDEX} in ${path} is larger than 1 MiB`);
    index = await text(content);
  };
  await readTar(path, (name) => name === INDEX, take, signal);
  if (index === "") throw new Error(`${path} is no archive of an OCI layout: it has no ${INDEX}`);
  return digestIn(index);
}

function digestIn(index: string): string {
  const value: unknown = JSON.parse(index);
  if (Check(Index, value)) return value.manifests[0]?.digest ?? "";
  throw new Error(`${INDEX} of the OCI layout must name one image, or one index of images`);
}

async function unpack(path: string, folder: string, signal: AbortSignal): Promise<string> {
  const take = async ({ name }: { readonly name: string }, content: AsyncIterable<Uint8Array>): Promise<void> => {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // By iteration: a pipeline never ends for an entry that was destroyed before it began, as at a cut-off archive.
    await writeFile(file, content, { flag: "wx", mode: 0o600, signal });
  };
  await readTar(path, (name) => LAYOUT_FILE.test(name), take, signal);
  return folder;
}
