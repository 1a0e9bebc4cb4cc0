import Type, { type TObject, type TProperties, type TSchema } from "typebox";

// The description's own words for its fields, apart from the contract: what a stranger's client would check.

/** Every field that the description lists is there; there may be more. */
export function listed(fields: TProperties, more: TProperties = {}): TObject {
  const optional = Object.fromEntries(Object.entries(more).map(([name, field]) => [name, Type.Optional(field)]));
  return Type.Object({ ...fields, ...optional });
}

export function orNull(field: TSchema): TSchema {
  return Type.Union([field, Type.Null()]);
}

export const list = (item: TSchema): TSchema => Type.Array(item);
export const oneOf = (...words: readonly string[]): TSchema => Type.Enum([...words]);
export const map = (item: TSchema): TSchema => Type.Record(Type.String(), item);
/** The same form for each of these names. */
export function each(names: string, field: TSchema): TProperties {
  return Object.fromEntries(names.split(" ").map((name) => [name, field]));
}
export const page = (item: TSchema): TObject => listed({ items: list(item), nextCursor: orNull(text) });

export const text: TSchema = Type.String();
export const bool: TSchema = Type.Boolean();
export const int: TSchema = Type.Integer();
export const number: TSchema = Type.Number();
export const any: TSchema = Type.Unknown();
export const at: TSchema = Type.String({ format: "date-time" });
export const uri: TSchema = Type.String({ format: "uri" });

const id = (prefix: string, form: string): TSchema => Type.String({ pattern: `^${prefix}_${form}$` });
export const ID: Readonly<Record<string, TSchema>> = {
  ws: id("ws", "[0-9a-zA-Z]{24}"),
  winv: id("winv", "[0-9a-zA-Z]{32}"),
  wil: id("wil", "[0-9a-zA-Z]{40}"),
  prj: id("prj", ".+"),
  ...Object.fromEntries(["apikey", "dg", "dep", "pkg", "mgr"].map((kind) => [kind, id(kind, "[0-9a-z]{28}")])),
  ...Object.fromEntries(["rel", "dbg", "event"].map((kind) => [kind, id(kind, "[0-9a-zA-Z]{28}")])),
};

export const platform = oneOf("aws", "gcp", "azure", "kubernetes", "machines", "local", "test");
export const error = listed(
  { code: Type.String({ maxLength: 128 }), message: Type.String({ maxLength: 16_384 }), internal: bool },
  { retryable: bool, httpStatusCode: orNull(Type.Integer({ minimum: 100, maximum: 599 })), hint: orNull(text) },
);
