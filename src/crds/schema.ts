import Type, { type TSchema, type TUnsafe } from "typebox";

/** One CEL rule on a level of the schema. `message` is what `kubectl` shows when it refuses. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  /** The rule also runs at create; `oldSelf` is then an optional. */
  readonly optionalOldSelf?: true;
}

/** Schema options for a level with CEL rules. */
export function rules(...list: readonly Rule[]): { "x-kubernetes-validations": readonly Rule[] } {
  return { "x-kubernetes-validations": list };
}

/** CEL for "an optional field stayed as it was"; comparing optionals directly costs 100 times the budget. */
export function unchanged(field: string): string {
  return `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`;
}

/** One of a closed list of words; `type` is stated, as a structural schema wants it. */
export function Words<const W extends readonly string[]>(words: W): TUnsafe<W[number]> {
  return Type.Unsafe<W[number]>({ type: "string", enum: [...words] });
}

/** An object with any keys: kept, not pruned. CEL cannot look inside, so admission policies bound its size and text. */
export function FreeObject(maxProperties: number): TUnsafe<Readonly<Record<string, unknown>>> {
  return Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    maxProperties,
    "x-kubernetes-preserve-unknown-fields": true,
  });
}

/** RE2 classes that text for people may not hold: they can make it look different from what is stored. */
const UNREADABLE = String.raw`\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\x{115f}\x{1160}\x{3164}\x{ffa0}`;

/** Text for a person, one line. */
export function Line(minLength: number, maxLength: number): Type.TString {
  return Type.String({ ...(minLength > 0 ? { minLength } : {}), maxLength, pattern: `^[^${UNREADABLE}]*$` });
}

/** Text for a person; line breaks and tabs pass. */
export function Text(minLength: number, maxLength: number): Type.TString {
  return Type.String({ ...(minLength > 0 ? { minLength } : {}), maxLength, pattern: `^([^${UNREADABLE}]|[\\n\\t])*$` });
}

export const DateTime: Type.TString = Type.String({ format: "date-time" });
export const Generation: Type.TInteger = Type.Integer({ format: "int64", minimum: 0 });
export const Digest: Type.TString = Type.String({ maxLength: 71, pattern: "^sha256:[0-9a-f]{64}$" });
/** A receipt's number among those of its deployment; the platform takes no higher one. */
export const Sequence: Type.TInteger = Type.Integer({ minimum: 1, maximum: 2_147_483_646 });
/** A request's or command's id, as the platform made it. */
export const PlatformId: Type.TString = Type.String({
  maxLength: 63,
  pattern: "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
});
export const DeploymentRef: Type.TString = Type.String({ maxLength: 128, pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$" });
export const GrantName: Type.TString = Type.String({ maxLength: 63, pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$" });
/** A plugin's or an operation's name. */
export const PluginWord: Type.TString = Type.String({ maxLength: 63, pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" });

/** Server-side apply tracks the owner of each entry of a keyed list. */
export function KeyedList<const S extends TSchema>(
  item: S,
  key: string,
  maxItems: number,
  ...list: readonly Rule[]
): Type.TArray<S> {
  return Type.Array(item, {
    maxItems,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": [key],
    ...(list.length > 0 ? rules(...list) : {}),
  });
}

/** metav1.Condition, with its own limits. */
export const Condition = Type.Object({
  type: Type.String({ maxLength: 316, pattern: "^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$" }),
  status: Words(["True", "False", "Unknown"]),
  observedGeneration: Type.Optional(Generation),
  lastTransitionTime: DateTime,
  reason: Type.String({ minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
  message: Type.String({ maxLength: 4096 }),
});
export const Conditions: Type.TArray<typeof Condition> = KeyedList(Condition, "type", 16);

/** Everything under it is read-only: objects of the cache must not be changed in place. */
export type Frozen<T> = T extends (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;
