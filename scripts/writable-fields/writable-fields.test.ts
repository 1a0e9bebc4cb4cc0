import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { writableFields } from "./writable-fields.ts";

const ROOT = new URL("../../", import.meta.url);
const NOTES_PAGE = "docs/api-rules/28-notes.md";

const read = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");

/** One line of fields.tsv: which fields, `acts` or `note`, and the file that reads them or what becomes of the note. */
interface Line {
  readonly fields: string;
  readonly kind: string;
  readonly says: string;
}

const lines: readonly Line[] = read("scripts/writable-fields/fields.tsv")
  .trimEnd()
  .split("\n")
  .map((line) => {
    const [fields = "", kind = "", says = ""] = line.split("\t");
    return { fields, kind, says };
  });

/** `area.*` stands for each route of an area, `.**` at the end for all that is within. */
function covers({ fields }: Line): (field: string) => boolean {
  const [route = "", rest] = fields.split(" ");
  if (rest === undefined) return within(route);
  const [area, name] = route.split(".");
  const isWithin = within(rest);
  return (field) => {
    const [of = "", path = ""] = field.split(" ");
    const [itsArea, itsName] = of.split(".");
    return (area === "*" || area === itsArea) && (name === "*" || name === itsName) && isWithin(path);
  };
}

function within(path: string): (field: string) => boolean {
  const start = path.endsWith("**") ? path.slice(0, -2) : undefined;
  return (field) => (start === undefined ? field === path : field.startsWith(start));
}

/** The last name of a path, as it is and as a column. */
function namesOf({ fields }: Line): readonly string[] {
  const name = /(\w+)(?:\[\]|\.\*+)*$/.exec(fields)?.[1] ?? fields;
  return [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

const fields = writableFields();

test("each field that a caller may write is read by something that acts, or named as a note", () => {
  expect(fields.length).toBeGreaterThan(500);
  const all = lines.map(covers);
  expect(fields.filter((field) => !all.some((isCovered) => isCovered(field)))).toEqual([]);
});

test("each line is of fields that there are, once", () => {
  expect(lines.filter((line) => !fields.some(covers(line)))).toEqual([]);
  expect(new Set(lines.map((line) => line.fields)).size).toBe(lines.length);
});

test("a note is no field of which another line says that something reads it", () => {
  const acting = lines.filter(({ kind }) => kind === "acts");
  const notes = lines.filter(({ kind }) => kind === "note");
  const noted = fields.filter((field) => notes.some((line) => covers(line)(field)));
  expect(noted.filter((field) => acting.some((line) => covers(line)(field)))).toEqual([]);
});

test("the file of a line is there, and has the field's name", () => {
  const wrong = lines.filter((line) => {
    if (line.kind !== "acts") return line.kind !== "note" || line.says === "";
    if (line.says.includes(".test.") || !existsSync(new URL(line.says, ROOT))) return true;
    const text = read(line.says);
    return !namesOf(line).some((name) => new RegExp(`\\b${name}\\b`).test(text));
  });
  expect(wrong).toEqual([]);
});

test("the page of notes has each note, and no other", () => {
  const rows = read(NOTES_PAGE).matchAll(/^\| `([^`]+)` \| (.+) \|$/gm);
  const told = [...rows].map(([, of, says]) => `${of}: ${says}`);
  const notes = lines.filter(({ kind }) => kind === "note").map(({ fields: of, says }) => `${of}: ${says}`);
  expect(told).toEqual(notes);
});
