import Type from "typebox";

/** How much an operation can break, mildest first. A missing tier counts as the last. */
export const TIERS = ["read-only", "mutating", "destructive"] as const;
export type Tier = (typeof TIERS)[number];

export function words<const W extends readonly string[]>(list: W): Type.TUnsafe<W[number]> {
  return Type.Unsafe<W[number]>({ type: "string", enum: [...list] });
}

const NAME = "^[a-z0-9]+(-[a-z0-9]+)*$";
/** Of a plugin and of an operation alike. */
export const Name: Type.TString = Type.String({ pattern: NAME, maxLength: 63 });

/** Most characters of `plugin/operation`: a role, and the names of its bindings, are made of both (src/crds/kinds/lending.ts). */
export const MAX_COMMAND = 64;
/** Of one plugin. */
export const MAX_OPERATIONS = 64;

const VERSION = "^[0-9A-Za-z][0-9A-Za-z.+_-]*$";
export const Version: Type.TString = Type.String({ pattern: VERSION, minLength: 1, maxLength: 64 });

/** Text that a person reads, with line breaks and tabs, without characters that hide or reorder text. */
const READABLE = String.raw`^([^\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|[\n\t])*$`;
export const Description: Type.TString = Type.String({ minLength: 0, maxLength: 1024, pattern: READABLE });

const RESULT_WORD = "^[a-zA-Z][a-zA-Z0-9]*$";
export const ResultWord: Type.TString = Type.String({ pattern: RESULT_WORD, maxLength: 64 });

/** What an author reads in place of an expression. */
export const PATTERN_WORDS: ReadonlyMap<string, string> = new Map([
  [NAME, "must be lower-case letters and digits, in words joined by single hyphens"],
  [VERSION, "must begin with a letter or digit, and have only letters, digits and the signs . + _ -"],
  [READABLE, "has an invisible or control character"],
  [RESULT_WORD, "must be letters and digits, and begin with a letter"],
]);

/**
 * Plugins of Sallyport itself, and words that its plans use in a plugin's place. A role is named after plugin and operation with a
 * hyphen between: `kubernetes-rollout` with an operation `restart` would get the role of `kubernetes/rollout-restart`.
 */
export const RESERVED_NAMES = ["kubernetes", "debug", "machine", "machines", "release", "releases"] as const;

export function isReservedName(name: string): boolean {
  return RESERVED_NAMES.some((reserved) => name === reserved || name.startsWith(`${reserved}-`));
}

/** The role with which an operation's account works, in a customer's cluster. */
export function pluginRole(plugin: string, operation: string): string {
  return `sallyport-op-${plugin}-${operation}`;
}
