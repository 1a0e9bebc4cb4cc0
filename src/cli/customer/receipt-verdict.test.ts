import fc from "fast-check";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { canonicalDigest } from "../../crds/canonical-digest.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { DigestedReceipt, Receipt } from "../../crds/receipt.ts";
import { UsageError } from "../kernel/command.ts";
import { textOf } from "../kernel/given/given-file.ts";
import { receiptsOf } from "./receipt-command.ts";
import { documentsIn, verdictLines, verdictOn } from "./receipt-verdict.ts";

function receipt(sequence: number, previous: string | null): Receipt {
  const at = "2026-01-01T10:00:00Z";
  const digest = `sha256:${"a".repeat(64)}`;
  return {
    version: "v1",
    deploymentId: "dep_1",
    sequence,
    previous,
    request: {
      id: `ar_${sequence}`,
      title: "more replicas",
      risk: "mutating",
      planHash: digest,
      maxMinutes: 60,
      decideBefore: at,
      commands: [{ command: "kubernetes/scale", digest }],
    },
    grant: { uid: `uid-${sequence}`, createdAt: at },
    decision: { outcome: "approved", by: "alice", nameFrom: "stamped", minutes: 30, reason: null },
    revocation: null,
    window: { from: at, until: at },
    state: "Completed",
    endedAt: at,
    lines: [
      {
        index: 0,
        state: "Succeeded",
        commandId: `cmd_${sequence}`,
        account: "grant-aaaaaaaaaaaa",
        startedAt: at,
        finishedAt: at,
        resultDigest: digest,
      },
    ],
  };
}

function chain(length: number): DigestedReceipt[] {
  const made: DigestedReceipt[] = [];
  for (let sequence = 1; sequence <= length; sequence += 1) {
    const next = receipt(sequence, made.at(-1)?.digest ?? null);
    made.push({ digest: canonicalDigest(next), receipt: next });
  }
  return made;
}

const judged = (documents: readonly unknown[], head?: string) =>
  verdictOn(
    documents.map((value, index) => ({ where: `f:${index + 1}`, value })),
    head,
  );

