import { isRecord } from "../../base/is-record.ts";
import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import { type Fate, fateOf, RELEASE_TYPES } from "../../crds/released/fields/release-fields.ts";
import { kindAndGroup, RELEASE_RESOURCES } from "../../crds/released/release-kinds.ts";

/** A field that is there, and is more than the release's own. */
export interface Found {
  /** For people, without the places in lists: `spec.template.spec.priorityClassName`. */
  readonly path: string;
  readonly field: string;
  readonly fate: Fate;
  readonly value: unknown;
}

/** What the table has of an object's fields, from above to below. Of a kind that no release may have: nothing. */
export function fieldsOf(manifest: ReleaseManifest): readonly Found[] {
  const found: Found[] = [];
  // As deep as the table is, and no deeper: how deep a manifest goes is the vendor's choice.
  const walk = (node: unknown, type: string, path: string): void => {
    if (Array.isArray(node)) for (const each of node) walk(each, type, path);
    else if (isRecord(node)) {
      for (const [field, value] of Object.entries(node)) {
        const fate = fateOf(type, field);
        const at = path === "" ? field : `${path}.${field}`;
        if (fate.is === "own" || fate.is === "ruled" || value === null || value === undefined) continue;
        if (fate.is === "of") walk(value, fate.type, at);
        else found.push({ path: at, field, fate, value });
      }
    }
  };
  const isInstallable =
    Object.hasOwn(RELEASE_RESOURCES, kindAndGroup(manifest)) && Object.hasOwn(RELEASE_TYPES, manifest.kind);
  if (isInstallable) walk(manifest, manifest.kind, "");
  return found;
}

/** Kind and name of each object of the namespace that the fields name. */
export function namedBy(found: readonly Found[]): readonly { readonly kind: string; readonly name: string }[] {
  return found.flatMap(({ fate, value }) => {
    const kind = fate.is === "reads" || fate.is === "shown" ? fate.kind : "";
    return kind !== "" && typeof value === "string" && value !== "" ? [{ kind, name: value }] : [];
  });
}
