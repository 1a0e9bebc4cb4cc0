import type { ReleaseManifest, ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { refOf } from "../../release-rules.ts";

type Node = Readonly<Record<string, unknown>>;

/** Fields that name an object by `name`, and its kind. They mean the same in pods, in their templates and in claims. */
const NAMED_IN: Readonly<Record<string, string>> = {
  configMap: "ConfigMap",
  configMapKeyRef: "ConfigMap",
  configMapRef: "ConfigMap",
  imagePullSecrets: "Secret",
  secret: "Secret",
  secretKeyRef: "Secret",
  secretRef: "Secret",
};
/** Fields that are such a name themselves. */
const NAMED_BY: Readonly<Record<string, string>> = { secretName: "Secret", claimName: "PersistentVolumeClaim" };
/** Fields that name an object of any kind, of which a claim has a copy. */
const COPIED = ["dataSource", "dataSourceRef"];

/**
 * What a release uses that it does not bring itself, and which accounts it gets that others may have given rights already. None of
 * it is a change of an object, so no other line of the plan tells of it.
 *
 * @param objects of the release; those that it adopts also as they are then, with what the customer has put into them.
 * @param created refs of what the release makes or adopts.
 * @param copied refs of Secrets that come with it, and are no objects of its content.
 * @returns lines for people, sorted.
 */
export function borrowed(
  objects: readonly Pick<ReleaseObject, "manifest">[],
  created: readonly string[],
  copied: readonly string[] = [],
): { readonly read: readonly string[]; readonly accounts: readonly string[] } {
  const own = new Set([...objects.map(({ manifest }) => refOf(manifest)), ...copied]);
  const used = new Set(objects.flatMap(({ manifest }) => usedBy(manifest)).filter((ref) => !own.has(ref)));
  const read = [...used]
    .sort()
    .map(
      (ref) =>
        `${ref.startsWith("PersistentVolumeClaim/") ? "uses" : "reads"} ${spelled(ref)}, which the release does not bring`,
    );
  const accounts = created.filter((ref) => ref.startsWith("ServiceAccount/")).toSorted();
  return {
    read,
    accounts: accounts.map((ref) => `has ${spelled(ref)}: bindings that name it already give it their rights`),
  };
}

/** What it names, as kind, namespace and name. */
export function usedBy(manifest: ReleaseManifest): readonly string[] {
  const { namespace = "" } = manifest.metadata;
  const refs: string[] = [];
  const note = (kind: unknown, name: unknown, place: unknown = namespace): void => {
    if (typeof name === "string" && name !== "") refs.push(`${String(kind)}/${String(place)}/${name}`);
  };
  // No recursion: how deep a manifest goes is the vendor's choice.
  const waiting: unknown[] = [manifest];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (typeof node !== "object" || node === null) continue;
    for (const [field, value] of Object.entries(node)) {
      waiting.push(value ?? null);
      const inner = NAMED_IN[field];
      if (inner !== undefined) for (const each of nodesOf(value)) note(inner, each.name);
      const by = NAMED_BY[field];
      if (by !== undefined) note(by, value);
      if (COPIED.includes(field)) for (const each of nodesOf(value)) note(each.kind, each.name, each.namespace);
    }
  }
  return refs;
}

function nodesOf(value: unknown): readonly Node[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((each): each is Node => typeof each === "object" && each !== null);
}

/** `Secret shop/db-password`. */
function spelled(ref: string): string {
  return ref.replace("/", " ");
}
