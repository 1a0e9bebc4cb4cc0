import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { type HelmResult, helmProgram, runHelm } from "./helm.ts";

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

/** helm for the test file that calls it; on a machine without, it is built before the first test. */
export function useHelm(): Helm {
  let program = "";
  let home = "";
  let files = 0;
  beforeAll(async () => {
    program = await helmProgram((line) => process.stderr.write(`${line}\n`), new AbortController().signal);
    home = await mkdtemp(join(tmpdir(), "sallyport-helm-"));
  }, 900_000);
  afterAll(() => rm(home, { recursive: true, force: true }));
  const run = (args: readonly string[]): Promise<HelmResult> => runHelm(program, args, home);
  const template = async (values: object | string, options: RenderOptions = {}): Promise<HelmResult> => {
    const { release = "sallyport", namespace = "sallyport-system", kubeVersion = "1.36.3", apiVersions = [] } = options;
    files += 1;
    const file = typeof values === "string" ? values : join(home, `values-${files}.yaml`);
    if (typeof values !== "string") await writeFile(file, stringify(values));
    const apis = apiVersions.flatMap((each) => ["--api-versions", each]);
    return run(["template", release, CHART, "-n", namespace, "-f", file, "--kube-version", kubeVersion, ...apis]);
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

export function objectsOf(text: string): readonly Rendered[] {
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
