import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../../base/testing/runs.ts";
import { BUILTIN_PLUGINS, type JsonSchema } from "../../../../contract/operations/builtin-plugins.ts";
import { canonicalJson } from "../../../../contract/operations/plan-hash.ts";
import { PlatformError } from "../../../kernel/errors.ts";
import { checkParams, checkSizes, type Params } from "./params.ts";

function schemaOf(command: string): JsonSchema | undefined {
  const [plugin, operation] = command.split("/");
  const found = BUILTIN_PLUGINS.find(({ name }) => name === plugin)?.operations.find(({ name }) => name === operation);
  return found?.paramsSchema;
}

function verdict(...lines: readonly (readonly [Params, JsonSchema | undefined])[]): string {
  try {
    const given = lines.map(([params, schema], index) => ({ path: `/commands/${index}/params`, params, schema }));
    checkSizes(given);
    checkParams(given);
    return "ok";
  } catch (error) {
    if (error instanceof PlatformError) return error.code;
    throw error;
  }
}

describe("params of the built-in operations", () => {
  const pod = { namespace: "shop", pod: "api-0" };
  const api = { namespace: "shop", kind: "deployment", name: "api" };
  const BAD = "INVALID_OPERATION_PARAMS";
  it.each<[string, Params, string]>([
    ["kubernetes/get-pods", { namespace: "shop" }, "ok"],
    ["kubernetes/get-pods", { namespace: "shop", labelSelector: "app in (a,b)", limit: 500 }, "ok"],
    ["kubernetes/get-pods", {}, BAD],
    ["kubernetes/get-pods", { namespace: "shop", limit: 501 }, BAD],
    ["kubernetes/get-pods", { namespace: "shop", limit: 0 }, BAD],
    ["kubernetes/get-pods", { namespace: "shop", limit: 1.5 }, BAD],
    ["kubernetes/get-pods", { namespace: "Shop" }, BAD],
    ["kubernetes/get-pods", { namespace: "shop", allNamespaces: true }, BAD],
    ["kubernetes/describe", { namespace: "shop", kind: "pod", name: "api-0" }, "ok"],
    ["kubernetes/describe", { namespace: "shop", kind: "secret", name: "api-0" }, BAD],
    ["kubernetes/logs", { ...pod, container: "web", tailLines: 2000, sinceSeconds: 86_400, previous: true }, "ok"],
    ["kubernetes/logs", { ...pod, tailLines: 2001 }, BAD],
    ["kubernetes/logs", { ...pod, previous: "true" }, BAD],
    ["kubernetes/events", { namespace: "shop", kind: "Pod", name: "api-0" }, "ok"],
    ["kubernetes/rollout-status", api, "ok"],
    ["kubernetes/rollout-status", { ...api, kind: "pod" }, BAD],
    ["kubernetes/restart-pod", pod, "ok"],
    ["kubernetes/restart-pod", { ...pod, pod: "../x" }, BAD],
    ["kubernetes/rollout-restart", api, "ok"],
    ["kubernetes/scale", { ...api, replicas: 0 }, "ok"],
    ["kubernetes/scale", { ...api, replicas: 1000 }, "ok"],
    ["kubernetes/scale", { ...api, replicas: 1001 }, BAD],
    ["kubernetes/scale", { ...api, replicas: -1 }, BAD],
    ["kubernetes/scale", { ...api, replicas: "3" }, BAD],
    ["kubernetes/scale", { ...api, replicas: null }, BAD],
    ["kubernetes/scale", { ...api, kind: "daemonset", replicas: 3 }, BAD],
    ["kubernetes/delete-pod", { ...pod, gracePeriodSeconds: 3600 }, "ok"],
    ["kubernetes/delete-pod", { ...pod, gracePeriodSeconds: 3601 }, BAD],
    ["debug/exec", { namespace: "shop", mode: "exec", clientKey: "k".repeat(43) }, "ok"],
    ["debug/exec", { namespace: "shop", mode: "exec" }, BAD],
    ["debug/exec", { namespace: "shop", mode: "exec", clientKey: "k".repeat(43), ports: [80] }, BAD],
    ["debug/port-forward", { namespace: "shop", mode: "port-forward", clientKey: "k".repeat(43), ports: [80] }, "ok"],
    ["debug/read", { namespace: "shop", mode: "exec", clientKey: "k".repeat(43) }, BAD],
    ["debug/logs", { namespace: "shop", clientKey: "k".repeat(43) }, BAD],
  ])("%s %j → %s", (command, params, expected) => {
    const schema = schemaOf(command);
    expect(schema).toBeDefined();
    expect(verdict([params, schema])).toBe(expected);
  });
});

