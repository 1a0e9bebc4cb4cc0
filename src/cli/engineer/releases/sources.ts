import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { FriendlyError } from "../../kernel/command.ts";
import { givenText, unreadable } from "../../kernel/given/given-file.ts";
import { escaped } from "../../kernel/output.ts";
import type { Surroundings } from "../calling.ts";
import { documentsIn, type LocatedObject, objectsOf } from "./located-objects.ts";
import { Faults, manifestStack, type ReleaseStack, wholeStack } from "./manifest-stack.ts";

const EXTENSION = /\.(ya?ml|json)$/;

/** `--stack FILE`. */
export async function stackFromFile(file: string, surroundings: Surroundings): Promise<ReleaseStack> {
  const [first, second] = documentsIn(file, await contentOf(file, surroundings)).take(2);
  if (first === undefined || second !== undefined) throw new FriendlyError(`${file} must hold one stack`);
  const faults = new Faults();
  for (const doubt of first.doubts) faults.say(doubt);
  if (first.fault !== undefined) faults.add(first.place, [], first.fault);
  faults.end();
  return wholeStack(first.value, first.place);
}

/** `--manifests PATH`, once or several times. */
export async function stackFromManifests(
  project: string,
  paths: readonly string[],
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<ReleaseStack> {
  const faults = new Faults();
  const objects: LocatedObject[] = [];
  for (const path of paths) {
    for (const file of await filesOf(path)) {
      for (const document of documentsIn(file, await contentOf(file, surroundings))) {
        tellDoubts(document.doubts, surroundings);
        objects.push(...objectsOf([document], (place, fault) => faults.add(place, [], fault)));
        // A large text takes seconds: a signal is heard between two documents.
        await setImmediate();
        signal.throwIfAborted();
      }
    }
  }
  return manifestStack(project, objects, faults);
}

function tellDoubts(doubts: readonly string[], { error }: Surroundings): void {
  for (const doubt of doubts) error(`${escaped(doubt, "")}\n`);
}

/** Of a folder the files right in it, by name, as kubectl takes them. */
async function filesOf(path: string): Promise<readonly string[]> {
  if (path === "-") return ["-"];
  const found = await stat(path).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
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
  return file === "-" ? readInput() : givenText(file);
}
