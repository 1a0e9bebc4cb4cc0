import { describe, expect, test } from "vitest";
import { intField, textField, wrapped } from "../testing/protobuf-writer.ts";
import { ApiError, errorFromResponse, networkError } from "./api-error.ts";

const now = new Date("2026-01-01T00:00:00Z");
const predicates = [
  "isNotFound",
  "isConflict",
  "isAlreadyExists",
  "isGone",
  "isForbidden",
  "isInvalid",
  "isUnauthorized",
  "isTooManyRequests",
  "isTransient",
] as const;

describe("an API error", () => {
  const rows: readonly (readonly [number, string, readonly (typeof predicates)[number][]])[] = [
    [0, "NetworkError", ["isTransient"]],
    [400, "BadRequest", []],
    [401, "Unauthorized", ["isUnauthorized"]],
    [403, "Forbidden", ["isForbidden"]],
    [404, "NotFound", ["isNotFound"]],
    [409, "Conflict", ["isConflict"]],
    [409, "AlreadyExists", ["isAlreadyExists"]],
    [410, "Gone", ["isGone"]],
    [410, "Expired", ["isGone"]],
    [422, "Invalid", ["isInvalid"]],
    [429, "TooManyRequests", ["isTooManyRequests", "isTransient"]],
    [500, "InternalError", ["isTransient"]],
    [503, "", ["isTransient"]],
    [504, "Timeout", ["isTransient"]],
  ];
  test.each(rows)("of %i %s is what its predicates say, and nothing else", (status, reason, expected) => {
    const error = new ApiError("x", { status, reason });
    expect(predicates.filter((predicate) => error[predicate])).toEqual(expected);
  });

  test("of a policy whose parameters are not read yet, after a start of the server, says nothing of the object", () => {
    const denied = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
    const of = (words: string): ApiError => new ApiError(denied + words, { status: 422, reason: "Invalid" });
    const unread = of("failed to configure binding: paramKind kind `example.com/v1, Kind=Foo` not known");
    expect([unread.isInvalid, unread.isTransient]).toEqual([false, true]);
    const refused = of("replicas must be odd");
    expect([refused.isInvalid, refused.isTransient]).toEqual([true, false]);
  });

  test("carries the server's status and its wait", () => {
    const body = { kind: "Status", message: "slow down", reason: "TooManyRequests", details: { retryAfterSeconds: 3 } };
    const error = errorFromResponse("GET /x", 429, Buffer.from(JSON.stringify(body)), undefined, now);
    expect([error.message, error.retryAfterMs, error.body]).toEqual(["GET /x: 429 slow down", 3000, body]);
  });

  test("is read in the encoding of the request: a refused list in protobuf", () => {
    const status = [
      textField(2, "Failure"),
      textField(3, "pods is forbidden"),
      textField(4, "Forbidden"),
      intField(6, 403),
    ];
    const body = wrapped("v1", "Status", Buffer.concat(status));
    const error = errorFromResponse("GET /x", 403, body, undefined, now);
    expect([error.message, error.reason]).toEqual(["GET /x: 403 pods is forbidden", "Forbidden"]);
    const cut = errorFromResponse("GET /x", 403, body.subarray(0, 12), undefined, now);
    expect(cut.message).toMatch(/^GET \/x: 403 [\x20-\x7e]+$/);
  });

  test("of a foreign body keeps only its beginning", () => {
    expect(
      errorFromResponse("GET /x", 502, Buffer.from("<".repeat(10_000)), undefined, now).message.length,
    ).toBeLessThan(300);
  });

  test("of a refused connection says what happened, and keeps the cause", () => {
    const cause = new AggregateError([new Error("connect ECONNREFUSED")]);
    const error = networkError("GET /x", cause);
    expect([error.message, error.cause]).toEqual(["GET /x: connect ECONNREFUSED", cause]);
  });
});
