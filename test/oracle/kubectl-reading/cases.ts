const HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n";
const JSON_OBJECT = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "NAME"}}';
const anchors = Array.from({ length: 105 }, (_, at) => `  k${at}: *a\n`).join("");

/** Texts that both read, and make the same of; `NAME` stands for the objects' name. */
export const SAME: readonly (readonly [what: string, text: string | Buffer])[] = [
  ["a mark at the beginning", `\ufeff${HEAD}`],
  ["a mark at the beginning of a later document", `${HEAD}---\n\ufeff${HEAD}`],
  ["UTF-16", utf16(HEAD)],
  ["UTF-16, high byte first", utf16(HEAD).swap16()],
  ["line ends of Windows", `${HEAD}text: |\n  a\n  b\n`.replaceAll("\n", "\r\n")],
  ["line ends of an old Macintosh", HEAD.replaceAll("\n", "\r")],
  ["no line end at the end", HEAD.trimEnd()],
  ["more than 100 uses of an anchor", `${HEAD}a: &a {b: c}\nuses:\n${anchors}`],
  ["anchors that are written anew", `${HEAD}a: &a 1\nb: *a\nc: &a 2\nd: *a\n`],
  [
    "merges, of which the last counts",
    `${HEAD}a: {<<: {x: 1, y: 2}, x: 3}\nb: {x: 3, <<: {x: 1}}\nc: {<<: [{x: 1}, {x: 2, y: 3}]}\n`,
  ],
  ["a merge in quotes", `${HEAD}a: {"<<": {x: 1}}\n`],
  ["JSON objects one after the other", `${JSON_OBJECT}\n${JSON_OBJECT}\n`],
  ["JSON objects without anything between", `${JSON_OBJECT}${JSON_OBJECT}`],
  ["JSON behind a mark", `\ufeff${JSON_OBJECT}\n${JSON_OBJECT}\n`],
  ["JSON and YAML", `${JSON_OBJECT}\n---\n${HEAD}`],
  ["JSON with a comma at the end", JSON_OBJECT.replace("}}", "},}")],
  ["escapes of JSON", JSON_OBJECT.replace("}}", '}, "a": "\\u0000\\/\\ud83d\\ude00\\u00e9", "n": [1.0, 1e3, 0.1]}')],
  ["a key of JSON twice", JSON_OBJECT.replace("}}", '}, "a": {"b": 1}, "a": {"c": 2}}')],
  ["escapes of YAML", `${HEAD}a: "\\x41\\u00e9\\U0001F600\\0\\a\\e\\N\\_\\L\\P\\t \\\n  b"\n`],
  [
    "octal, hexadecimal and binary",
    `${HEAD}a: [0o755, 0O7, -0o7, 0755, 08, 0x1F, 0X1f, 0b11, -0b1, 0B1, 1_000, 0x_1, _1]\n`,
  ],
  [
    "numbers",
    `${HEAD}a: [1., 1.0, .5, +.5, -.5, .5_0, 1e3, 1E3, .5e-3, 1e, .e3, +1, -0, 1e400, 1__0, 0x1p-2, 190:20]\n`,
  ],
  [
    "words",
    `${HEAD}a: [y, Y, yes, Yes, yEs, on, off, n, NO, true, True, tRue, ~, null, Null, nUll, '', 'yes', .Inf2]\n`,
  ],
  ["times", `${HEAD}a: [2001-01-01, 2001-01-01T00:00:00Z, 10:30, !!timestamp 2001-01-01]\n`],
  [
    "tags",
    `${HEAD}a: [!!str 12, !!int "12", !!float 1, !!binary aGk=, !own 12, !own {a: 1}, !!set {a, b}, !!bool "yes", ! 12]\n`,
  ],
  [
    "keys",
    `${HEAD}a: {1: a, true: b, 1.5: d, 0x10: e, 1e6: f, 0.1: g, 123456.789: h, 1e21: j, 1e-7: k, -0.0: z, .inf: i}\n`,
  ],
  ["a key of all 64 bits", `${HEAD}a: {9223372036854775807: b}\n`],
  ["a key twice", `${HEAD}a: {b: 1, b: 2}\n`],
  ["blocks", `${HEAD}a: |-\n  x\nb: >+\n  x\n  y\n\nc: |2\n    x\nd: >\n  x\n\n  y\n    z\n`],
  ["tabs", `${HEAD}a:\tb\nc: [\td,\te]\n`],
  ["comments alone", `# a\n---\n# b\n---\n${HEAD}# c\n---\n# d\n`],
  ["empty documents", `---\n---\n\n---\n${HEAD}---\n`],
  ["a comment behind ---", `${HEAD}--- # c\n${HEAD}`],
  ["the end of a document", `${HEAD}...\n---\n${HEAD}`],
  ["emoji", `${HEAD}a: "\u{1f600}"\n\u{1f600}: \u6f22\u5b57\n`],
  ["a long line", `${HEAD}a: ${"x".repeat(200_000)}\n`],
  ["nesting", `${HEAD}a: ${"[".repeat(300)}${"]".repeat(300)}\n`],
  ["a list", `apiVersion: v1\nkind: List\nitems:\n- ${HEAD.trimEnd().replaceAll("\n", "\n  ")}\n`],
  ["a list of one kind", "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: NAME}\n"],
  ["a list of nothing", "apiVersion: v1\nkind: ConfigMapList\nitems: []\n"],
  [
    "a quantity and nulls",
    `${HEAD}spec: {cpu: 0.5, memory: 1.5Gi, strategy: {}, template: {creationTimestamp: null}}\n`,
  ],
  ["a variable that is a number", `${HEAD}spec: {env: [{name: PORT, value: 8080}]}\n`],
  ["a port as text", `${HEAD}spec: {targetPort: "8080", port: 8080}\n`],
  ["what kubectl applied last", `${HEAD}a: |\n  {"apiVersion":"v1","kind":"ConfigMap"}\n`],
];

