import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { Cluster, Context, User } from "@kubernetes/client-node";
import { parse } from "yaml";

export interface KubeconfigUser extends User {
  readonly tokenFile: string | undefined;
  readonly impersonates: boolean;
}

export interface Kubeconfig {
  readonly clusters: readonly Cluster[];
  readonly contexts: readonly Context[];
  readonly users: readonly KubeconfigUser[];
  readonly currentContext: string | undefined;
}

/**
 * Several files are one by kubectl's rules: of entries with one name the first file's counts whole, the current context is the first
 * that is named, and a file that is not there is left out. A path in a file starts at that file's folder.
 *
 * @throws Error of the first file when none of them is there; Error that names a file that cannot be read
 */
export async function readKubeconfig(paths: readonly string[]): Promise<Kubeconfig> {
  const files: Kubeconfig[] = [];
  let missing: unknown;
  for (const path of paths) {
    try {
      files.push(await readOne(path));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
      missing ??= error;
    }
  }
  if (files.length === 0) throw missing;
  return {
    clusters: firstOfName(files.flatMap(({ clusters }) => clusters)),
    contexts: firstOfName(files.flatMap(({ contexts }) => contexts)),
    users: firstOfName(files.flatMap(({ users }) => users)),
    currentContext: files.map(({ currentContext }) => currentContext).find((name) => name),
  };
}

function firstOfName<T extends { readonly name: string }>(entries: readonly T[]): readonly T[] {
  const names = new Set<string>();
  return entries.filter(({ name }) => !names.has(name) && names.add(name));
}

interface Written {
  readonly clusters?: unknown;
  readonly contexts?: unknown;
  readonly users?: readonly { readonly name: string; readonly user?: Readonly<Record<string, unknown>> }[];
  readonly "current-context"?: string;
}

/**
 * The fields are read by `@kubernetes/client-node`; its class for the whole file would load 880 models of the API with it, for a third
 * of a second of CPU and 87 MB.
 */
async function readOne(path: string): Promise<Kubeconfig> {
  const text = await readFile(path, "utf8");
  const { newClusters, newContexts, newUsers } = await import("@kubernetes/client-node/dist/config_types.js");
  try {
    const written: Written = parse(text) ?? {};
    const at = <T>(file: T): T => (typeof file === "string" ? (absolute(path, file) as T) : file);
    return {
      clusters: newClusters(written.clusters).map((each) => ({ ...each, caFile: at(each.caFile) }) as Cluster),
      contexts: newContexts(written.contexts),
      users: newUsers(written.users).map((each, index) => {
        const { tokenFile, ...more } = written.users?.[index]?.user ?? {};
        const files = { certFile: at(each.certFile), keyFile: at(each.keyFile) };
        return {
          ...each,
          ...files,
          ...(each.exec && { exec: { ...each.exec, command: programAt(path, each.exec.command) } }),
          tokenFile: typeof tokenFile === "string" ? absolute(path, tokenFile) : undefined,
          impersonates: Object.keys(more).some((field) => /^as(-|$)/.test(field)),
        } as KubeconfigUser;
      }),
      currentContext: written["current-context"] || undefined,
    };
  } catch (cause) {
    // biome-ignore lint/style/useErrorCause: a parser's words quote the file, which may hold a token.
    throw new Error(
      `kubeconfig ${path} cannot be read: ${cause instanceof Error ? reasonOf(cause) : "it is no mapping"}`,
    );
  }
}

/** Without the lines of the file that the YAML parser quotes. */
function reasonOf({ message }: Error): string {
  return message.split("\n")[0] ?? "";
}

/** A program that is named by a path starts at the file's folder, else it is looked for on the PATH. */
function programAt(path: string, command: unknown): unknown {
  return typeof command === "string" && command.includes("/") ? absolute(path, command) : command;
}

function absolute(path: string, file: string): string {
  return isAbsolute(file) ? file : join(dirname(path), file);
}

/** Data before a file, as kubectl takes them. */
export async function pemOf(data: string | undefined, file: string | undefined): Promise<Buffer | undefined> {
  if (data) return Buffer.from(data, "base64");
  return file ? await readFile(file) : undefined;
}
