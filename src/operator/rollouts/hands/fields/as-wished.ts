import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../../base/is-record.ts";
import type { ReleaseManifest } from "../../../../crds/kinds/release-content.ts";
import { RELEASE_FIELD_MANAGER } from "../../../../crds/release-names.ts";
import type { LiveObject } from "../release-api.ts";
import { type FieldSet, stepsOf } from "./field-set.ts";

/** Fields of the metadata that the API server keeps no owners of. */
const NAMES = new Set(["name", "namespace"]);

/**
 * Whether an apply of the manifest would change nothing, not even who owns what: the release owns exactly its fields, and
 * the object has their values. Without it each object of a release costs the API server a dry run, in which it judges all
 * policies. False also where only the API server can tell: a value that it spells or fills in in its own way.
 */
export function isAsWished(manifest: ReleaseManifest, live: LiveObject): boolean {
  const entries = (live.metadata.managedFields ?? []).filter(
    ({ manager, operation }) => manager === RELEASE_FIELD_MANAGER && operation === "Apply",
  );
  const [own] = entries;
  if (own?.fieldsV1 === undefined || entries.length > 1 || own.apiVersion !== manifest.apiVersion) return false;
  const { apiVersion: _version, kind: _kind, metadata, ...fields } = manifest as unknown as Record<string, unknown>;
  const kept = Object.entries(isRecord(metadata) ? metadata : {}).filter(([field]) => !NAMES.has(field));
  return isSame({ ...fields, metadata: Object.fromEntries(kept) }, live, own.fieldsV1);
}

function isSame(value: unknown, live: unknown, own: FieldSet): boolean {
  const steps = Object.keys(own).filter((step) => step !== ".");
  // It is owned with all that is below, or is one value.
  if (steps.length === 0) return isDeepStrictEqual(value, live);
  if (isRecord(value)) {
    const keys = Object.keys(value);
    if (!isRecord(live) || keys.length !== steps.length) return false;
    return keys.every((key) => {
      const below = own[`f:${key}`];
      return below !== undefined && isSame(value[key], live[key], below);
    });
  }
  if (!Array.isArray(value) || !Array.isArray(live) || value.length !== steps.length) return false;
  const stepOf = stepsOf(steps);
  const places = new Map(live.map((each, at) => [stepOf(each), at]));
  let before = -1;
  return value.every((element) => {
    const step = stepOf(element);
    const at = places.get(step) ?? -1;
    // Applied in another order, they may be put into that.
    if (step === undefined || at <= before) return false;
    before = at;
    return isSame(element, live[at], own[step] ?? {});
  });
}
