import { describe, expect, test } from "vitest";
import type { Command } from "../../contract/operations/commands.ts";
import type { OperationInvocationStatus } from "../../crds/kinds/operation-invocation.ts";
import { COMMAND, commandRecord, DEPLOYMENT, NAMESPACE, NOW, storedInvocation } from "../testing/sample.ts";
import { type CommandFacts, nextStep } from "./command.ts";
import { readListedCommand } from "./listed-command.ts";

function world(changes: Partial<Command> = {}, more: Partial<CommandFacts> = {}): CommandFacts {
  const command = readListedCommand(commandRecord(changes));
  if (command === undefined) throw new Error("the sample must be for the operator");
  return { command, accepted: true, invocation: undefined, seen: false, ...more };
}
const step = (each: CommandFacts, now = NOW) => nextStep(each, NAMESPACE, now);
const DISPATCHED = { state: "DISPATCHED" } as const;

function created(changes: Partial<Command> = {}) {
  const next = step(world({ ...DISPATCHED, ...changes }));
  if (next.do !== "create") throw new Error(`expected create, got ${next.do}`);
  return next.invocation;
}
const withStatus = (status: OperationInvocationStatus): CommandFacts =>
  world(DISPATCHED, { invocation: storedInvocation(created(), status), seen: true });

describe("a command", () => {
  test("is claimed at the platform before anything is made here", () => {
    expect(step(world())).toEqual({ do: "dispatch", dispatchedAt: NOW.toISOString() });
  });

  test("of a deployment that the customer does not accept is neither claimed nor made", () => {
    expect(step(world({}, { accepted: false }))).toEqual({ do: "wait" });
    expect(step(world(DISPATCHED, { accepted: false }))).toMatchObject({
      do: "complete",
      end: { state: "FAILED", error: { code: "COMMAND_HELD" } },
    });
  });

  test("that ran before the customer took the acceptance back is still reported", () => {
    const ran = withStatus({ state: "Succeeded", finishedAt: "2026-01-01T11:59:30Z" });
    expect(step({ ...ran, accepted: false })).toMatchObject({ do: "complete", end: { state: "SUCCEEDED" } });
  });

  test("becomes an invocation named after it once it is claimed", () => {
    expect(created({ accessRequestId: `ar_${"r".repeat(28)}`, name: "kubernetes/scale" })).toEqual({
      apiVersion: "sallyport.dev/v1alpha1",
      kind: "OperationInvocation",
      metadata: { name: `cmd-${"c".repeat(28)}`, namespace: NAMESPACE },
      spec: {
        commandId: COMMAND,
        deploymentId: DEPLOYMENT,
        plugin: "kubernetes",
        operation: "scale",
        tier: "mutating",
        params: { namespace: "shop" },
        deadline: "2026-01-01T13:00:00.000Z",
        grantName: `ar-${"r".repeat(28)}`,
        attempt: 1,
      },
    });
  });

  test("of an unknown operation counts as destructive", () => {
    expect(created({ name: "acme/explode" }).spec.tier).toBe("destructive");
  });

  test("waits while the operator has not ended it", () => {
    for (const state of ["Pending", "Running"] as const) expect(step(withStatus({ state })).do).toBe("wait");
    expect(step(world(DISPATCHED, { invocation: storedInvocation(created()), seen: true })).do).toBe("wait");
  });

  test("that is over at the platform is forgotten", () => {
    expect(step(world({ state: "SUCCEEDED" }))).toEqual({ do: "forget" });
  });

  test.each([
    ["just before its deadline is claimed", "2026-01-01T12:59:59.999Z", "dispatch"],
    ["at its deadline is left to the platform", "2026-01-01T13:00:00.000Z", "forget"],
  ])("%s", (_, now, expected) => {
    expect(step(world(), new Date(now)).do).toBe(expected);
  });

  test("claimed, but past its deadline before it was made, expires and is not run", () => {
    expect(step(world(DISPATCHED), new Date("2026-01-01T13:00:00Z"))).toMatchObject({
      do: "complete",
      end: { state: "EXPIRED" },
    });
  });

  test("whose invocation was deleted is not run again", () => {
    expect(step(world(DISPATCHED, { seen: true }))).toMatchObject({
      end: { state: "FAILED", error: { code: "OUTCOME_UNKNOWN" } },
    });
  });

  test.each([
    ["other params", { params: { namespace: "other" } }],
    ["another operation", { name: "kubernetes/delete-pod" }],
    ["another grant", { accessRequestId: `ar_${"x".repeat(28)}` }],
    ["an id that differs only in case", { id: `cmd_${"c".repeat(28)}` }],
  ])("is not answered with the result of an invocation with %s", (_, changes) => {
    const invocation = storedInvocation(created(), { state: "Succeeded", result: { secret: 1 } });
    expect(step(world({ ...DISPATCHED, ...changes }, { invocation, seen: true }))).toMatchObject({
      end: { state: "FAILED", error: { code: "COMMAND_HELD" } },
    });
  });
});

