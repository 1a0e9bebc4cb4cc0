import { gzipSync } from "node:zlib";
import Type, { type Static } from "typebox";
import { Check, Errors } from "typebox/schema";
import { FreeMap, Strict } from "../../../contract/wire/schema.ts";
import { tarOf } from "../../kernel/tar.ts";
import { UnbuildableError } from "../runner.ts";

/**
 * `chart` of a release's Kubernetes stack: the chart's files by their path, and the fields of its Chart.yaml other than
 * name and version, which are the package's.
 */
const ChartSource = Strict({
  metadata: Type.Optional(FreeMap),
  files: Type.Record(Type.String(), Type.String()),
});
export type ChartSource = Static<typeof ChartSource>;

export interface ChartNames {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly appVersion: string;
}

/** A chart cannot be made from the release; the message tells its creator why. */
export class ChartError extends UnbuildableError {
  override readonly name = "ChartError";
}

const MAX_FILES = 500;
const CHART_FILE = "Chart.yaml";
/** helm's rule, without the capital letters and underscores that helm warns of. */
const NAME = /^[a-z0-9]+([-.][a-z0-9]+)*$/;
const PATH = /^(?!.*(^|\/)\.{1,2}(\/|$))[A-Za-z0-9_.][A-Za-z0-9_.@+-]*(\/[A-Za-z0-9_.][A-Za-z0-9_.@+-]*)*$/;

/** Packs a chart archive like `helm package`. The same source gives the same bytes. @throws ChartError */
export async function packChart(source: unknown, names: ChartNames): Promise<Buffer> {
  const { metadata, files } = read(source);
  if (!NAME.test(names.name)) throw new ChartError(`${JSON.stringify(names.name)} cannot be a chart's name`);
  const { appVersion = names.appVersion, ...more } = metadata ?? {};
  const about = {
    type: "application",
    ...(names.description !== "" && { description: names.description }),
    ...more,
    apiVersion: "v2",
    name: names.name,
    version: names.version,
    appVersion,
  };
  const contents = [
    // JSON is valid YAML.
    [CHART_FILE, `${JSON.stringify(about, null, 2)}\n`] as const,
    ...Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)),
  ];
  const packed = gzipSync(await tarIn(names.name, contents), { level: 9 });
  // The byte for the operating system that packed it: "unknown", so that all systems give the same bytes.
  packed[9] = 255;
  return packed;
}

function tarIn(folder: string, contents: readonly (readonly [path: string, content: string])[]): Promise<Buffer> {
  const files = contents.map(([path, content]) => ({ name: `${folder}/${path}`, content: Buffer.from(content) }));
  if (files.some(({ name }) => isTooLong(name))) throw new ChartError("a path in the chart is too long");
  return tarOf(files);
}

/** Longer than every reader of archives accepts without format extensions (POSIX "ustar"). Paths are ASCII. */
function isTooLong(name: string): boolean {
  return name.length > 255 || name.split("/").some((segment) => segment.length > 100);
}

function read(source: unknown): ChartSource {
  if (!Check(ChartSource, source)) {
    const [, [first]] = Errors(ChartSource, source);
    throw new ChartError(`chart${first?.instancePath ?? ""} ${first?.message ?? "is no chart"}`);
  }
  const paths = Object.keys(source.files);
  if (paths.length > MAX_FILES) throw new ChartError(`the chart has more than ${MAX_FILES} files`);
  const folders = new Set(paths.flatMap(foldersOf));
  for (const path of paths) {
    const shown = JSON.stringify(path.slice(0, 128));
    if (!PATH.test(path)) throw new ChartError(`${shown} cannot be a path in a chart`);
    if (folders.has(path)) throw new ChartError(`${shown} is a file and a folder`);
  }
  if (paths.includes(CHART_FILE)) throw new ChartError(`${CHART_FILE} is made of the chart's metadata: leave it out`);
  return source as ChartSource;
}

/** `a/b/c` → `a`, `a/b`. */
function foldersOf(path: string): string[] {
  const segments = path.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join("/"));
}
