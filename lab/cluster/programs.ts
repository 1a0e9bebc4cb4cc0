import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureCacheEntry } from "./cache-entry.ts";
import { cacheRoot } from "./cache-root.ts";
import { controlPlaneRecipe, type Recipe } from "./go-build.ts";
import { chosenKubernetes, KUBERNETES_VERSIONS, type KubernetesMinor, NEWEST } from "./kubernetes-versions.ts";
import { kwokRecipe, stageFiles } from "./kwok.ts";
import { findOnPath, isExecutable } from "./path-search.ts";

export type KubernetesProgram = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "kubectl";

/** Absolute paths. `kwok` is there only when it was asked for. */
export interface Programs {
  readonly etcd: string;
  readonly "kube-apiserver": string;
  readonly "kube-controller-manager"?: string;
  readonly "kube-scheduler"?: string;
  readonly kubectl: string;
  readonly kwok?: { readonly path: string; readonly stages: readonly string[] };
}

export interface FindOptions {
  /** kube-controller-manager and kube-scheduler too; default false. */
  readonly controllers?: boolean;
  /** kwok and its stages too; default false. */
  readonly kwok?: boolean;
  /** What is being done, a line about every 5 s when it takes long. */
  readonly say?: (line: string) => void;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Replaces the builds; for tests. */
  readonly build?: (recipe: Recipe, folder: string, signal: AbortSignal) => Promise<void>;
}

/**
 * The Kubernetes programs, each from the first of: `KUBEBUILDER_ASSETS`, the PATH, our cache (built with Go, once).
 *
 * A person chose `KUBEBUILDER_ASSETS`, so its programs are used as they are. A program on the PATH is used only when it
 * fits the server (see {@link fitsServer}): distributions ship a kubectl four minors older, which need not work with
 * our server. kwok always comes from the cache, because its stage files exist only in its module. With
 * `SALLYPORT_KUBERNETES` all programs come from the cache: on the PATH and in a person's folder may be other versions.
 *
 * @throws ProgramsError when something must be built and cannot be; its message is for a person.
 */
export async function findPrograms(options: FindOptions, signal: AbortSignal): Promise<Programs> {
  const env = options.env ?? process.env;
  const say = options.say ?? (() => undefined);
  const chosen = chosenKubernetes(env);
  const minor = chosen ?? NEWEST;
  const inCache = cached(options, minor, env, say, signal);
  const elsewhere = async (name: KubernetesProgram, serverMinor: number) =>
    (await fromAssets(name, env)) ?? (await fromPath(name, serverMinor, env, signal));
  const find = async (name: KubernetesProgram, serverMinor: number) =>
    (chosen === undefined ? await elsewhere(name, serverMinor) : undefined) ?? (await inCache.program(name));

  const apiserver = await find("kube-apiserver", minorOf(KUBERNETES_VERSIONS[minor]) ?? 0);
  const serverMinor = (await versionOf("kube-apiserver", apiserver, signal)) ?? 0;
  return {
    "kube-apiserver": apiserver,
    etcd: await find("etcd", serverMinor),
    kubectl: await find("kubectl", serverMinor),
    ...(options.controllers === true && {
      "kube-controller-manager": await find("kube-controller-manager", serverMinor),
      "kube-scheduler": await find("kube-scheduler", serverMinor),
    }),
    ...(options.kwok === true && { kwok: await inCache.kwok() }),
  };
}

/**
 * Kubernetes' version skew policy: kubectl may be one minor older or newer than the API server, the controller
 * manager and the scheduler one minor older and never newer. etcd has its own numbers: any 3.5 or newer serves.
 */
export function fitsServer(name: KubernetesProgram, minor: number | undefined, serverMinor: number): boolean {
  if (minor === undefined) return false;
  switch (name) {
    case "etcd":
      return minor >= 5;
    case "kubectl":
    case "kube-apiserver":
      return Math.abs(minor - serverMinor) <= 1;
    case "kube-controller-manager":
    case "kube-scheduler":
      return minor === serverMinor || minor === serverMinor - 1;
  }
}

async function fromAssets(name: string, env: FindOptions["env"]): Promise<string | undefined> {
  const folder = env?.KUBEBUILDER_ASSETS;
  if (folder === undefined || folder === "") return undefined;
  const file = join(folder, name);
  return (await isExecutable(file)) ? file : undefined;
}

async function fromPath(
  name: KubernetesProgram,
  serverMinor: number,
  env: FindOptions["env"],
  signal: AbortSignal,
): Promise<string | undefined> {
  const file = await findOnPath(name, env?.PATH);
  return file !== undefined && fitsServer(name, await versionOf(name, file, signal), serverMinor) ? file : undefined;
}

const run = promisify(execFile);

/** The minor version a program says it has; undefined when it does not run or says something else. */
async function versionOf(name: KubernetesProgram, file: string, signal: AbortSignal): Promise<number | undefined> {
  const args = name === "kubectl" ? ["version", "--client"] : ["--version"];
  try {
    return minorOf((await run(file, args, { timeout: 10_000, signal })).stdout);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** "Kubernetes v1.36.3", "Client Version: v1.36.3", "etcd Version: 3.6.8" → 36, 36, 6 */
export function minorOf(text: string): number | undefined {
  const found = /v?\d+\.(\d+)\.\d+/.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

function cached(
  options: FindOptions,
  minor: KubernetesMinor,
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
  signal: AbortSignal,
) {
  const build = options.build;
  const ensure = (recipe: Recipe): Promise<string> =>
    ensureRecipe(
      build === undefined ? recipe : { ...recipe, build: (into, _say, each) => build(recipe, into, each) },
      {
        env,
        say,
      },
      signal,
    );
  return {
    program: async (name: KubernetesProgram) => join(await ensure(await controlPlaneRecipe(minor)), name),
    kwok: async () => {
      const folder = await ensure(await kwokRecipe());
      return { path: join(folder, "kwok"), stages: stageFiles(folder) };
    },
  };
}

/** The cache's folder for the recipe; built now when it does not exist. */
export async function ensureRecipe(
  recipe: Recipe,
  {
    env = process.env,
    say,
  }: { readonly env?: Readonly<Record<string, string | undefined>>; readonly say: (line: string) => void },
  signal: AbortSignal,
): Promise<string> {
  const folder = join(cacheRoot(env), recipe.folderName);
  let announced = false;
  await ensureCacheEntry(
    {
      folder,
      build: async (into, buildSignal) => {
        say(`building ${recipe.title}: ${recipe.expectation}`);
        announced = true;
        await recipe.build(into, (line) => say(`  ${line}`), buildSignal);
      },
      onWaiting: (elapsedMs) =>
        say(`another process builds ${recipe.title}: waiting for ${Math.round(elapsedMs / 1000)} s`),
    },
    signal,
  );
  if (announced) say(`built, kept in ${folder}`);
  return folder;
}