describe("the end of an invocation becomes the end of its command", () => {
  const finishedAt = "2026-01-01T12:00:03Z";
  test.each<[string, OperationInvocationStatus, object]>([
    [
      "success with its result",
      { state: "Succeeded", finishedAt, result: { pods: 3 } },
      { state: "SUCCEEDED", completedAt: finishedAt, result: { pods: 3 }, responseSizeBytes: 10 },
    ],
    [
      "failure with its code",
      { state: "Failed", finishedAt, error: { code: "HANDLER_TIMEOUT", message: "60 s" } },
      { state: "FAILED", error: { code: "HANDLER_TIMEOUT", message: "60 s", internal: false } },
    ],
    [
      "failure with a code the platform has no room for",
      { state: "Failed", finishedAt, error: { code: "someThing", message: "x" } },
      { state: "FAILED", error: { code: "HANDLER_ERROR" } },
    ],
    [
      "held with the reason",
      {
        state: "Held",
        conditions: [
          {
            type: "Authorized",
            status: "False",
            reason: "ParamsMismatch",
            message: "line 0 has other params",
            lastTransitionTime: finishedAt,
          },
        ],
      },
      { state: "FAILED", error: { code: "COMMAND_HELD", message: "ParamsMismatch: line 0 has other params" } },
    ],
    ["expired", { state: "Expired" }, { state: "EXPIRED" }],
    ["unknown", { state: "Unknown" }, { state: "FAILED", error: { code: "OUTCOME_UNKNOWN" } }],
  ])("%s", (_, status, end) => {
    expect(step(withStatus(status))).toMatchObject({ do: "complete", end });
  });

  test("a result too large to report says so", () => {
    const next = step(withStatus({ state: "Succeeded", finishedAt, result: { log: "x".repeat(200_000) } }));
    expect(next).toMatchObject({ end: { state: "SUCCEEDED", result: { truncated: true, sizeBytes: 200_010 } } });
  });
});

describe("what the platform lists", () => {
  test.each([
    ["params with an unsafe integer", { params: { replicas: 2 ** 53 } }, "params.replicas"],
    ["a name that is no operation", { name: "rm -rf" }, "name"],
    ["params that are no object", { params: [1] as unknown }, "params"],
  ])("with %s is held, and not claimed", (_, changes, where) => {
    expect(step(world(changes))).toMatchObject({
      do: "complete",
      end: { error: { code: "COMMAND_HELD", message: expect.stringContaining(where) } },
    });
  });

  test("for another target is not this agent's", () => {
    expect(
      readListedCommand(commandRecord({ target: { resourceId: "web", resourceType: "container" } })),
    ).toBeUndefined();
    expect(readListedCommand(commandRecord({ target: null }))).toBeUndefined();
  });

  test("in any shape never throws", () => {
    for (const item of [undefined, null, 7, [], {}, { id: COMMAND }, commandRecord({ name: 7 as never })]) {
      expect(() => readListedCommand(item)).not.toThrow();
    }
  });
});
