import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { parse } from "yaml";
import { type KubeconfigFields, type KubeconfigUser, kubeconfigFields } from "./kubeconfig-fields.ts";

/**
 * Several files are one by kubectl's rules: of entries with one name the first file's counts whole, the current context is the first
 * that is named, and a file that is not there is left out. A path in a file starts at that file's folder.
 *
 * @throws Error of the first file when none of them is there; Error that names a file that cannot be read
 */
export async function readKubeconfig(paths: readonly string[]): Promise<KubeconfigFields> {
  const files: KubeconfigFields[] = [];
  let missing: unknown = new Error("KUBECONFIG names no file");
  for (const path of paths.toReversed()) {
    try {
      files.unshift(await readOne(path));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
      missing = error;
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

async function readOne(path: string): Promise<KubeconfigFields> {
  const bytes = await readFile(path);
  try {
    // As kubectl: of a key that comes twice the last counts.
    const read = kubeconfigFields(parse(textOf(bytes), { uniqueKeys: false }));
    const at = (file: string | undefined): string | undefined => file && absolute(path, file);
    return {
      ...read,
      clusters: read.clusters.map((each) => ({ ...each, caFile: at(each.caFile) })),
      users: read.users.map((each) => withPaths(each, path, at)),
    };
  } catch (cause) {
    // biome-ignore lint/style/useErrorCause: a parser's words quote the file, which may hold a token.
    throw new Error(
      `kubeconfig ${path} cannot be read: ${cause instanceof Error ? reasonOf(cause) : "it is no mapping"}`,
    );
  }
}

/** By its mark of byte order, as kubectl: PowerShell writes UTF-16. @throws TypeError when it is no text */
function textOf(bytes: Buffer): string {
  const mark = bytes.toString("hex", 0, 2);
  const encoding = mark === "fffe" ? "utf-16le" : mark === "feff" ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding, { fatal: true }).decode(bytes);
}

function withPaths(
  user: KubeconfigUser,
  path: string,
  at: (file: string | undefined) => string | undefined,
): KubeconfigUser {
  const { certFile, keyFile, tokenFile, exec } = user;
  const files = { certFile: at(certFile), keyFile: at(keyFile), tokenFile: at(tokenFile) };
  // A program that is named by a path starts at the file's folder, else it is looked for on the PATH.
  const isPath = exec?.command.includes("/") === true;
  return { ...user, ...files, exec: isPath ? { ...exec, command: absolute(path, exec.command) } : exec };
}

/** Without the lines of the file that the YAML parser quotes. */
function reasonOf({ message }: Error): string {
  return message.split("\n")[0] ?? "";
}

function absolute(path: string, file: string): string {
  return isAbsolute(file) ? file : join(dirname(path), file);
}
