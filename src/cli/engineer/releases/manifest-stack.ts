import { dataProblems } from "../../../base/data-problems.ts";
import { isRecord } from "../../../base/is-record.ts";
import { stackFaults } from "../../../contract/deployments/stack-faults.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { type LocatedObject, type Place, templateWords } from "./located-objects.ts";

/** A stack for Kubernetes that the platform takes, with what is said of it before it is sent. */
export interface ReleaseStack {
  readonly stack: unknown;
  /** By kind, or by type of resource. */
  readonly counts: Readonly<Record<string, number>>;
  readonly what: "objects" | "resources";
  readonly bytes: number;
}

/** The one resource of a stack that is made of manifests; equal from release to release. */
const RESOURCE = "manifests";

/** A file that is no manifest at all has as many faults as documents. */
const MAX_LINES = 100;

/** What is wrong in files, each with where it was read. */
export class Faults {
  readonly #lines: string[] = [];

  add({ file, document, lineOf }: Place, path: readonly string[], text: string): void {
    this.say(`${file}:${lineOf(path)} (document ${document}): ${text}`);
  }

  say(text: string): void {
    this.#lines.push(escaped(text, ""));
  }

  /** @throws FriendlyError when there is any */
  end(): void {
    if (this.#lines.length === 0) return;
    const more = this.#lines.length - MAX_LINES;
    const shown = [...this.#lines.slice(0, MAX_LINES), ...(more > 0 ? [`and ${more} more`] : [])];
    const lines = ["nothing was sent, because the platform would refuse it:", ...shown];
    throw new FriendlyError(lines.join("\n  "), { exitCode: EXIT_CODES.refused.code });
  }
}

/** One stack of objects, in an order that depends on nothing but them. @throws FriendlyError with every fault */
export function manifestStack(project: string, given: readonly LocatedObject[], faults: Faults): ReleaseStack {
  faults.end();
  if (given.length === 0) throw new FriendlyError("there is no object to release");
  const sorted = given.map((one) => ({ ...one, key: orderOf(one.object) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const objects = sorted.map(({ object }) => object);
  const config = { id: RESOURCE, type: "manifests", objects };
  const stack = { id: project, resources: { [RESOURCE]: { config, dependencies: [], lifecycle: "live" } } };
  for (const { path, message } of stackFaults(stack)) {
    const [, index, inside = ""] = /^resources\.manifests\.config\.objects\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const found = index === undefined ? undefined : sorted[Number(index)];
    if (found === undefined) {
      // Without a path it is the size of the whole.
      faults.say(`${path} ${message}${path === "" ? largestOf(sorted) : ""}`.trim());
      continue;
    }
    const [, other] = /resources\.manifests\.config\.objects\.(\d+)$/.exec(message) ?? [];
    const twin = other === undefined ? undefined : sorted[Number(other)]?.place;
    const told = twin === undefined ? message : `is also in ${twin.file}:${twin.lineOf([])}`;
    const about = `${nameOf(found.object)}${inside === "" ? "" : `: ${inside}`}`;
    faults.add(found.place, inside.split("."), `${about} ${told}${templateWords(nameOf(found.object))}`);
  }
  for (const { path, message } of dataProblems(objects)) {
    const [index, ...inside] = path;
    const found = sorted[Number(index)];
    if (found !== undefined) faults.add(found.place, inside, `${nameOf(found.object)}: ${inside.join(".")} ${message}`);
  }
  faults.end();
  return { stack, what: "objects", counts: countsOf(objects.map(({ kind }) => String(kind))), bytes: bytesOf(stack) };
}

/** A stack that a file holds as it is. */
export function wholeStack(stack: unknown, place: Place): ReleaseStack {
  const faults = new Faults();
  for (const { path, message } of stackFaults(stack)) {
    const words = message === "is required" ? `${message}${keysThere(stack, path)}` : message;
    faults.add(place, path.split("."), `${path} ${words}`.trim());
  }
  for (const { path, message } of dataProblems(stack)) faults.add(place, path, `${path.join(".")} ${message}`.trim());
  faults.end();
  const resources = isRecord(stack) && isRecord(stack.resources) ? Object.values(stack.resources) : [];
  const types = resources.flatMap((each) =>
    isRecord(each) && isRecord(each.config) ? [String(each.config.type)] : [],
  );
  return { stack, what: "resources", counts: countsOf(types), bytes: bytesOf(stack) };
}

/** A misspelt key is kept by the platform, and only the one that it stands for is missed. */
function keysThere(stack: unknown, path: string): string {
  const parent = path
    .split(".")
    .slice(0, -1)
    .reduce((value, key) => (isRecord(value) || Array.isArray(value) ? Reflect.get(value, key) : undefined), stack);
  return isRecord(parent) ? `, and there is only: ${Object.keys(parent).slice(0, MAX_KEYS).join(", ")}` : "";
}

const MAX_KEYS = 20;

function orderOf(object: Readonly<Record<string, unknown>>): string {
  const { namespace, name } = isRecord(object.metadata) ? object.metadata : {};
  return JSON.stringify([object.apiVersion, object.kind, namespace ?? "", name]);
}

const MAX_LARGEST = 3;

function largestOf(given: readonly LocatedObject[]): string {
  const largest = given
    .map(({ object, place }) => ({ bytes: bytesOf(object), text: `${nameOf(object)} of ${place.file}` }))
    .sort((one, other) => other.bytes - one.bytes)
    .slice(0, MAX_LARGEST);
  return `; the largest: ${largest.map(({ bytes, text }) => `${text}, ${bytes}`).join("; ")}`;
}

export function nameOf({ kind, metadata }: Readonly<Record<string, unknown>>): string {
  const name = isRecord(metadata) ? metadata.name : undefined;
  return [kind, name].filter((word) => typeof word === "string").join(" ") || "an object";
}

function countsOf(words: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const word of words.toSorted()) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function bytesOf(stack: unknown): number {
  return Buffer.byteLength(JSON.stringify(stack));
}
