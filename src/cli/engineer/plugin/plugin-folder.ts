import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
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
import { DOUBLE, documentsIn, type GivenDocument } from "../../kernel/given/documents.ts";
import { givenText } from "../../kernel/given/given-file.ts";
import type { Loading } from "./module-loading.ts";
import type { Problem } from "./problem.ts";
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
  try {
    return await givenText(path, maxBytes);
  } catch (error) {
    if (!(error instanceof FriendlyError && isMissing(error.cause))) throw error;
    throw new FriendlyError(`${error.message}: sallyport plugin init makes a plugin's files`, { cause: error });
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ENOENT";
}

interface Source {
  readonly metadata: PluginMetadata | undefined;
  /** Of the operations, as far as they can be read: the module is checked against them. Undefined: there is no list of them. */
  readonly names: readonly string[] | undefined;
  readonly problems: readonly Problem[];
}

/** Reads the text of `plugin.yaml`. */
export function readSource(text: string): Source {
  const [document, second] = documentsIn(text).take(2);
  const fault =
    document?.fault ?? (second && { ...second.placeOf([]), message: "begins a second document: a plugin has one" });
  if (fault !== undefined) {
    return { metadata: undefined, names: undefined, problems: [{ file: SOURCE_FILE, ...fault }] };
  }
  const doubles = (document?.doubles ?? []).map((place) => ({ file: SOURCE_FILE, ...place, message: DOUBLE }));
  const value = document?.value;
  if (doubles.length > 0) return { metadata: undefined, names: namesIn(value), problems: doubles };
  const named = isRecord(value) ? { ...value, module: MODULE_FILE } : value;
  const read = readPluginMetadata(named);
  const unknown = resourceIssues(value);
  if (read.ok && unknown.length === 0) return sized(read.metadata);
  const issues = [...(read.ok ? [] : read.issues), ...unknown];
  const problems = issues.map(({ path, message }) => {
    const steps = stepsOf(path);
    const place = document?.placeOf(steps) ?? { line: 1, column: 1 };
    const words = `${path} ${message}${/string/.test(message) ? hintFor(steps, value, document) : ""}`.trim();
    return { file: SOURCE_FILE, ...place, message: words };
  });
  return { metadata: undefined, names: namesIn(value), problems };
}

function sized(metadata: PluginMetadata): Source {
  const names = metadata.operations.map(({ name }) => name);
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes <= MAX_METADATA_BYTES) return { metadata, names, problems: [] };
  const message = `makes a ${METADATA_FILE} of ${bytes} bytes, at most ${MAX_METADATA_BYTES}`;
  return { metadata: undefined, names, problems: [{ file: SOURCE_FILE, line: 1, column: 1, message }] };
}

/** YAML reads 1.0 as the number 1, and `on` as true. */
function hintFor(steps: readonly string[], value: unknown, document: GivenDocument | undefined): string {
  const found = steps.reduce<unknown>((at, step) => (isContainer(at) ? Reflect.get(at, step) : undefined), value);
  const written = document?.textAt(steps);
  if (written === undefined || written === "" || !["number", "boolean"].includes(typeof found)) return "";
  return `: YAML reads it as a ${typeof found}, write "${written}" in quotes`;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function namesIn(value: unknown): readonly string[] | undefined {
  if (!isRecord(value) || !Array.isArray(value.operations)) return undefined;
  return value.operations.flatMap((each) => (isRecord(each) && typeof each.name === "string" ? [each.name] : []));
}

/** Of a JSON pointer. */
function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