/** Where the reader differs on purpose, as docs/releases.md says: what kubectl makes of it, and what is said here. */
export const OTHER: readonly (readonly [
  what: string,
  text: string,
  kubectl: "refuses" | "takes" | "drops",
  here: RegExp | "takes",
])[] = [
  ["a directive", `%YAML 1.1\n---\n${HEAD}`, "refuses", /^directives such as %YAML are not read/],
  [
    "a document that begins in the line of ---",
    `--- {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}}\n`,
    "refuses",
    "takes",
  ],
  ["a second document behind ...", `${HEAD}...\n${HEAD}`, "drops", "takes"],
  ["what follows a document in braces", `# c\n${JSON_OBJECT}\n${JSON_OBJECT}\n`, "drops", /./],
  ["a mark in a document", `${HEAD}\ufeffa: b\n`, "takes", /^a byte order mark in a document/],
  ["a text whose next line is not indented", `${HEAD}a: "b\nc"\n`, "takes", /indented further than its key$/],
  ["a list whose next line is not indented", `${HEAD}a: [\nb]\n`, "takes", /indented further than its key$/],
  ["a lone - in brackets", `${HEAD}a: [-, b]\n`, "takes", /a lone - belongs in quotes there$/],
  [
    "a colon at the end of a text in brackets",
    `${HEAD}a: [b:, c]\n`,
    "takes",
    /^is read in two ways: put it in quotes$/,
  ],
  ["a line break of YAML 1.1", `${HEAD}a: b\u0085 c\n`, "takes", /^has the character U\+0085, which ends a line$/],
  ["a colon at the beginning in brackets", `${HEAD}a: [:8, c]\n`, "refuses", /^is read in two ways: put it in quotes$/],
  ["a question mark in brackets", `${HEAD}a: [?b, c]\n`, "takes", /^is read in two ways: put it in quotes$/],
  ["a tag without a value in brackets", `${HEAD}a: [!b, c]\n`, "takes", /^is read in two ways: put it in quotes$/],
  ["bytes that are no text", `${HEAD}a: !!binary /w==\n`, "takes", /^!!binary that is no text/],
  ["an infinite number", `${HEAD}a: .inf\n`, "refuses", /^is a number that JSON does not have$/],
  ["a key of null", `${HEAD}a: {null: b}\n`, "refuses", /^is a key that is no text, number or boolean$/],
  ["an empty key with a tag", `${HEAD}a:\n  !!map : b\n`, "takes", /^is a key that is no text, number or boolean$/],
  ["a slash with an escape", `${HEAD}a: "\\/"\n`, "refuses", "takes"],
  ["aliases without an end", bomb(), "refuses", /^its aliases repeat more than a file may hold$/],
];

function utf16(text: string): Buffer {
  return Buffer.from(`\ufeff${text}`, "utf16le");
}

function bomb(): string {
  const levels = Array.from(
    { length: 8 },
    (_, at) => `a${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(", ")}]\n`,
  );
  return `${HEAD}a0: &a0 [x]\n${levels.join("")}`;
}
