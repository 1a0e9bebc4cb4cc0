import { describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import type { MachinePool, MachinePoolStatus } from "../../crds/kinds/machine-pool.ts";
import { reconcilePool } from "./pool-status.ts";

const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
const APPROVES = { serving: "approve", apiServer: "https://10.0.0.10:6443" } as const;

async function told(
  spec: Partial<MachinePool["spec"]>,
  obstacle?: string,
  before?: MachinePoolStatus,
): Promise<unknown> {
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
  await reconcilePool("workers", ports, context);
  const found = written[0]?.conditions?.find(({ type }) => type === "ServingApproved");
  return found === undefined ? undefined : [found.status, found.reason];
}

describe("what a pool says of certificates to serve with", () => {
  test.each<readonly [string, Partial<MachinePool["spec"]>, string | undefined, unknown]>([
    ["nothing where it asks for none", {}, undefined, undefined],
    ["that they are approved", APPROVES, undefined, ["True", "Approves"]],
    ["that the right is missing", APPROVES, "may not", ["False", "RightMissing"]],
    ["that no API server is named", { serving: "approve" }, undefined, ["False", "NoApiServer"]],
  ])("%s", async (_, spec, obstacle, wanted) => expect(await told(spec, obstacle)).toEqual(wanted));

  test("nothing any more when it asks for none any more", async () => {
    const time = { lastTransitionTime: "2026-01-01T00:00:00Z", message: "" };
    const conditions = [{ type: "ServingApproved", status: "True" as const, reason: "Approves", ...time }];
    expect(await told({ serving: "selfSigned" }, undefined, { conditions })).toBeUndefined();
  });
});
