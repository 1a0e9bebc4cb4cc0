import { isRecord } from "../../base/is-record.ts";
import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import { isUsable, type MayUse } from "../../crds/released/may-use.ts";
import { type Found, fieldsOf } from "./field-walk.ts";
import { isSet } from "./rule-nodes.ts";

/**
 * Fields that no release may set, names of the customer's that `releases.mayUse` does not have, and fields that this version does
 * not know: what a newer Kubernetes has added could name anything.
 */
export function fieldProblems(manifest: ReleaseManifest, mayUse: MayUse): readonly string[] {
  return fieldsOf(manifest).flatMap((found) => problemsOf(found, mayUse));
}

/** The same of an object with what the customer has put into it: what the API server or the customer says of the object itself stays. */
export function adoptedFieldProblems(manifest: ReleaseManifest, mayUse: MayUse): readonly string[] {
  const isIdentity = manifest.kind === "ServiceAccount";
  return fieldsOf(manifest)
    .filter(({ fate }) => fate.is !== "unknown")
    .filter(({ path }) => !path.startsWith("metadata.") || (isIdentity && path === "metadata.annotations"))
    .flatMap((found) => problemsOf(found, mayUse));
}

function problemsOf({ path, field, fate, value }: Found, mayUse: MayUse): readonly string[] {
  switch (fate.is) {
    case "unknown":
      return [`${path} is no field that this version of Sallyport knows`];
    case "refused":
      return isSet(value) && !(Array.isArray(value) && value.length === 0) ? [`${path} may not be set`] : [];
    case "mayUse":
      return namesIn(value)
        .filter((name) => !isUsable(mayUse, fate.list, name))
        .map((name) => `${wordOf(field)} ${name} is not in releases.mayUse.${fate.list}`);
    default:
      return [];
  }
}

/** Names, or the keys of a map. */
export function namesIn(value: unknown): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  return isRecord(value) ? Object.keys(value) : [];
}

const WORDS: Readonly<Record<string, string>> = {
  ...{ annotations: "annotation", labels: "label", limits: "resource", requests: "resource" },
};

/** Of a map, what one of its keys is. */
export function wordOf(field: string): string {
  return WORDS[field] ?? field;
}
