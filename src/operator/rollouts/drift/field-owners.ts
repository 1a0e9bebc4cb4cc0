import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../base/is-record.ts";
import { RELEASE_FIELD_MANAGER } from "../../../crds/release-names.ts";

/** Who owns which fields of an object, as the API server keeps it. The values are not among it. */
export interface FieldOwner {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsV1?: OwnedFields;
}

/** `{"f:spec": {"f:replicas": {}}}`; an empty one is a field that is owned with all that is below. */
type OwnedFields = { readonly [step: string]: OwnedFields };

/** A field that a release applies and does not own any more. */
interface LostField {
  /** As the API server names it: `.spec.template.spec.containers[name="c"].image`. */
  readonly field: string;
  /** Who owns it now; undefined: it was removed. */
  readonly manager: string | undefined;
}

interface Owners {
  /** Of the release. */
  readonly own: OwnedFields | undefined;
  /** Of others, the last one to write first. */
  readonly others: readonly { readonly owner: FieldOwner; readonly fields: OwnedFields }[];
}

/** Fields of the metadata that a release applies; the API server keeps no owners of its name. */
const METADATA = ["labels", "annotations"];
const REPLICAS = ".spec.replicas";

/**
 * The fields of the manifest that the release has lost to others since it applied them. The API server takes a field from
 * its owner when another writes another value, or removes it, so no value has to be read to find them.
 *
 * @param live the whole object: a field that has the release's value again is not lost, although another owns it
 */
export function lostFields(
  manifest: object,
  managedFields: readonly FieldOwner[],
  live?: object,
): readonly LostField[] {
  const { apiVersion, metadata, ...rest } = manifest as Readonly<Record<string, unknown>>;
  const entry = managedFields.find(isRelease);
  // The same field may have another path in another version.
  if (entry !== undefined && entry.apiVersion !== apiVersion) return [];
  const others = managedFields
    .filter((each) => !isRelease(each) && each.subresource !== "status" && each.apiVersion === apiVersion)
    .toSorted((one, other) => Date.parse(other.time ?? "") - Date.parse(one.time ?? ""))
    .flatMap((owner) => (owner.fieldsV1 === undefined ? [] : [{ owner, fields: owner.fieldsV1 }]));
  // It was made anew by another hand.
  if (entry === undefined) return [{ field: ".", manager: others[0]?.owner.manager }];
  const { kind: _kind, status: _status, ...fields } = rest;
  const kept = isRecord(metadata) ? Object.entries(metadata).filter(([field]) => METADATA.includes(field)) : [];
  const found: LostField[] = [];
  collect({ ...fields, metadata: Object.fromEntries(kept) }, live, { own: entry.fieldsV1, others }, "", found);
  return found;
}

/** A list's elements are found by their keys, each among all: a longer list is compared as one value. */
const MAX_ELEMENTS = 300;

function isRelease({ manager, operation }: FieldOwner): boolean {
  return manager === RELEASE_FIELD_MANAGER && operation === "Apply";
}

function collect(value: unknown, live: unknown, owners: Owners, path: string, found: LostField[]): void {
  const { own, others } = owners;
  // An empty map or list may be stored as if it were not there.
  if (value === undefined || isEmpty(value)) return;
  if (own !== undefined && isWhole(own)) return;
  const isSplit = own !== undefined || path === ".metadata" || others.some(({ fields }) => !isWhole(fields));
  if (isRecord(value) && isSplit) {
    for (const [key, each] of Object.entries(value)) {
      const there = isRecord(live) ? live[key] : undefined;
      collect(each, there, below(owners, `f:${key}`), `${path}.${key}`, found);
    }
    return;
  }
  if (Array.isArray(value) && isSplit && value.length <= MAX_ELEMENTS) {
    for (const [index, each] of value.entries()) collectElement(each, index, live, owners, path, found);
    return;
  }
  if (isThere(value, live)) return;
  const [last] = others;
  // An autoscaler and `kubectl scale` write it so, which is what it is for.
  if (path === REPLICAS && others.some(({ owner }) => owner.subresource === "scale")) return;
  found.push({ field: path, manager: last?.owner.manager });
}

function collectElement(
  element: unknown,
  index: number,
  live: unknown,
  owners: Owners,
  path: string,
  found: LostField[],
): void {
  const known = [...(owners.own === undefined ? [] : [owners.own]), ...owners.others.map(({ fields }) => fields)];
  const step = known.flatMap(Object.keys).find((each) => names(each, element));
  const lives: readonly unknown[] = Array.isArray(live) ? live : [];
  if (step !== undefined) {
    const there = lives.find((each) => names(step, each));
    collect(element, there, below(owners, step), `${path}[${spoken(step)}]`, found);
    return;
  }
  if (lives.some((each) => isThere(element, each))) return;
  const name = isRecord(element) && typeof element.name === "string" ? `name=${JSON.stringify(element.name)}` : index;
  found.push({ field: `${path}[${name}]`, manager: undefined });
}

/** Whether an object has this value, beside fields that the API server has filled in. */
function isThere(value: unknown, live: unknown): boolean {
  if (live === undefined) return false;
  if (isRecord(value)) return Object.entries(value).every(([key, each]) => isRecord(live) && isThere(each, live[key]));
  if (!Array.isArray(value)) return value === live;
  return Array.isArray(live) && live.length === value.length && value.every((each, at) => isThere(each, live[at]));
}

function below({ own, others }: Owners, step: string): Owners {
  return {
    own: own?.[step],
    others: others.flatMap(({ owner, fields }) => {
      const next = fields[step];
      return next === undefined ? [] : [{ owner, fields: next }];
    }),
  };
}

/** `k:{"name":"c"}` by its keys, `v:"x"` by its value. */
function names(step: string, element: unknown): boolean {
  const text = step.slice(2);
  if (step.startsWith("v:")) return isDeepStrictEqual(JSON.parse(text), element);
  if (!step.startsWith("k:") || !isRecord(element)) return false;
  const keys = JSON.parse(text) as Readonly<Record<string, unknown>>;
  // The API server fills in a key that a manifest may leave out.
  const isDefault = (key: string, value: unknown): boolean => key === "protocol" && value === "TCP";
  return Object.entries(keys).every(
    ([key, value]) => element[key] === value || (element[key] === undefined && isDefault(key, value)),
  );
}

function spoken(step: string): string {
  const value: unknown = JSON.parse(step.slice(2));
  if (!isRecord(value)) return `=${JSON.stringify(value)}`;
  return Object.entries(value)
    .map(([key, each]) => `${key}=${JSON.stringify(each)}`)
    .join(",");
}

function isWhole(fields: OwnedFields): boolean {
  return Object.keys(fields).length === 0;
}

/** Nothing but maps and lists without a value. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && (value === null || Object.values(value).every(isEmpty));
}
