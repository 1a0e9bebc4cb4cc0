import { ERRORS, type ErrorCode } from "./errors.ts";
import type { Route } from "./route.ts";

const CREDENTIAL = [
  "UNAUTHENTICATED",
  "API_KEY_INVALID",
  "API_KEY_REVOKED",
  "API_KEY_DISABLED",
  "API_KEY_EXPIRED",
  "TOKEN_EXPIRED",
] as const satisfies readonly ErrorCode[];

/**
 * Every code that a route can answer: its own, and those that come with what it is (§0.4): a credential, a workspace,
 * parameters, a body, a write, an Idempotency-Key. By status, then by name.
 */
export function errorsOf(route: Route): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  const add = (when: boolean, ...more: readonly ErrorCode[]): void => {
    if (when) for (const code of more) codes.add(code);
  };
  const writes = route.method !== "GET";
  const namesWorkspace = route.roles !== "public" && route.roles !== "ticket";
  add(true, "RATE_LIMITED", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE", "TIMEOUT");
  add(route.roles !== "public", ...CREDENTIAL);
  add(namesWorkspace, "VALIDATION_ERROR", "FORBIDDEN", "WORKSPACE_MISMATCH", "WORKSPACE_NOT_FOUND");
  add(namesWorkspace && route.workspace === undefined, "WORKSPACE_REQUIRED");
  add(route.params !== undefined || route.query !== undefined, "VALIDATION_ERROR");
  // Also routes without a body read one, to refuse it (§0.1).
  add(writes, "VALIDATION_ERROR", "MALFORMED_JSON", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "CONFLICT");
  add(route.repeat === "key", "IDEMPOTENCY_KEY_REUSED");
  return [...codes].sort((a, b) => ERRORS[a].status - ERRORS[b].status || (a < b ? -1 : 1));
}
