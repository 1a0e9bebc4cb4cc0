import type { StoredError } from "../../contract/stored-error.ts";
import type { Principal } from "./principal.ts";

/**
 * How a record's error reads to this caller (§0.4): whole, with every nullable field there; an internal one is
 * replaced for everybody but managers and workspace admins.
 */
export function shownError(error: StoredError | null, { role }: Principal): StoredError | null {
  if (error === null) return null;
  const retryable = error.retryable ?? false;
  const blank = { source: null, context: null, hint: null, httpStatusCode: null };
  if (error.internal && role !== "manager.runtime" && role !== "workspace.admin") {
    return { code: "INTERNAL_ERROR", message: "Internal error", internal: true, retryable, ...blank };
  }
  return { ...blank, ...error, retryable };
}