describe("limits", () => {
  const filled = (bytes: number): Params => ({ a: "x".repeat(bytes - 8) });
  const keys = (count: number): Params => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]));
  const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
  const LARGE = "PARAMS_TOO_LARGE";
  const LONG = "INVALID_OPERATION_PARAMS";
  it.each<[string, Params[], string]>([
    ["4096 bytes", [filled(4096)], "ok"],
    ["4097 bytes", [filled(4097)], LARGE],
    ["4096 characters of two bytes", [{ a: "é".repeat(4088) }], LARGE],
    ["32 keys", [keys(32)], "ok"],
    ["33 keys", [keys(33)], LARGE],
    ["8 lines of 4096 bytes", Array.from({ length: 8 }, () => filled(4096)), "ok"],
    ["and one of two bytes", [...Array.from({ length: 8 }, () => filled(4096)), {}], LARGE],
    ["nested 100 000 deep", [{ a: nested(100_000) }], LARGE],
    ["nested as deep as bytes allow", [{ a: nested(2044) }], LARGE],
    ["nested 17 deep", [{ a: nested(16) }], LARGE],
    ["nested 16 deep", [{ a: nested(15) }], "ok"],
    ["spaces shown as 8192 characters", [{ a: "\u00a0".repeat(1364) }], "ok"],
    ["and one more", [{ a: "\u00a0".repeat(1365) }], LONG],
    ["fractions", [{ a: Array.from({ length: 1000 }, () => 0.5) }], LONG],
    ["8 lines shown as 8192 characters", Array.from({ length: 8 }, () => ({ a: "\u00a0".repeat(1364) })), "ok"],
    ["9 of them", Array.from({ length: 9 }, () => ({ a: "\u00a0".repeat(1364) })), LONG],
    ["emoji", [{ a: "\u{1f600}".repeat(1022) }], "ok"],
    ["signs that are newer than a server's tables", [{ a: "\u{1fae9}".repeat(1022) }], LONG],
  ])("%s", (_, lines, expected) => {
    expect(verdict(...lines.map((params) => [params, undefined] as const))).toBe(expected);
  });
});

describe("values that do not survive the way", () => {
  const BAD = "INVALID_OPERATION_PARAMS";
  it.each<[string, string, string]>([
    ["the largest safe integer", "9007199254740991", "ok"],
    ["one more", "9007199254740992", BAD],
    ["what parses to a rounded number", "9007199254740993", BAD],
    ["negative", "-9007199254740992", BAD],
    ["written as a power", "1e30", BAD],
    ["nested", '[{"x":[9007199254740992]}]', BAD],
    ["a fraction", "0.1", "ok"],
    ["minus zero", "-0", "ok"],
    ["line break and tab", '"a\\n\\tb"', "ok"],
    ["carriage return", '"a\\rb"', BAD],
    ["NUL", '"a\\u0000b"', BAD],
    ["right-to-left override", '"a\\u202eb"', BAD],
    ["zero-width space", '"a\\u200bb"', BAD],
    ["Hangul filler", '"\\u3164"', BAD],
    ["lone surrogate", '"\\ud800"', BAD],
    ["half a character in a key", '{"\\ud800":1}', BAD],
    ["bad key", '{"a\\u202eb":1}', BAD],
    ["emoji", '"\u{1F600}"', "ok"],
  ])("%s", (_, text, expected) => {
    expect(verdict([{ value: JSON.parse(text) }, undefined])).toBe(expected);
  });

  it("a schema from before schemas had bounds refuses, and says what to mend", () => {
    const schema = { type: "object", properties: { a: { $ref: "#/properties/a" } } };
    expect(verdict([{}, schema])).toBe(BAD);
    expect(() => checkParams([{ path: "/params", params: {}, schema }])).toThrowError(
      expect.objectContaining({
        message: expect.stringContaining(
          "/params cannot be judged: the operation's paramsSchema: /properties/a/$ref is not allowed",
        ),
      }),
    );
  });

  it("points to the place", () => {
    const params = { "a/b": [{ c: 2 ** 53 }] };
    expect(() => checkParams([{ path: "/params", params, schema: undefined }])).toThrowError(
      expect.objectContaining({
        detail: expect.objectContaining({
          context: { issues: [{ path: "/params/a~1b/0/c", message: expect.stringContaining("2^53") }] },
        }),
      }),
    );
  });

  it("what passes hashes the same after any number of parses", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (params) => {
        if (verdict([params, undefined]) !== "ok") return;
        const stored: unknown = JSON.parse(JSON.stringify(params));
        expect(canonicalJson(stored)).toBe(canonicalJson(params));
      }),
      { numRuns: runs(1000) },
    );
  });
});
