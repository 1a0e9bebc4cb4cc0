import type { UsedList } from "../may-use.ts";
import { CONTAINER_FIELDS } from "./container-fields.ts";
import type { TypeFields, Types } from "./field-types.ts";
import { NETWORK_FIELDS } from "./network-fields.ts";
import { POD_FIELDS } from "./pod-fields.ts";
import { WORKLOAD_FIELDS } from "./workload-fields.ts";

/** Every type that an installable kind has in it. The kind's own name, without its group, is where one begins. */
export const RELEASE_TYPES: Types = {
  ...WORKLOAD_FIELDS,
  ...POD_FIELDS,
  ...CONTAINER_FIELDS,
  ...NETWORK_FIELDS,
};

/** What a field is: see {@link TypeFields}. */
export type Fate =
  | { readonly is: "own" | "refused" | "ruled" | "unknown" }
  | { readonly is: "of"; readonly type: string }
  | { readonly is: "mayUse"; readonly list: UsedList }
  | { readonly is: "reads" | "shown"; readonly kind: string };

const FATES: ReadonlyMap<string, ReadonlyMap<string, Fate>> = new Map(
  Object.entries(RELEASE_TYPES).map(([type, fields]) => [type, new Map(fatesOf(fields))]),
);

function fatesOf({ own = [], of = {}, refused = [], ruled = [], mayUse = {}, reads = {}, shown = {} }: TypeFields) {
  const each = <Value>(fields: Readonly<Record<string, Value>>, fate: (value: Value) => Fate) =>
    Object.entries(fields).map(([field, value]): [string, Fate] => [field, fate(value)]);
  const all = (fields: readonly string[], is: "own" | "refused" | "ruled") =>
    fields.map((field): [string, Fate] => [field, { is }]);
  return [
    ...all(ruled, "ruled"),
    ...all(own, "own"),
    ...all(refused, "refused"),
    ...each(of, (type): Fate => ({ is: "of", type })),
    ...each(mayUse, (list): Fate => ({ is: "mayUse", list })),
    ...each(reads, (kind): Fate => ({ is: "reads", kind })),
    ...each(shown, (kind): Fate => ({ is: "shown", kind })),
  ];
}

/** Of a field that no version of Kubernetes had when the table was made: unknown. */
export function fateOf(type: string, field: string): Fate {
  return FATES.get(type)?.get(field) ?? { is: "unknown" };
}
