import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { FriendlyError } from "../../kernel/command.ts";
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
