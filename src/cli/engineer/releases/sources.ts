import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { counted } from "../../../base/counted.ts";
import { isRecord } from "../../../base/is-record.ts";
import { HOOK_ANNOTATION } from "../../../contract/stacks/manifest-problems.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import type { Surroundings } from "../calling.ts";
import { documentsIn, type LocatedObject, objectsOf } from "./located-objects.ts";
import { Faults, manifestStack, type ReleaseStack, wholeStack } from "./manifest-stack.ts";

/** A stack has at most 512 KiB; comments and blanks may be much more. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const EXTENSION = /\.(ya?ml|json)$/;

/** `--stack FILE`. */
export async function stackFromFile(file: string, surroundings: Surroundings): Promise<ReleaseStack> {
  const documents = documentsIn(file, await contentOf(file, surroundings));
  const [first, second] = documents;
  if (first === undefined || second !== undefined) throw new FriendlyError(`${file} must hold one stack`);
  const faults = new Faults();
  if (first.fault !== undefined) faults.add(first.place, [], first.fault);
  faults.end();
  return wholeStack(first.value, first.place);
}

/** `--manifests PATH`, once or several times. */
export async function stackFromManifests(
  project: string,
  paths: readonly string[],
  surroundings: Surroundings,
): Promise<ReleaseStack> {
  const faults = new Faults();
  const objects: LocatedObject[] = [];
  for (const path of paths) {
    for (const file of await filesOf(path)) {
      const documents = documentsIn(file, await contentOf(file, surroundings));
      objects.push(...objectsOf(documents, (place, fault) => faults.add(place, [], fault)));
    }
  }
  return manifestStack(project, objects, faults);
}

/** Of a folder the files right in it, by name, as kubectl takes them. */
async function filesOf(path: string): Promise<readonly string[]> {
  if (path === "-") return ["-"];
  const found = await stat(path).catch(unreadable(path));
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => EXTENSION.test(name)).toSorted();
  const kustomization = names.find((name) => /^kustomization\./.test(name));
  if (kustomization !== undefined) {
    throw new FriendlyError(
      `${path} is for kustomize: kustomize build ${path} | sallyport release create --manifests - …`,
    );
  }
  if (names.length === 0) {
    throw new FriendlyError(`${path} has no .yaml, .yml or .json file right in it; folders below it are not read`);
  }
  return names.map((name) => join(path, name));
}

async function contentOf(file: string, { readInput }: Surroundings): Promise<string> {
  if (file === "-") return readInput();
  const { size } = await stat(file).catch(unreadable(file));
  if (size > MAX_FILE_BYTES) throw new FriendlyError(`${file} has more than ${MAX_FILE_BYTES} bytes`);
  return readFile(file, "utf8").catch(unreadable(file));
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "is not there",
  ENOTDIR: "is not there",
  EACCES: "cannot be read by you",
  EISDIR: "is a folder, and its name is that of a file",
};

function unreadable(file: string): (cause: unknown) => never {
  return (cause) => {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    throw new FriendlyError(UNREADABLE[code] ? `${file} ${UNREADABLE[code]}` : `${file} cannot be read: ${code}`, {
      cause,
    });
  };
}

/** Stands for the namespace that only the customer knows. A chart that builds a name with it cannot be released. */
const NAMESPACE = "namespace-of-the-deployment";

interface Chart {
  readonly chart: string;
  readonly values: readonly string[];
  readonly namespace: string | undefined;
}

/** `--helm CHART`: rendered here by the engineer's own helm, so that the customer reads objects and runs no template. */
export async function stackFromChart(
  project: string,
  { chart, values, namespace = NAMESPACE }: Chart,
  { runTool, error }: Surroundings,
  signal: AbortSignal,
): Promise<ReleaseStack> {
  if (chart.startsWith("-")) throw new UsageError(`--helm is a chart, not ${chart}`);
  const name = /^[a-z]([-a-z0-9]{0,51}[a-z0-9])?$/.test(project) ? project : "release";
  const args = ["template", name, chart, "--namespace", namespace, "--skip-tests", "--include-crds"];
  error(`helm renders ${escaped(chart, "")}\n`);
  const said = await runTool?.("helm", [...args, ...values.flatMap((file) => ["--values", file])], signal);
  if (said === undefined) {
    throw new FriendlyError(
      "helm is not on the PATH: install it, or render elsewhere and give the result with --manifests FILE",
    );
  }
  if (said.code !== 0) throw new FriendlyError(`helm template ended with ${said.code}\n${escaped(said.stderr, "\n")}`);
  const faults = new Faults();
  const all = objectsOf(documentsIn("helm template", said.stdout), (place, fault) => faults.add(place, [], fault));
  const objects = all.filter(({ object }) => object.kind !== "CustomResourceDefinition");
  const left = all.length - objects.length;
  if (left > 0)
    error(`left out, because only the customer installs them: ${counted(left, "CustomResourceDefinition")}\n`);
  return manifestStack(
    project,
    objects.map((one) => ofChart(one, faults)),
    faults,
  );
}

/** Without the namespace that stands for the customer's, and with helm's hooks in the form of a release. */
function ofChart({ object, place }: LocatedObject, faults: Faults): LocatedObject {
  const { metadata, ...rest } = object;
  if (!isRecord(metadata)) return { object, place };
  const { namespace, annotations, ...others } = metadata;
  const kept = {
    ...others,
    ...(namespace !== undefined && namespace !== NAMESPACE && { namespace }),
    ...(isRecord(annotations) && {
      annotations: hooksOf(annotations, object.kind, (text) => faults.add(place, [], text)),
    }),
  };
  const cleaned = { ...rest, metadata: kept };
  if (JSON.stringify(cleaned).includes(NAMESPACE)) {
    faults.add(place, [], "the chart writes its namespace into the object: render for one with --namespace NAME");
  }
  return { object: cleaned, place };
}

function hooksOf(
  annotations: Readonly<Record<string, unknown>>,
  kind: unknown,
  refuse: (text: string) => void,
): Readonly<Record<string, unknown>> {
  const hooks = String(annotations["helm.sh/hook"] ?? "");
  const others = Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith("helm.sh/hook")));
  if (hooks === "") return others;
  const times = new Set(hooks.split(",").map((hook) => /^(pre|post)-(install|upgrade)$/.exec(hook.trim())?.[1]));
  const [time] = times;
  if (times.size === 1 && time !== undefined && kind === "Job") return { ...others, [HOOK_ANNOTATION]: time };
  if (times.size === 1 && time !== undefined) return others;
  refuse(`helm's hook ${hooks} has no place in a release: only Jobs before or after it`);
  return others;
}
