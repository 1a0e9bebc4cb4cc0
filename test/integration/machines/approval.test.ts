import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import type { AccessGrant } from "../../../src/crds/kinds/access-grant.ts";
import { type MachineDrain, machineDrains } from "../../../src/crds/kinds/machine-drain.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { WITH_MACHINES } from "../../world/installation.ts";
import { condition, ours } from "../../world/objects.ts";
import { GRANTS } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { DEPLOYMENT_ID, OperatorWorld, type RunningOperator } from "../operator/operator-world.ts";

// The operator judges drains that the platform asks for, on a real API server with its policies.

const cluster = useCluster({ holds: WITH_MACHINES });
let world: OperatorWorld;
let operator: RunningOperator;
let machines = 0;

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
  await cluster().apply([...openMachines(DEFAULT_NAMES)]);
});
afterAll(() => world?.close());
beforeEach(() => {
  operator = world.start("machines-operator", { machinesEnabled: true });
});
afterEach(async () => {
  await operator.stop();
  await rules(null);
});

const rules = (said: readonly object[] | null): Promise<unknown> =>
  world.admin.patch(
    operationPolicies,
    { namespace: GRANTS, name: "default" },
    { type: "merge", body: { spec: { rules: said } } },
    {},
    signal(),
  );

/** Asks for a drain, as the agent. */
function asked(remove = false): Promise<MachineDrain> {
  machines += 1;
  const machineId = `m-${machines}`;
  const requested = { deploymentId: DEPLOYMENT_ID, machineId, revision: 1, ...(remove && { remove }) };
  const drain = ours("MachineDrain", `${machineId}-1`, { nodeName: machineId, requested });
  return world.agent.create<MachineDrain>(machineDrains, drain, signal());
}

const read = (name: string): Promise<MachineDrain | undefined> =>
  world.admin.get<MachineDrain>(machineDrains, { namespace: GRANTS, name }, signal());

/** The drain, once its condition Approved is `said`. */
const judged = ({ metadata }: MachineDrain, said: string): Promise<MachineDrain | undefined> =>
  eventually(
    () => read(metadata.name),
    (drain) => drain !== undefined && condition(drain, "Approved") === said,
  );

/** A request for this drain, which waits for a person. */
async function requestFor({ spec }: MachineDrain): Promise<AccessGrant> {
  const { machineId, remove } = spec.requested ?? {};
  const command = remove === true ? "machines/remove" : "machines/drain";
  const grant = await world.ask([{ command, params: { machineId } }], remove === true ? "destructive" : "mutating");
  return await world.grant(grant, ({ status }) => status?.state === "Pending");
}

test("a policy that names drains lets them go, and no removal", async () => {
  await rules([{ pattern: "machines/drain", decision: "auto" }]);
  await judged(await asked(), "True/PolicyAuto");
  await judged(await asked(true), "False/NoGrant");
});

test("a policy that denies holds, though a grant was approved; without it the same grant counts", async () => {
  const drain = await asked();
  await rules([{ pattern: "machines/*", decision: "deny" }]);
  await judged(drain, "False/PolicyDenied");
  await rules(null);
  await judged(drain, "False/NoGrant");
});

test.each([false, true])("a grant that a person approves is used by the drain, removal: %s", async (remove) => {
  const drain = await asked(remove);
  await judged(drain, "False/NoGrant");
  const grant = await requestFor(drain);
  await world.decide(grant, { approvedForMinutes: 30, approvedPlanHash: grant.spec.planHash });
  await judged(drain, "True/GrantMatched");
  const { status } = await world.grant(grant, ({ status }) => status?.commands?.[0]?.commandId !== undefined);
  expect(status?.commands?.[0]).toMatchObject({ state: "Starting", commandId: `drain-${drain.metadata.uid}` });
  // The line is used: the same wish again waits for another grant.
  const key = { namespace: GRANTS, name: drain.metadata.name };
  await world.agent.delete(machineDrains, key, {}, signal());
  await world.grant(grant, ({ status }) => status?.commands?.[0]?.state === "NotStarted");
});

test("a grant that is revoked before the drain begins takes the word back", async () => {
  const drain = await asked();
  const grant = await requestFor(drain);
  await world.decide(grant, { approvedForMinutes: 30, approvedPlanHash: grant.spec.planHash });
  await judged(drain, "True/GrantMatched");
  await world.decide(grant, { revokedReason: "not today" });
  await judged(drain, "False/NoGrant");
});

test("a drain of a person is not judged", async () => {
  await world.admin.create(machineDrains, ours("MachineDrain", "by-hand", { nodeName: "by-hand" }), signal());
  await judged(await asked(), "False/NoGrant");
  expect((await read("by-hand"))?.status).toBeUndefined();
});
