/** A value that an installer may set: its default, what it may be, and its meaning. */
export interface Leaf {
  readonly kind: "leaf";
  readonly fallback: unknown;
  readonly schema: object;
  readonly doc: string;
  /** The chart cannot do without it: `null`, which removes a value, is refused. */
  readonly isNeeded: boolean;
}

export interface Branch {
  readonly kind: "branch";
  readonly doc: string;
  readonly isNeeded: boolean;
  readonly fields: Readonly<Record<string, ValueNode>>;
}

export type ValueNode = Leaf | Branch;

/** Lists, maps and texts that are empty by default may be removed; a number, a switch or a word may not. */
export const leaf = (fallback: unknown, schema: object, doc: string): Leaf => {
  const isNeeded = fallback !== "" && typeof fallback !== "object";
  return { kind: "leaf", fallback, schema, doc, isNeeded };
};
export const needed = (value: Leaf): Leaf => ({ ...value, isNeeded: true });
export const branch = (doc: string, fields: Branch["fields"]): Branch => ({
  kind: "branch",
  doc,
  fields,
  isNeeded: true,
});
export const optional = (doc: string, fields: Branch["fields"]): Branch => ({
  ...branch(doc, fields),
  isNeeded: false,
});

export const text = (fallback: string, doc: string, more: object = {}): Leaf =>
  leaf(fallback, { type: "string", ...more }, doc);
export const flag = (fallback: boolean, doc: string): Leaf => leaf(fallback, { type: "boolean" }, doc);
export const count = (fallback: number, minimum: number, doc: string, maximum?: number): Leaf =>
  leaf(fallback, { type: "integer", minimum, ...(maximum === undefined ? {} : { maximum }) }, doc);
export const words = (fallback: string, allowed: readonly string[], doc: string): Leaf =>
  leaf(fallback, { type: "string", enum: allowed }, doc);
export const map = (doc: string, fallback: object = {}): Leaf => leaf(fallback, { type: "object" }, doc);
/** A map of texts. A number is taken as it is written; `null` removes what an earlier file says. */
export const TEXTS = { type: "object", additionalProperties: { type: ["string", "number", "boolean", "null"] } };
export const strings = (doc: string): Leaf => leaf({}, TEXTS, doc);
export const list = (doc: string, fallback: readonly unknown[] = [], items: object = { type: "object" }): Leaf =>
  leaf(fallback, { type: "array", items }, doc);

export const NAMESPACE = { type: "string", maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" };
/** A DNS subdomain. In a role `*` is no name, and an empty name would not narrow it. */
export const OBJECT_NAME = {
  type: "string",
  maxLength: 253,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
};
/** The same, or empty: a default is taken then. */
export const NAME_OR_DEFAULT = { ...OBJECT_NAME, pattern: `^(|${OBJECT_NAME.pattern.slice(1, -1)})$` };
export const DURATION = { pattern: "^[0-9]+(ms|s|m|h)$" };
export const CIDRS = { type: "string", pattern: "^[0-9a-fA-F.:]+/[0-9]+$" };
export const PORT = { type: "integer", minimum: 1, maximum: 65_535 };
export const MEMORY = { type: "string", pattern: "^[0-9]+(Mi|Gi)$" };
/** The same, or empty: a default is taken then. */
export const MEMORY_OR_DEFAULT = { pattern: "^(|[0-9]+(Mi|Gi))$" };
