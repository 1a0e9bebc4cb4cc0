import { readFile } from "node:fs/promises";
import { strToU8, unzipSync, zipSync } from "fflate";
import {
  MAX_METADATA_BYTES,
  METADATA_FILE,
  MODULE_FILE,
  type PluginMetadata,
  readPluginMetadata,
} from "../../../plugins/metadata.ts";
import { MAX_MODULE_BYTES } from "../../../plugins/module-imports.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";

/** What the platform takes. */
const MAX_BUNDLE_BYTES = 100 * 1024 * 1024;

/**
 * The archive of a plugin: the same bytes on every machine, because it holds no time, no owner and no mode, and is compressed by
 * code that comes with this program.
 */
export function bundleOf(metadata: PluginMetadata, module: string): Uint8Array {
  // The format has local time from 1980 on: this is its zero in every time zone.
  const fixed = { level: 9, mtime: new Date(1980, 0, 1), os: 0, attrs: 0 } as const;
  return zipSync({
    [METADATA_FILE]: [strToU8(`${JSON.stringify(metadata, null, 2)}\n`), fixed],
    [MODULE_FILE]: [strToU8(module), fixed],
  });
}

export interface Bundle {
  readonly metadata: PluginMetadata;
  readonly module: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** @throws FriendlyError when the file is no plugin that an operator would take */
export async function readBundle(file: string): Promise<Bundle> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = new Uint8Array(await readFile(file));
  } catch (cause) {
    throw new FriendlyError(`${file} cannot be read: sallyport plugin pack makes it`, { cause });
  }
  if (bytes.length > MAX_BUNDLE_BYTES) throw new FriendlyError(`${file} is larger than 100 MiB`);
  const read = readPluginMetadata(jsonOf(entryIn(bytes, file, METADATA_FILE, MAX_METADATA_BYTES), file));
  if (!read.ok) {
    const lines = read.issues.map(({ path, message }) => `\n  ${escaped(`${path} ${message}`, "")}`);
    throw new FriendlyError(`${file} has a ${METADATA_FILE} that is refused:${lines.join("")}`);
  }
  return { metadata: read.metadata, module: entryIn(bytes, file, MODULE_FILE, MAX_MODULE_BYTES), bytes };
}

function entryIn(bytes: Uint8Array, file: string, entry: string, maxBytes: number): string {
  const large = `${file} has a ${entry} over ${maxBytes} bytes`;
  let isLarge = false;
  try {
    const { [entry]: content } = unzipSync(bytes, {
      filter({ name, originalSize }) {
        if (name !== entry) return false;
        isLarge ||= originalSize > maxBytes;
        return !isLarge;
      },
    });
    if (content !== undefined) return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch (cause) {
    throw unsound(file, cause);
  }
  throw new FriendlyError(isLarge ? large : `${file} has no ${entry}: it was not made by sallyport plugin pack`);
}

function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unsound(file, cause);
  }
}

function unsound(file: string, cause: unknown): FriendlyError {
  return new FriendlyError(`${file} is no sound archive of a plugin`, { cause });
}
