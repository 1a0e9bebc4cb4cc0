import { describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { REMOVED_LABEL } from "../../crds/group.ts";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { reconcileEnded } from "./retention.ts";

const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
const DAY_MS = 86_400_000;
const ENDED = "2026-01-02T00:00:00Z";

type Changes = Partial<Pick<MachineJoin, "spec" | "status" | "metadata">>;
function join(state: NonNullable<MachineJoin["status"]>["state"], changes: Changes = {}): MachineJoin {
  const asked = {
    pool: "workers",
    machineId: "m-7",
    nodeName: "m-7",
    publicKey: "0".repeat(64),
    request: "",
    facts: {},
  };
  const condition = {
    type: "Approved",
    status: "False" as const,
    reason: "NameTaken",
    message: "",
    lastTransitionTime: ENDED,
  };
  return {
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachineJoin" },
    metadata: {
      ...{ name: "workers-0", namespace: "sallyport-grants", uid: "u", resourceVersion: "1" },
      ...{ creationTimestamp: "2026-01-01T00:00:00Z", ...changes.metadata },
    },
    spec: { ...asked, tokenId: "t", ...changes.spec },
    status: { ...(state !== undefined && { state }), conditions: [condition] },
  };
}
const said = (spec: object): Changes => ({ spec: spec as MachineJoin["spec"] });
const named = (metadata: object): Changes => ({ metadata: metadata as MachineJoin["metadata"] });

async function outcome(of: MachineJoin, days: number, obstacle?: string, error?: ApiError): Promise<unknown> {
  const done: string[] = [];
  const ports = {
    now: () => new Date(Date.parse(ENDED) + days * DAY_MS),
    fence: () => done.push("fence"),
    obstacle: () => obstacle,
    join: () => of,
    delete: async () => {
      if (error !== undefined) throw error;
      done.push("deleted");
    },
  };
  return (await reconcileEnded("workers-0", ports, context)) ?? done.join();
}

describe("a join that has ended", () => {
  test.each(["Denied", "Expired"] as const)("is deleted a week after it was %s, and not before", async (state) => {
    expect(await outcome(join(state), 6)).toEqual({ requeueAfterMs: DAY_MS });
    expect(await outcome(join(state), 7)).toBe("fence,deleted");
  });

  test.each<readonly [string, MachineJoin]>([
    ["it waits", join("Waiting")],
    ["it waits and nothing is said of it", join(undefined)],
    ["its machine has joined", join("Joined")],
    ["its certificate is out", join("Issued")],
    ["its machine was removed", join("Removed")],
    ["it is a tombstone, whatever its state", join("Expired", named({ labels: { [REMOVED_LABEL]: "true" } }))],
    ["a person refused it", join("Denied", said({ deniedReason: "not ours" }))],
    ["it is being deleted", join("Denied", named({ deletionTimestamp: ENDED }))],
  ])("stays where %s", async (_, each) => expect(await outcome(each, 1_000)).toBe(""));

  test("stays while a policy is missing that bounds this process", async () => {
    expect(await outcome(join("Denied"), 8, "admission policies are missing")).toBe("");
  });

  test("is left to the next look when it has changed, and to the queue when the API server is away", async () => {
    expect(
      await outcome(join("Denied"), 8, undefined, new ApiError("newer", { status: 409, reason: "Conflict" })),
    ).toBe("fence");
    const away = new ApiError("away", { status: 503, reason: "ServiceUnavailable" });
    await expect(outcome(join("Denied"), 8, undefined, away)).rejects.toThrow("away");
  });
});
