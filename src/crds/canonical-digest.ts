import { createHash } from "node:crypto";
import canonicalize from "canonicalize";

/** The JSON text of RFC 8785: every program writes the same text for the same value. @throws Error on what is no JSON */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("not a JSON value");
  return text;
}

/** `sha256:` and 64 hex digits over {@link canonicalJson}. */
export function canonicalDigest(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonicalJson(value)).digest("hex")}`;
}
