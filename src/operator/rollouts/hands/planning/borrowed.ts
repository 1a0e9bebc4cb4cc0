import type { ReleaseManifest, ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { isUsable, USES_NOTHING } from "../../../../crds/released/may-use.ts";
import { namesIn, wordOf } from "../../field-rules.ts";
import { type Found, fieldsOf } from "../../field-walk.ts";
import { refOf } from "../../release-rules.ts";
import { listAt, nodeAt } from "../../rule-nodes.ts";

/** What a release uses that it does not bring itself, as lines for people, sorted. */
export interface Borrowed {
  readonly read: readonly string[];
  readonly accounts: readonly string[];
  /** Names outside of it, and the refs of the objects that have them. */
  readonly named: readonly (readonly [string, readonly string[]])[];
}

/**
 * What a release uses that it does not bring itself, and which accounts it gets that others may have given rights already. None of
 * it is a change of an object, so no other line of the plan tells of it.
 *
 * @param objects of the release; those that it adopts also as they are then, with what the customer has put into them.
 * @param created refs of what the release makes or adopts.
 * @param copied refs of Secrets that come with it, and are no objects of its content.
 */
export function borrowed(
  objects: readonly Pick<ReleaseObject, "manifest">[],
  created: readonly string[],
  copied: readonly string[] = [],
): Borrowed {
  const own = new Set([...objects.map(({ manifest }) => refOf(manifest)), ...copied]);
  const read = new Set<string>();
  const named = new Map<string, Set<string>>();
  for (const { manifest } of objects) {
    const isOwn = (kind: string, name: unknown): boolean => own.has(refTo(manifest, kind, name));
    for (const found of fieldsOf(manifest)) {
      const { fate, value } = found;
      if (fate.is === "reads" && isName(value) && !isOwn(fate.kind, value)) read.add(refTo(manifest, fate.kind, value));
      for (const words of wordsOf(found, isOwn)) named.set(words, (named.get(words) ?? new Set()).add(refOf(manifest)));
    }
    if (isCatchAll(manifest)) {
      const words = "host *, which no other Ingress names";
      named.set(words, (named.get(words) ?? new Set()).add(refOf(manifest)));
    }
  }
  const accounts = created.filter((ref) => ref.startsWith("ServiceAccount/")).toSorted();
  return {
    read: [...read]
      .sort()
      .map((ref) => `${ref.startsWith("PersistentVolumeClaim/") ? "uses" : "reads"} ${spelled(ref)}${NOT_BROUGHT}`),
    accounts: accounts.map(
      (ref) => `has ${spelled(ref)}: bindings and clouds that name it, or its namespace, give it their rights`,
    ),
    named: [...named].map(([words, refs]) => [words, [...refs]] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}

const NOT_BROUGHT = ", which the release does not bring";

function refTo({ metadata }: ReleaseManifest, kind: string, name: unknown): string {
  return `${kind}/${metadata.namespace ?? ""}/${String(name)}`;
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function wordsOf({ path, field, fate, value }: Found, isOwn: (kind: string, name: unknown) => boolean) {
  if (fate.is === "mayUse") {
    const foreign = namesIn(value).filter((name) => !isUsable(USES_NOTHING, fate.list, name));
    return foreign.map((name) => `${wordOf(field)} ${name}`);
  }
  if (fate.is !== "shown") return [];
  if (fate.kind !== "")
    return isName(value) && !isOwn(fate.kind, value) ? [`${fate.kind} ${String(value)}${NOT_BROUGHT}`] : [];
  return (Array.isArray(value) ? value : [value])
    .map((each: unknown) => (typeof each === "object" ? JSON.stringify(each) : String(each)))
    .filter((text) => !SAYS_NOTHING.includes(text))
    .map((text) => `${placeOf(path)} ${text}`);
}

/** `None` is the address of a headless Service. */
const SAYS_NOTHING = ["", "None", "0"];

/** `podAntiAffinity … labelSelector`, `tolerations`, `seLinuxOptions.level`. */
function placeOf(path: string): string {
  const affinity = /podAffinity|podAntiAffinity|nodeAffinity/.exec(path)?.[0];
  const [parent = "", field = ""] = path.split(".").slice(-2);
  if (affinity !== undefined) return affinity;
  return parent === "spec" ? field : `${parent}.${field}`;
}

/** An Ingress that takes what comes for any host. */
function isCatchAll({ kind, spec }: ReleaseManifest): boolean {
  if (kind !== "Ingress") return false;
  const rules = listAt(nodeAt(spec), "rules");
  return nodeAt(spec).defaultBackend !== undefined || rules.some(({ host }) => !isName(host));
}

/** `Secret shop/db-password`. */
function spelled(ref: string): string {
  return ref.replace("/", " ");
}
