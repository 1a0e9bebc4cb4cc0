import { isUtf8 } from "node:buffer";

const PREFIX = "tag:yaml.org,2002:";

type Resolved =
  | { readonly kind: "str"; readonly value: string }
  /** Exact: a key has all digits, also where a number would be rounded. */
  | { readonly kind: "int"; readonly value: bigint }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "null"; readonly value: null };

/** What a scalar may not be; the message follows its place. */
export class ScalarProblem extends Error {}

/**
 * What kubectl makes of a scalar: it reads YAML 1.1, without times and numbers to the base 60, and with `0o` for octal numbers.
 *
 * @param tag as the parser has it, with its prefix; empty: none
 * @param isPlain without quotes, and no block
 * @throws ScalarProblem when the tag asks for another kind
 */
export function goScalar(text: string, tag: string, isPlain: boolean): Resolved {
  const short = tag.startsWith(PREFIX) ? tag.slice(PREFIX.length) : tag;
  switch (short) {
    case "":
      return isPlain ? plain(text) : { kind: "str", value: text };
    case "binary":
      return { kind: "str", value: bytesOf(text) };
    case "timestamp":
      return { kind: "str", value: text };
    case "int":
    case "float":
    case "bool":
    case "null": {
      const found = plain(text);
      if (found.kind === short) return found;
      if (short === "float" && found.kind === "int") return { kind: "float", value: Number(found.value) };
      throw new ScalarProblem(`${JSON.stringify(text)} is no !!${short}`);
    }
    default:
      return { kind: "str", value: text };
  }
}

const WORDS: ReadonlyMap<string, Resolved> = new Map([
  ...spelled({ kind: "bool", value: true }, "y", "yes", "true", "on"),
  ...spelled({ kind: "bool", value: false }, "n", "no", "false", "off"),
  ...spelled({ kind: "null", value: null }, "null"),
  ...spelled({ kind: "float", value: Number.NaN }, ".nan"),
  ...spelled({ kind: "float", value: Number.POSITIVE_INFINITY }, ".inf", "+.inf"),
  ...spelled({ kind: "float", value: Number.NEGATIVE_INFINITY }, "-.inf"),
]);

/** `null`, `Null`, `NULL`; `.nan`, `.NaN`, `.NAN`. */
function spelled(resolved: Resolved, ...words: readonly string[]): readonly (readonly [string, Resolved])[] {
  return words.flatMap((word) => {
    const title = word === ".nan" ? ".NaN" : word.replace(/[a-z]/, (letter) => letter.toUpperCase());
    return [word, title, word.toUpperCase()].map((spelling) => [spelling, resolved] as const);
  });
}

const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
/** Each with what JavaScript writes before such digits. */
const INTEGERS: readonly (readonly [pattern: RegExp, prefix: string])[] = [
  [/^([-+]?)0[xX]([0-9a-fA-F]+)$/, "0x"],
  [/^([-+]?)0[oO]?([0-7]+)$/, "0o"],
  [/^([-+]?)0[bB]([01]+)$/, "0b"],
  [/^([-+]?)([1-9][0-9]*|0)$/, ""],
];
/** Larger ones are numbers with a point. */
const MAX_INTEGER = 2n ** 64n;
/** A number beyond it has too many digits to be worth reading. */
const MAX_DIGITS = 400;

function plain(text: string): Resolved {
  if (text === "" || text === "~") return { kind: "null", value: null };
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text) || text.length > MAX_DIGITS) return { kind: "str", value: text };
  // Behind a leading point an underscore stands between digits alone.
  const digits = text.replaceAll(text.startsWith(".") ? /(?<=[0-9])_(?=[0-9])/g : "_", "");
  for (const [pattern, prefix] of INTEGERS) {
    const [, sign, magnitude] = pattern.exec(digits) ?? [];
    if (magnitude === undefined) continue;
    const size = BigInt(`${prefix}${magnitude}`);
    if (size < MAX_INTEGER) return { kind: "int", value: sign === "-" ? -size : size };
  }
  const value = FLOAT.test(digits) ? Number(digits) : Number.NaN;
  return Number.isFinite(value) ? { kind: "float", value } : { kind: "str", value: text };
}

function bytesOf(text: string): string {
  const compact = text.replaceAll(/[\r\n]/g, "");
  const bytes = Buffer.from(compact, "base64");
  if (bytes.toString("base64") !== compact) throw new ScalarProblem("!!binary without base64");
  if (!isUtf8(bytes))
    throw new ScalarProblem("!!binary that is no text: the field that takes bytes takes their base64");
  return bytes.toString("utf8");
}

/** As kubectl writes a key: of a number with a point what 32 bits hold of it, in Go's shortest form. */
export function keyText({ kind, value }: Resolved): string {
  if (kind !== "float") return String(value);
  const small = Math.fround(value);
  if (Number.isNaN(small)) return ".nan";
  if (!Number.isFinite(small)) return small > 0 ? ".inf" : "-.inf";
  const precision = [1, 2, 3, 4, 5, 6, 7, 8].find((digits) => Math.fround(Number(small.toPrecision(digits))) === small);
  const shortest = small.toExponential((precision ?? 9) - 1);
  const [mantissa = "", exponent = ""] = shortest.split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 6)
    return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  return Object.is(small, -0) ? "-0" : String(Number(shortest));
}
