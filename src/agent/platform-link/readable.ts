import { HUMAN_TEXT } from "../../contract/wire/schema.ts";

const READABLE = new RegExp(HUMAN_TEXT, "u");

/** Text for a person: no character that hides, reorders or fakes others. */
export function isReadable(text: string): boolean {
  return text.isWellFormed() && READABLE.test(text);
}
