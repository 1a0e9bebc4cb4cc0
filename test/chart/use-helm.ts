import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { type HelmResult, helmProgram, runHelm } from "./helm.ts";
import { chartHash, renderedOnce } from "./render-cache.ts";

export const CHART = join(import.meta.dirname, "../../deploy/helm/sallyport");

// biome-ignore lint/suspicious/noExplicitAny: rendered YAML, looked at field by field.
export type Rendered = any;

export interface RenderOptions {
  /** @default "sallyport" */
  readonly release?: string;
  /** @default "sallyport-system" */
  readonly namespace?: string;
  /** @default "1.36.3" */
  readonly kubeVersion?: string;
  readonly apiVersions?: readonly string[];
  /** Runs helm even when the run has rendered the same before. @default false */
  readonly afresh?: boolean;
}

/** What every installation must say. */
export const REQUIRED = {
  platform: { url: "https://platform.example.com" },
  runtimeKey: { existingSecret: "sallyport-runtime-key" },
} as const;

export interface Helm {
  readonly run: (args: readonly string[]) => Promise<HelmResult>;
  /** The text of `helm template`, values as an object or the path of a file. */
  readonly template: (values: object | string, options?: RenderOptions) => Promise<HelmResult>;
  /** Its objects. @throws Error with helm's words when it refuses. */
  readonly render: (values: object | string, options?: RenderOptions) => Promise<readonly Rendered[]>;
}

/** A quarter of a render's CPU is Go's garbage collector, in a process that ends at once. */
const FEWER_COLLECTIONS = { GOGC: "400" } as const;

/** helm for the test file that calls it; on a machine without, it is built before the first test. */
export function useHelm(): Helm {
  let program = "";
  let home = "";
  let chart = "";
  let files = 0;
  beforeAll(async () => {
    program = await helmProgram((line) => process.stderr.write(`${line}\n`), new AbortController().signal);
    home = await mkdtemp(join(tmpdir(), "sallyport-helm-"));
    chart = await chartHash(CHART);
  }, 900_000);
  afterAll(() => rm(home, { recursive: true, force: true }));
  const run = (args: readonly string[]): Promise<HelmResult> => runHelm(program, args, home, 60_000, FEWER_COLLECTIONS);
  const template = async (values: object | string, options: RenderOptions = {}): Promise<HelmResult> => {
    const { release = "sallyport", namespace = "sallyport-system", kubeVersion = "1.36.3", apiVersions = [] } = options;
    const apis = apiVersions.flatMap((each) => ["--api-versions", each]);
    const args = ["template", release, CHART, "-n", namespace, "--kube-version", kubeVersion, ...apis];
    const text = typeof values === "string" ? await readFile(values, "utf8") : stringify(values);
    const render = async (): Promise<HelmResult> => {
      files += 1;
      const file = join(home, `values-${files}.yaml`);
      await writeFile(file, text);
      return run([...args, "-f", file]);
    };
    // The program's path names its version.
    return options.afresh === true ? render() : renderedOnce([program, chart, text, ...args], render);
  };
  return {
    run,
    template,
    async render(values, options) {
      const { code, stdout, stderr } = await template(values, options);
      if (code !== 0) throw new Error(stderr);
      return objectsOf(stdout);
    },
  };
}

const parsed = new Map<string, readonly Rendered[]>();

/** Parses each document once in a worker: renders differ in a few of a hundred, and to parse all takes as long as helm. */
export function objectsOf(text: string): readonly Rendered[] {
  return text.split(/^(?=---\s)/m).flatMap((document) => {
    const known = parsed.get(document) ?? parseObjects(document);
    parsed.set(document, known);
    return structuredClone(known);
  });
}

function parseObjects(text: string): readonly Rendered[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    const object: unknown = document.toJS();
    return object === null ? [] : [object];
  });
}

export function ofKind(objects: readonly Rendered[], ...kinds: readonly string[]): readonly Rendered[] {
  return objects.filter(({ kind }) => kinds.includes(kind));
}

/** @throws Error when there is no such object, or more than one */
export function one(objects: readonly Rendered[], kind: string, name: string, namespace?: string): Rendered {
  const found = objects.filter(
    (each) =>
      each.kind === kind &&
      each.metadata.name === name &&
      (namespace === undefined || each.metadata.namespace === namespace),
  );
  if (found.length !== 1) throw new Error(`${found.length} objects are ${kind} ${name}`);
  return found[0];
}

/** Pod templates and pods, with whose they are. */
export function pods(objects: readonly Rendered[]): readonly { readonly name: string; readonly spec: Rendered }[] {
  return objects.flatMap(({ kind, metadata, spec }) => {
    if (kind === "Pod") return [{ name: metadata.name, spec }];
    return kind === "Deployment" ? [{ name: metadata.name, spec: spec.template.spec }] : [];
  });
}

export function podOf(objects: readonly Rendered[], name: string): Rendered {
  const found = pods(objects).find((pod) => pod.name === name);
  if (found === undefined) throw new Error(`no pod ${name}`);
  return found.spec;
}

export function envOf(pod: Rendered): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(pod.containers[0].env.map((each: Rendered) => [each.name, each.value]));
}
