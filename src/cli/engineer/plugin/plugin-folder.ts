import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { isRecord } from "../../../base/is-record.ts";
import {
  MAX_METADATA_BYTES,
  METADATA_FILE,
  MODULE_FILE,
  type PluginMetadata,
  readPluginMetadata,
} from "../../../plugins/metadata.ts";
import { MAX_MODULE_BYTES } from "../../../plugins/module-imports.ts";
import { FriendlyError } from "../../kernel/command.ts";
import type { Loading } from "./module-loading.ts";
import type { Place, Problem } from "./problem.ts";
import { resourceIssues } from "./resource-names.ts";

/** What an author writes; `metadata.json` is made of it. */
export const SOURCE_FILE = "plugin.yaml";

export interface PluginFolder {
  /** Undefined when something is wrong with it. */
  readonly metadata: PluginMetadata | undefined;
  readonly module: string;
  /** Operations with a function `verify`. */
  readonly verifying: ReadonlySet<string>;
  /** Everything that is wrong, in the order of the files. */
  readonly problems: readonly Problem[];
}

/** Reads both files, and loads the module. @throws FriendlyError when a file is missing or too large */
export async function readPluginFolder(folder: string, loading: Loading, signal: AbortSignal): Promise<PluginFolder> {
  const text = await textOf(join(folder, SOURCE_FILE), MAX_METADATA_BYTES);
  const module = await textOf(join(folder, MODULE_FILE), MAX_MODULE_BYTES);
  const source = readSource(text);
  const { checkModule } = await import("./module-loading.ts");
  const { verifying, problems } = await checkModule(module, source.names, loading, signal);
  return { metadata: source.metadata, module, verifying, problems: [...source.problems, ...problems] };
}

async function textOf(path: string, maxBytes: number): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw new FriendlyError(`${path} cannot be read: sallyport plugin init makes a plugin's files`, { cause });
  }
  if (bytes.length > maxBytes) throw new FriendlyError(`${path} has ${bytes.length} bytes, at most ${maxBytes}`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new FriendlyError(`${path} is no UTF-8`, { cause });
  }
}

interface Source {
  readonly metadata: PluginMetadata | undefined;
  /** Of the operations, as far as they can be read: the module is checked against them. Undefined: there is no list of them. */
  readonly names: readonly string[] | undefined;
  readonly problems: readonly Problem[];
}

/** Reads the text of `plugin.yaml`. */
export function readSource(text: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): Place => {
    const { line, col: column } = lines.linePos(offset);
    return { file: SOURCE_FILE, line, column };
  };
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => ({ ...at(pos[0]), message }));
    return { metadata: undefined, names: undefined, problems };
  }
  const value: unknown = dataOf(document);
  const named = isRecord(value) ? { ...value, module: MODULE_FILE } : value;
  const read = readPluginMetadata(named);
  const unknown = resourceIssues(value);
  if (read.ok && unknown.length === 0) return sized(read.metadata);
  const issues = [...(read.ok ? [] : read.issues), ...unknown];
  const problems = issues.map(({ path, message }) => {
    const words = `${path} ${message}${hintFor(path, document.contents)}`.trim();
    return { ...at(offsetOf(document.contents, path)), message: words };
  });
  return { metadata: undefined, names: namesIn(value), problems };
}

/** An alias can make a small file a large value. */
function dataOf(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 16 });
  } catch {
    return undefined;
  }
}

function sized(metadata: PluginMetadata): Source {
  const names = metadata.operations.map(({ name }) => name);
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes <= MAX_METADATA_BYTES) return { metadata, names, problems: [] };
  const message = `makes a ${METADATA_FILE} of ${bytes} bytes, at most ${MAX_METADATA_BYTES}`;
  return { metadata: undefined, names, problems: [{ file: SOURCE_FILE, line: 1, column: 1, message }] };
}

/** As it is written: YAML reads 1.0 as the number 1. */
function hintFor(path: string, root: Node | null): string {
  const version = path === "/version" && isMap(root) ? root.get("version", true) : undefined;
  const isNumber = isScalar(version) && typeof version.value === "number";
  return isNumber ? `: YAML reads it as a number, write "${version.source ?? version.value}" in quotes` : "";
}

function namesIn(value: unknown): readonly string[] | undefined {
  if (!isRecord(value) || !Array.isArray(value.operations)) return undefined;
  return value.operations.flatMap((each) => (isRecord(each) && typeof each.name === "string" ? [each.name] : []));
}

/** Where the value lies that a JSON pointer names, or the nearest one around it. */
function offsetOf(root: Node | null, path: string): number {
  let found: Node | null = root;
  let offset = root?.range?.[0] ?? 0;
  for (const step of path.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (isMap(found)) {
      const pair = found.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === name);
      if (pair === undefined) break;
      offset = isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
      found = isNode(pair.value) ? pair.value : null;
    } else if (isSeq(found)) {
      const item: unknown = found.items[Number(name)];
      if (!isNode(item)) break;
      offset = item.range?.[0] ?? offset;
      found = item;
    } else break;
  }
  return offset;
}
