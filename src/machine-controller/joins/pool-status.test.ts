import { describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import type { MachinePool, MachinePoolStatus } from "../../crds/kinds/machine-pool.ts";
import { reconcilePool } from "./pool-status.ts";

const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
const APPROVES = { serving: "approve", apiServer: "https://10.0.0.10:6443" } as const;

async function look(spec: Partial<MachinePool["spec"]>, obstacle?: string, before?: MachinePoolStatus) {
  const pool: MachinePool = {
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachinePool" },
    metadata: {
      ...{ name: "workers", namespace: "sallyport-grants", uid: "u", resourceVersion: "1" },
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { deploymentId: "dep_1", ...spec },
    ...(before && { status: before }),
  };
  const written: MachinePoolStatus[] = [];
  const ports = {
    now: () => new Date("2026-01-02T00:00:00Z"),
    fence: () => undefined,
    pool: () => pool,
    pools: () => [pool],
    joins: () => [],
    obstacle: () => undefined,
    servingObstacle: () => obstacle,
    writeStatus: async (_: MachinePool, status: MachinePoolStatus) => written.push(status),
  };
  const result = await reconcilePool("workers", ports, context);
  return { status: written[0], result };
}

async function told(type: string, ...given: Parameters<typeof look>): Promise<unknown> {
  const { status } = await look(...given);
  const found = status?.conditions?.find((each) => each.type === type);
  return found === undefined ? undefined : [found.status, found.reason];
}

describe("what a pool says of certificates to serve with", () => {
  test.each<readonly [string, Partial<MachinePool["spec"]>, string | undefined, unknown]>([
    ["nothing where it asks for none", {}, undefined, undefined],
    ["that they are approved", APPROVES, undefined, ["True", "Approves"]],
    ["that the right is missing", APPROVES, "may not", ["False", "RightMissing"]],
    ["that no API server is named", { serving: "approve" }, undefined, ["False", "NoApiServer"]],
  ])("%s", async (_, spec, obstacle, wanted) => expect(await told("ServingApproved", spec, obstacle)).toEqual(wanted));

  test("nothing any more when it asks for none any more", async () => {
    const time = { lastTransitionTime: "2026-01-01T00:00:00Z", message: "" };
    const conditions = [{ type: "ServingApproved", status: "True" as const, reason: "Approves", ...time }];
    expect(await told("ServingApproved", { serving: "selfSigned" }, undefined, { conditions })).toBeUndefined();
  });
});

describe("whether machines may ask to join", () => {
  const saidAt = (at: string): MachinePoolStatus => ({ joinServer: { url: "https://join.example", pins: [], at } });

  test.each<readonly [string, MachinePoolStatus | undefined, unknown, unknown]>([
    ["not while no join server has said where it is", undefined, ["False", "NoJoinServer"], undefined],
    [
      "for three minutes after its last word",
      saidAt("2026-01-01T23:57:01Z"),
      ["True", "Ready"],
      { requeueAfterMs: 1_000 },
    ],
    ["not after them", saidAt("2026-01-01T23:57:00Z"), ["False", "JoinServerSilent"], undefined],
  ])("%s", async (_, before, wanted, result) => {
    expect(await told("Ready", {}, undefined, before)).toEqual(wanted);
    expect((await look({}, undefined, before)).result).toEqual(result);
  });
});
