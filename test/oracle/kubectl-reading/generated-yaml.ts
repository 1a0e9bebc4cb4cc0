import fc from "fast-check";

/** What readers of YAML read differently. */
const WORDS = [
  ...[
    "yes",
    "No",
    "ON",
    "off",
    "y",
    "N",
    "true",
    "FALSE",
    "tRue",
    "~",
    "null",
    "Null",
    "NULL",
    "nUll",
    "",
    "-",
    "=",
    "<<",
  ],
  ...[
    "0o755",
    "0755",
    "08",
    "0x1F",
    "0X1f",
    "0b11",
    "-0b1",
    "0B1",
    "1_000",
    "_1",
    "1_",
    "+1",
    "-1",
    "0",
    "-0",
    "00",
    "+",
  ],
  ...[
    ".5",
    "+.5",
    "1.",
    "1.0",
    "-1.50",
    "1e3",
    "1E3",
    "1e+3",
    "1e-3",
    "1e",
    "e1",
    ".e1",
    "1.5e3",
    ".inf",
    "-.INF",
    ".nan",
    ".",
  ],
  ...[
    "2001-01-01",
    "2001-01-01T00:00:00Z",
    "10:30",
    "190:20:30",
    "9007199254740993",
    "18446744073709551616",
    "1e400",
    "0x",
  ],
  ...[
    "a: b",
    "a #b",
    "a#b",
    "#a",
    "a:b",
    ":a",
    "a:",
    "- a",
    "-a",
    "? a",
    "?a",
    "[a",
    "a]",
    "{a",
    "a, b",
    "&a",
    "*a",
    "!a",
    "%a",
    "@a",
  ],
  ...[
    "`a",
    "|",
    ">",
    "'a",
    '"a',
    "a'b",
    'a"b',
    " a ",
    "\ta",
    "a\tb",
    "a\\b",
    "a\nb",
    "a\n\nb",
    "a \nb",
    "\na",
    "a\n",
    "a\n\n",
    "\n",
  ],
  ...["é", "漢字", "\u{1f600}", "\u200b", "\ufeffa", "a\u00a0b", "---", "--- a", "...", "a: |", "{{ .a }}", "$a"],
];

const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...WORDS) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom(..."0123456789_+-.eExXoObBnN: ".split("")), maxLength: 8 }),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom(..."ab :#-,[]{}&*!|>'\"%@`?\n\t\\".split("")), maxLength: 8 }),
  },
);
const TAGS = [
  "!!str",
  "!!int",
  "!!float",
  "!!bool",
  "!!null",
  "!!binary",
  "!!timestamp",
  "!!map",
  "!!seq",
  "!!set",
  "!own",
  "!",
];
const style = fc.constantFrom("plain", "plain", "plain", "single", "double", "literal", "folded");
const chomp = fc.constantFrom("", "-", "+");

type Node =
  | {
      readonly kind: "scalar";
      readonly text: string;
      readonly style: string;
      readonly chomp: string;
      readonly tag: string;
    }
  | { readonly kind: "alias"; readonly of: number }
  | {
      readonly kind: "map";
      readonly entries: readonly (readonly [Node, Node])[];
      readonly isFlow: boolean;
      readonly tag: string;
    }
  | { readonly kind: "seq"; readonly items: readonly Node[]; readonly isFlow: boolean; readonly tag: string };

const tag = fc.oneof({ weight: 12, arbitrary: fc.constant("") }, { weight: 1, arbitrary: fc.constantFrom(...TAGS) });
const scalar = fc.record({ kind: fc.constant("scalar" as const), text: word, style, chomp, tag });
const alias = fc.record({ kind: fc.constant("alias" as const), of: fc.nat(3) });
const merge: Node = { kind: "scalar", text: "<<", style: "plain", chomp: "", tag: "" };

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    { weight: 5, arbitrary: scalar },
    { weight: 1, arbitrary: alias },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("map" as const),
        entries: fc.array(
          fc.tuple(
            fc.oneof({ weight: 8, arbitrary: scalar }, { weight: 1, arbitrary: fc.constant(merge) }),
            tie("node"),
          ),
          { maxLength: 4 },
        ),
        isFlow: fc.boolean(),
        tag,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("seq" as const),
        items: fc.array(tie("node"), { maxLength: 4 }),
        isFlow: fc.boolean(),
        tag,
      }),
    },
  ),
}));

/** A value as people and generators write it, in each style; not always well-formed. */
export const yamlValue: fc.Arbitrary<string> = fc
  .record({ node, space: fc.constantFrom("", " # a comment", "  "), ends: fc.constantFrom("\n", "\n", "\r\n") })
  .map(({ node: root, space, ends }) => {
    let anchors = 0;
    const anchored = (): string => (anchors < 4 ? `&a${anchors++} ` : "");
    const inFlow = (one: Node): string => {
      switch (one.kind) {
        case "scalar":
          // A tag with nothing behind it is of the next line for some readers.
          return one.tag === "" || scalarText(one, true) === ""
            ? scalarText(one, true)
            : `${one.tag} ${scalarText(one, true)}`;
        case "alias":
          return `*a${one.of} `;
        case "map":
          return `${anchored()}{${one.entries.map(([key, value]) => `${inFlow(key)}: ${inFlow(value)}`).join(", ")}}`;
        case "seq":
          return `${anchored()}[${one.items.map(inFlow).join(", ")}]`;
      }
    };
    const inBlock = (one: Node, indent: string): string => {
      if (one.kind === "scalar" && (one.style === "literal" || one.style === "folded"))
        return ` ${one.tag} ${blockText(one, indent)}`;
      if (one.kind === "scalar" || one.kind === "alias" || one.isFlow) return ` ${inFlow(one)}${space}\n`;
      const children = one.kind === "map" ? one.entries : one.items;
      if (children.length === 0) return ` ${inFlow(one)}\n`;
      const head = ` ${anchored()}${one.tag}${space}\n`;
      if (one.kind === "seq")
        return head + one.items.map((item) => `${indent}-${inBlock(item, `${indent}  `)}`).join("");
      return (
        head + one.entries.map(([key, value]) => `${indent}${inFlow(key)}:${inBlock(value, `${indent}  `)}`).join("")
      );
    };
    return inBlock(root, "  ").replaceAll("\n", ends);
  });

function scalarText({ text, style: how }: Extract<Node, { kind: "scalar" }>, isFlow: boolean): string {
  if (how === "double" || (isFlow && (how === "literal" || how === "folded"))) return JSON.stringify(text);
  if (how === "single") return `'${text.replaceAll("'", "''")}'`;
  return text;
}

function blockText({ text, style: how, chomp: end }: Extract<Node, { kind: "scalar" }>, indent: string): string {
  const lines = text.split("\n").map((line) => (line === "" ? "" : `${indent}  ${line}`));
  return `${how === "literal" ? "|" : ">"}${end}\n${lines.join("\n")}\n`;
}
