import { isRecord } from "../../../base/is-record.ts";
import { RELEASE_FIELD_MANAGER } from "../../../crds/release-names.ts";

/** Who owns which fields of an object: one entry for each manager, way of writing and version of the API. */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly subresource?: string;
  /** Nested: `f:spec`, `k:{"name":"web"}`; `.` is the element itself. */
  readonly fieldsV1?: FieldSet;
}
interface FieldSet {
  readonly [step: string]: FieldSet;
}

/** Under this name `kubectl apply` without `--server-side` writes. */
const CLIENT_SIDE = "kubectl-client-side-apply";

/**
 * The entries as they are when the release takes the place of the file that the object was applied from with kubectl: its
 * fields are the release's. Else kubectl would own them for ever, and one that a release leaves out would stay.
 * Source: client-go util/csaupgrade.
 *
 * @returns undefined: it was never applied so.
 */
export function inPlaceOfClient(entries: readonly ManagedFields[]): readonly ManagedFields[] | undefined {
  const [first] = entries.filter(isOfClient);
  if (first === undefined) return undefined;
  const own = entries.find(isOfRelease);
  const into = own ?? { ...first, manager: RELEASE_FIELD_MANAGER, operation: "Apply" };
  // A set of fields means something in its own version of the API alone.
  const sets = entries.filter((each) => isOfClient(each) && each.apiVersion === into.apiVersion);
  const fieldsV1 = [into, ...sets].reduce<FieldSet>((all, { fieldsV1: more = {} }) => union(all, more), {});
  const others = entries.filter((each) => each !== own && !isOfClient(each));
  return [{ ...into, fieldsV1 }, ...others];
}

/**
 * Fields that the API server removes, or sets back to their defaults, when the release takes the place of the file and
 * leaves them out: of those that came from the file, the ones that no other manager owns.
 */
export function fieldsOfClientAlone(entries: readonly ManagedFields[]): readonly string[] {
  const other = entries
    .filter((each) => !isOfClient(each))
    .reduce<FieldSet>((all, { fieldsV1: more = {} }) => union(all, more), {});
  return entries.filter(isOfClient).flatMap(({ fieldsV1 = {} }) => pathsBeyond(fieldsV1, other, ""));
}

function isOfClient({ manager, operation, subresource = "" }: ManagedFields): boolean {
  return manager === CLIENT_SIDE && operation === "Update" && subresource === "";
}

function isOfRelease({ manager, operation, subresource = "" }: ManagedFields): boolean {
  return manager === RELEASE_FIELD_MANAGER && operation === "Apply" && subresource === "";
}

function union(one: FieldSet, other: FieldSet): FieldSet {
  const all: Record<string, FieldSet> = { ...one };
  for (const [step, below] of Object.entries(other)) all[step] = union(one[step] ?? {}, below);
  return all;
}

/** The highest places that only `fields` has. */
function pathsBeyond(fields: FieldSet, others: FieldSet, path: string): readonly string[] {
  return Object.entries(fields).flatMap(([step, below]) => {
    const other = others[step];
    // The element itself stays as long as others own it, or something in it.
    if (step === ".") return [];
    return other === undefined ? [`${path}${spelled(step)}`] : pathsBeyond(below, other, `${path}${spelled(step)}`);
  });
}

/** As {@link differences} spells it. */
function spelled(step: string): string {
  const [kind, rest] = [step.slice(0, 2), step.slice(2)];
  if (kind === "f:") return `.${rest}`;
  return kind === "k:" ? `[${keysIn(rest)}]` : `[${kind === "v:" ? "=" : ""}${rest}]`;
}

/** `{"name":"web"}`: `name="web"`. */
function keysIn(json: string): string {
  const keys: unknown = JSON.parse(json);
  if (!isRecord(keys)) return json;
  return Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(",");
}