/** Where the leaves of a receipt are. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, entry]) => pathsOf(entry, [...path, key]));
}

function changed(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return typeof value === "number" ? value + 1 : value === null ? "x" : `${value}0`;
  if (Array.isArray(value)) return value.map((entry, index) => (String(index) === key ? changed(entry, rest) : entry));
  const record = value as Readonly<Record<string, unknown>>;
  return { ...record, [key]: changed(record[key], rest) };
}

const PATHS = pathsOf(receipt(2, `sha256:${"b".repeat(64)}`));
const at = (length: number) => fc.integer({ min: 0, max: length - 1 });

test("a whole chain holds, in one file or in several, and says its end", () => {
  const all = chain(4);
  const head = all.at(-1)?.digest ?? "";
  const text = all.map((each) => `${JSON.stringify(each)}\n`).join("");
  expect(documentsIn(text, "f").map(({ where }) => where)).toEqual(["f:1", "f:2", "f:3", "f:4"]);
  expect(documentsIn(JSON.stringify(all), "f")).toHaveLength(4);
  expect(documentsIn(JSON.stringify(all[0], undefined, 2), "f")).toHaveLength(1);
  const verdict = verdictOn(documentsIn(text, "f"), head);
  expect(verdict).toEqual({ holds: true, problems: [], chains: [{ deploymentId: "dep_1", from: 1, to: 4, head }] });
  expect(judged(all.slice(1)).holds).toBe(true);
  expect(verdictLines(judged(all.slice(1)))[1]).toBe("dep_1: receipts 1 to 1 are not among these files");
});

test("YAML, which receipt prints for reading, is one line that says what to do, and nothing looks tampered with", () => {
  const all = chain(2);
  for (const value of [all, all[0]]) {
    const read = () => documentsIn(stringify(value), "f");
    expect(read).toThrow(UsageError);
    expect(read).toThrow(/^f is YAML, which is for reading: verify what receipt prints without -o, or with -o json$/);
    expect(verdictOn(documentsIn(JSON.stringify(value, undefined, 2), "f")).holds).toBe(true);
  }
});

test("the receipts of a deployment are found by its id and by the name of its object, in their order", () => {
  const grants = [2, 1, 3].map((sequence) => ({
    spec: { deploymentId: sequence === 3 ? "dep_b" : "dep_a" },
    status: { receipt: { sequence } },
  })) as unknown as readonly AccessGrant[];
  const [second, first] = grants;
  for (const id of ["dep_a", "dep-a"]) expect(receiptsOf(grants, id)).toEqual([first, second]);
  expect(receiptsOf(grants, "dep-c")).toEqual([]);
});

test("any change of any field is named, with the number of the receipt, also when its digest was made anew", () => {
  fc.assert(
    fc.property(at(4), fc.constantFrom(...PATHS), fc.boolean(), (index, path, isAnew) => {
      const all: { digest: string; receipt: unknown }[] = chain(4);
      const head = all.at(-1)?.digest;
      const target = all[index] as DigestedReceipt;
      const receipt = changed(target.receipt, path);
      all[index] = { digest: isAnew ? canonicalDigest(receipt) : target.digest, receipt };
      const { holds, problems } = judged(all, head);
      expect(holds).toBe(false);
      if (!isAnew) expect(problems.join("\n")).toMatch(new RegExp(`f:${index + 1}`));
    }),
    { examples: [[0, ["deploymentId"], true]] },
  );
});

test("what is left out is named, wherever it stood", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 6 }), fc.nat(), (length, seed) => {
      const all = chain(length);
      const index = seed % length;
      const verdict = judged(all.toSpliced(index, 1), all.at(-1)?.digest);
      const words = [...verdictLines(verdict)].join("\n");
      if (index === 0) expect(words).toContain("receipts 1 to 1 are not among these files");
      else if (index === length - 1) expect(words).toContain("left out at the end");
      else expect(words).toContain(`number ${index + 1} is left out before number ${index + 2} (`);
      expect(verdict.holds).toBe(index === 0);
    }),
  );
});

test("another order is named", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 6 }), fc.nat(), fc.nat(), (length, one, other) => {
      const all = chain(length);
      const [from, to] = [one % length, other % length];
      fc.pre(from !== to);
      const moved = all.toSpliced(from, 1).toSpliced(to, 0, all[from] as DigestedReceipt);
      expect(judged(moved).problems.join("\n")).toContain("the order was changed");
    }),
  );
});

test.each([
  ["one twice", [0, 1, 1], "is there twice"],
  ["nothing", [], "there is no receipt in it"],
] as const)("%s", (_, order, words) => {
  const all = chain(2);
  expect(judged(order.map((index) => all[index])).problems.join("\n")).toContain(words);
});

test("two receipts with one number are a fork, and it is named", () => {
  const [first, second] = chain(2);
  const other = receipt(2, first?.digest ?? null);
  const forked = { ...other, request: { ...other.request, title: "another" } };
  const documents = [first, second, { digest: canonicalDigest(forked), receipt: forked }];
  expect(judged(documents).problems.join("\n")).toContain("have the same number and are two");
});

test("what is no receipt is refused in words, however deep it is", () => {
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const nested = `{"digest":"sha256:${"0".repeat(64)}","receipt":${JSON.stringify(receipt(1, null)).slice(0, -1)},"x":${deep}}}`;
  for (const text of ["nonsense", "{}", "[1]", deep, nested, '{"digest":"x","receipt":{}}']) {
    expect(verdictOn(documentsIn(text, "f")).holds, text.slice(0, 20)).toBe(false);
  }
});

test("a file of many lines that are no receipts is judged no further than the first thousand", () => {
  const found = documentsIn("x\n".repeat(2_000), "f");
  expect(found).toHaveLength(1_001);
  const { holds, problems } = verdictOn(found);
  expect(holds).toBe(false);
  expect(problems).toHaveLength(1_001);
  expect(problems.at(-1)).toBe("what comes after 1000 wrong ones, from f:1001 on, was not looked at");
});

test("no receipt goes unseen behind many empty lines", () => {
  const [first] = chain(1);
  const text = `${JSON.stringify(first)}${"\n".repeat(600_000)}${JSON.stringify({ digest: "x" })}`;
  expect(verdictOn(documentsIn(text, "f"))).toMatchObject({ holds: false });
});

const LINES = chain(2)
  .map((each) => `${JSON.stringify(each)}\n`)
  .join("");
const CRLF = LINES.replaceAll("\n", "\r\n");
test.each([
  ["UTF-8", Buffer.from(LINES)],
  ["line ends of Windows", Buffer.from(CRLF)],
  ["a byte order mark", Buffer.from(`\ufeff${CRLF}`)],
  ["UTF-16, as Windows PowerShell redirects", Buffer.from(`\ufeff${CRLF}`, "utf16le")],
  ["UTF-16, high byte first", Buffer.from(`\ufeff${CRLF}`, "utf16le").swap16()],
  [
    "two files in one, each with its mark",
    Buffer.from(`\ufeff${CRLF.split("\r\n").slice(0, 2).join("\r\n\ufeff")}\r\n`),
  ],
])("receipts that were saved with %s are the same", (_, bytes) => {
  const found = documentsIn(textOf("receipts", bytes), "receipts");
  expect(verdictOn(found)).toMatchObject({ holds: true, chains: [{ from: 1, to: 2 }] });
});

test.each([
  ["UTF-16 without a mark", Buffer.from(LINES, "utf16le"), /^receipts is no text: .* Of UTF-16, save it as UTF-8$/],
  [
    "Latin-1",
    Buffer.from(LINES.replace("more", "m\u00e9re"), "latin1"),
    /^receipts is no UTF-8: line 1 has the byte 0xe9/,
  ],
])("receipts in %s are told as an encoding, and not as changed", (_, bytes, words) => {
  expect(() => textOf("receipts", bytes)).toThrow(words);
});
