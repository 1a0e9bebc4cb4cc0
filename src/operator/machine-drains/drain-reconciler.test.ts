import { expect, test } from "vitest";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import { mergePolicies } from "../gate/policy.ts";
import { approvedGrant, at, DEPLOYMENT_ID, NAMESPACE } from "../testing/fixtures.ts";
import { reconcileDrain } from "./drain-reconciler.ts";

const LINE = { command: "machines/drain", summary: "its disk fails", params: { machineId: "m-3" } };
const THEIRS = {
  ...{ type: "Progressing", status: "False" as const, reason: "AwaitingApproval", message: "" },
  ...{ observedGeneration: 1, lastTransitionTime: "2026-01-01T10:29:51Z" },
};

function drainOf(more: object = {}, status?: MachineDrainStatus, metadata: object = {}): MachineDrain {
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "MachineDrain",
    metadata: {
      ...{ name: "m-3-1", namespace: NAMESPACE, uid: "d", resourceVersion: "1", generation: 2 },
      creationTimestamp: "2026-01-01T10:29:50Z",
      ...metadata,
    },
    spec: {
      nodeName: "m-3",
      requested: { deploymentId: DEPLOYMENT_ID, machineId: "m-3", revision: 1 },
      ...more,
    },
    ...(status && { status }),
  } as MachineDrain;
}

async function reconciled(drain: MachineDrain | undefined, grants: readonly AccessGrant[] = [], lost = false) {
  const written: MachineDrainStatus[] = [];
  const ports = {
    clock: { wallNow: () => at("10:30:00") },
    fence: () => {
      if (lost) throw new Error("another leads");
    },
    drain: () => drain,
    grants: () => grants,
    facts: () => ({
      policy: mergePolicies([]),
      deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: ["shop"] } }],
      named: new Map(),
    }),
    writeStatus: async (_: MachineDrain, status: MachineDrainStatus) => void written.push(status),
  };
  const context = { signal: new AbortController().signal } as Parameters<typeof reconcileDrain>[2];
  const result = await reconcileDrain("g/m-3-1", ports, context);
  return { written, result };
}
const granted = (): AccessGrant => approvedGrant({ commands: [LINE], risk: "mutating" });

test("a wish waits with the reason and is looked at again, because windows move by time alone", async () => {
  const { written, result } = await reconciled(drainOf());
  expect(written).toEqual([
    {
      conditions: [
        {
          ...{ type: "Approved", status: "False", reason: "NoGrant", observedGeneration: 2 },
          message: "machines/drain of m-3 needs an approved access grant with a line for it",
          lastTransitionTime: "2026-01-01T10:30:00Z",
        },
      ],
    },
  ]);
  expect(result).toEqual({ requeueAfterMs: 15_000 });
});

test("an approved line is said beside the machine controller's own words, which stay", async () => {
  const status = { state: "Waiting", conditions: [THEIRS] } as MachineDrainStatus;
  const { written } = await reconciled(drainOf({}, status), [granted()]);
  expect(written[0]).toMatchObject({ state: "Waiting", conditions: [THEIRS, { type: "Approved", status: "True" }] });
});

test.each<readonly [string, MachineDrain | undefined]>([
  ["is gone", undefined],
  ["a person made", drainOf({ requested: undefined })],
  ["is being deleted", drainOf({}, undefined, { deletionTimestamp: "2026-01-01T10:29:59Z" })],
  ["failed", drainOf({}, { state: "Failed" } as MachineDrainStatus)],
  ["is drained", drainOf({}, { state: "Drained" } as MachineDrainStatus)],
])("a drain that %s is left alone", async (_, drain) => {
  expect(await reconciled(drain, [granted()])).toEqual({ written: [], result: undefined });
});

test("a removal is judged though its node is drained", async () => {
  const requested = { deploymentId: DEPLOYMENT_ID, machineId: "m-3", revision: 1, remove: true };
  const { written } = await reconciled(drainOf({ requested }, { state: "Drained" } as MachineDrainStatus), [granted()]);
  expect(written[0]?.conditions).toMatchObject([{ type: "Approved", status: "False", reason: "NoGrant" }]);
});

test("without the lead nothing is written", async () => {
  await expect(reconciled(drainOf(), [granted()], true)).rejects.toThrow("another leads");
});
