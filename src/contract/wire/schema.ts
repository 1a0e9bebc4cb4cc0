import Type, { type TArrayOptions, type TObject, type TProperties, type TSchema, type TUnsafe } from "typebox";

/**
 * Bodies and records refuse unknown keys at every depth: otherwise a misspelt field would be ignored silently (§0.1).
 */
export function Strict<const P extends TProperties>(properties: P): TObject<P> {
  return Type.Object(properties, { additionalProperties: false });
}

/** A field that is always present, null when unset: `x?` of the tables. */
export function Nullable<const S extends TSchema>(schema: S): Type.TUnion<[S, Type.TNull]> {
  return Type.Union([schema, Type.Null()]);
}

/** A field of a request or report that may be left out or be null, which mean the same. */
export function Maybe<const S extends TSchema>(schema: S): Type.TOptional<Type.TUnion<[S, Type.TNull]>> {
  return Type.Optional(Nullable(schema));
}

/** One of a closed list of words. */
export function Words<const W extends readonly string[]>(words: W): TUnsafe<W[number]> {
  return Type.Unsafe<W[number]>({ type: "string", enum: [...words] });
}

/** More than any list of words has. */
const MOST_WORDS = 100;

/** A list of such words. Where each may come once, it is as long as there are words. */
export function WordList<const W extends readonly string[]>(
  words: W,
  options: Pick<TArrayOptions, "minItems" | "uniqueItems" | "description"> = {},
): Type.TArray<TUnsafe<W[number]>> {
  return Type.Array(Words(words), { maxItems: options.uniqueItems ? words.length : MOST_WORDS, ...options });
}

const KIB = 1024;
/** Notes beside a record, of which lists show many. */
export const SMALL_DOCUMENT_BYTES = 16 * KIB;
/** Settings, and what a record keeps of an error. */
export const DOCUMENT_BYTES = 64 * KIB;
/** Values for a release's inputs or for variables. */
export const VALUES_BYTES = 128 * KIB;
/** The state of all resources of a deployment. */
export const STATE_BYTES = 256 * KIB;
/** One resource with its pods. */
export const RESOURCE_BYTES = 512 * KIB;
/** What a vendor releases: as large as a request body may be. */
export const STACK_BYTES = 1024 * KIB;

/**
 * The keyword of the limit. The platform checks what callers send (kernel/document-bounds.ts), never what it has
 * stored.
 */
export const MAX_BYTES = "x-max-bytes";
/**
 * A document may hold one value (key or element) for each 16 bytes: many small values cost more memory than one long
 * text.
 */
export const BYTES_A_VALUE = 16;

/** A document whose shape sets no limit, limited to this many bytes of JSON. */
export function Bounded<const S extends TSchema>(maxBytes: number, schema: S): S {
  return withKeyword(schema, MAX_BYTES, maxBytes);
}

/** The same where a route has its own limit and its own code for it. */
export function BoundedByRoute<const S extends TSchema>(schema: S): S {
  return withKeyword(schema, "x-bounded-by-route", true);
}

/** The builders' marks on a schema are hidden properties, so a spread would lose them. */
function withKeyword<S extends TSchema>(schema: S, keyword: string, value: unknown): S {
  const all = Object.getOwnPropertyDescriptors(schema);
  return Object.defineProperties({}, { ...all, [keyword]: { value, enumerable: true } }) as S;
}

/**
 * A free-form map (`params`, `metadata`, `context`…): the only places that accept unknown keys. Request bodies have it
 * in a `Bounded`.
 */
export const FreeMap: Type.TRecord<"^.*$", Type.TUnknown> = Type.Record(Type.String(), Type.Unknown());

/**
 * Text that a person reads, on one line. Refuses characters that can make the text look different from what is stored:
 * control, format, private-use, line and paragraph separators, and the four blank letters (§0.1; the custom resources
 * have the same rule).
 */
export const HUMAN_LINE = String.raw`^[^\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]*$`;
/** The same, with line breaks and tabs. */
export const HUMAN_TEXT = String.raw`^([^\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|[\n\t])*$`;

export function HumanLine(minLength: number, maxLength: number): Type.TString {
  return Type.String({ minLength, maxLength, pattern: HUMAN_LINE });
}

export function HumanText(minLength: number, maxLength: number): Type.TString {
  return Type.String({ minLength, maxLength, pattern: HUMAN_TEXT });
}

/** RFC 3339. Output is always UTC with milliseconds and `Z`; input may have any offset. */
export const Timestamp: Type.TString = Type.String({ format: "date-time" });

/** An address, in any case; compared and stored in lower case. */
export const Email: Type.TString = Type.String({ format: "email", maxLength: 254 });

const id = (prefix: string, characters: string, length: number): Type.TString =>
  Type.String({
    pattern: `^${prefix}_${characters}{${length}}$`,
    examples: [`${prefix}_${"0123456789abcdefghijklmnopqrstuvwxyz0123".slice(0, length)}`],
  });
const LOWER = "[0-9a-z]";
const MIXED = "[0-9a-zA-Z]";

/** Identifier formats (§0.1). */
export const WorkspaceId: Type.TString = id("ws", MIXED, 24);
export const ApiKeyId: Type.TString = id("apikey", LOWER, 28);
export const ProjectId: Type.TString = id("prj", LOWER, 28);
export const DeploymentGroupId: Type.TString = id("dg", LOWER, 28);
export const DeploymentId: Type.TString = id("dep", LOWER, 28);
export const ManagerId: Type.TString = id("mgr", LOWER, 28);
export const ReleaseId: Type.TString = id("rel", MIXED, 28);
export const PackageId: Type.TString = id("pkg", LOWER, 28);
export const AccessRequestId: Type.TString = id("ar", LOWER, 28);
export const CommandId: Type.TString = id("cmd", MIXED, 28);
export const EventId: Type.TString = id("event", MIXED, 28);
export const DebugSessionId: Type.TString = id("dbg", MIXED, 28);
export const UserId: Type.TString = id("usr", LOWER, 28);
export const InvitationId: Type.TString = id("winv", MIXED, 32);
export const InviteLinkId: Type.TString = id("wil", MIXED, 40);

export const WORKSPACE_NAME = "^(?!ws[-_])[a-z0-9](-?[a-z0-9])*$";

/** Whether the API can address a workspace by this name. */
export function isWorkspaceName(name: string): boolean {
  return name.length >= 4 && name.length <= 100 && new RegExp(WORKSPACE_NAME).test(name);
}
export const ProjectRef: Type.TString = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "A project's id or name.",
});

export const PLATFORMS = ["aws", "gcp", "azure", "kubernetes", "machines", "local", "test"] as const;
export const Platform: TUnsafe<(typeof PLATFORMS)[number]> = Words(PLATFORMS);

/** Query of every paginated list (§0.6). */
export const pageQuery: {
  limit: Type.TOptional<Type.TInteger>;
  cursor: Type.TOptional<Type.TString>;
} = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
};

/** `{items, nextCursor}`: null on the last page. */
export function Page<const S extends TSchema>(
  item: S,
): TObject<{ items: Type.TArray<S>; nextCursor: Type.TUnion<[Type.TString, Type.TNull]> }> {
  return Strict({ items: Type.Array(item), nextCursor: Nullable(Type.String()) });
}
