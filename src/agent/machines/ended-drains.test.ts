import { describe, expect, test } from "vitest";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { context, DEPLOYMENT, kubeError, NAMESPACE } from "../testing/sample.ts";
import { reconcileEndedDrain } from "./ended-drains.ts";

const DAY_MS = 86_400_000;
const ENDED = "2026-01-02T00:00:00Z";
const requested = { deploymentId: DEPLOYMENT, machineId: "m-7", revision: 3 };

function drain(
  state: NonNullable<MachineDrain["status"]>["state"],
  spec: object = { requested },
  metadata: object = {},
): MachineDrain {
  const ended = { type: "Drained", status: "True" as const, reason: "Drained", message: "", lastTransitionTime: ENDED };
  return {
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachineDrain" },
    metadata: {
      ...{ name: "m-7-3", namespace: NAMESPACE, uid: "u", resourceVersion: "1" },
      ...{ creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    },
    spec: { nodeName: "m-7", ...spec },
    status: { ...(state !== undefined && { state }), conditions: [ended] },
  };
}

/** @param nodes when each came to be */
async function outcome(
  of: MachineDrain,
  days: number,
  nodes: Readonly<Record<string, string>> = {},
  error?: Error,
): Promise<unknown> {
  const done: string[] = [];
  const ports = {
    now: () => new Date(Date.parse(ENDED) + days * DAY_MS),
    drain: () => of,
    node: (name: string) => {
      const creationTimestamp = nodes[name];
      return creationTimestamp === undefined ? undefined : { metadata: { creationTimestamp } };
    },
    delete: async ({ metadata }: MachineDrain) => {
      if (error !== undefined) throw error;
      done.push(metadata.name);
    },
  };
  return (await reconcileEndedDrain("m-7-3", ports, context)) ?? done.join();
}

describe("a drain of the platform that has ended", () => {
  test.each(["Drained", "Failed"] as const)("is deleted a week after it was %s, and not before", async (state) => {
    expect(await outcome(drain(state), 6)).toEqual({ requeueAfterMs: DAY_MS });
    expect(await outcome(drain(state), 7, { "m-7": "2026-01-03T00:00:00Z" })).toBe("m-7-3");
    expect(await outcome(drain(state), 7, { "m-8": "2025-12-01T00:00:00Z" })).toBe("m-7-3");
  });

  test.each<readonly [string, MachineDrain, Readonly<Record<string, string>>]>([
    ["its node is there, and would get its pods back", drain("Drained"), { "m-7": "2026-01-01T12:00:00Z" }],
    ["it goes on", drain("Blocked"), {}],
    ["nothing is said of it", drain(undefined), {}],
    ["a person made it", drain("Drained", {}), {}],
    ["it is being deleted", drain("Drained", { requested }, { deletionTimestamp: ENDED }), {}],
  ])("stays where %s", async (_, each, nodes) => expect(await outcome(each, 1_000, nodes)).toBe(""));

  test("may be gone already, and is tried again while the API server is away", async () => {
    expect(await outcome(drain("Drained"), 8, {}, kubeError(404, "NotFound", "gone"))).toBe("");
    const away = kubeError(503, "ServiceUnavailable", "away");
    await expect(outcome(drain("Drained"), 8, {}, away)).rejects.toThrow("away");
  });
});
