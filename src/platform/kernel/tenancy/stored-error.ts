import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Kept } from "../../database/tables/kept.ts";
import type { Principal } from "./principal.ts";

/** Marks a value as stored: its errors may reach a caller only through `shown`. */
export function kept<T>(value: T): Kept<T> {
  return value as unknown as Kept<T>;
}

/** Gives the platform's own rules the stored value. The result must not go to a caller. */
export function judged<T>(value: Kept<T>): T {
  return value as unknown as T;
}

/**
 * Converts a stored value for this caller (§0.4): each error in it is complete, with every nullable field present. An
 * internal error is replaced for all callers but managers and workspace admins.
 */
export function shown<T>(value: Kept<T>, principal: Pick<Principal, "role">): T;
export function shown<T>(value: Kept<T> | null, principal: Pick<Principal, "role">): T | null;
export function shown<T>(value: Kept<T> | null, { role }: Pick<Principal, "role">): T | null {
  const hides = role !== "manager.runtime" && role !== "workspace.admin";
  return value === null ? null : (shownPart(judged(value), hides, 0) as T);
}

/** Deeper than any valid record. Parts below are left out, because they could contain an error too. */
const MAX_DEPTH = 64;

function shownPart(part: unknown, hides: boolean, depth: number): unknown {
  if (typeof part !== "object" || part === null) return part;
  if (depth === MAX_DEPTH) return null;
  if (Array.isArray(part)) return part.map((item) => shownPart(item, hides, depth + 1));
  const map = part as Readonly<Record<string, unknown>>;
  if (hides && map.internal === true && typeof map.code === "string") return replaced(map);
  const inside = Object.entries(map).map(([key, value]) => [key, shownPart(value, hides, depth + 1)]);
  const copy: Record<string, unknown> = Object.fromEntries(inside);
  return isError(map) ? { ...NOTHING, ...copy, retryable: map.retryable ?? false } : copy;
}

const NOTHING = { source: null, context: null, hint: null, httpStatusCode: null };

function isError({ code, message, internal }: Readonly<Record<string, unknown>>): boolean {
  return typeof code === "string" && typeof message === "string" && typeof internal === "boolean";
}

function replaced({ retryable }: Readonly<Record<string, unknown>>): StoredError {
  return {
    code: "INTERNAL_ERROR",
    message: "Internal error",
    internal: true,
    retryable: retryable === true,
    ...NOTHING,
  };
}
