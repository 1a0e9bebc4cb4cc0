import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { JoinWorld, machineRequest, pool, TOKEN } from "../testing/join-world.ts";

let world: JoinWorld;
let machines: Readonly<Record<string, ReturnType<typeof machineRequest>>>;
beforeAll(() => {
  machines = { "m-1": machineRequest("m-1"), "m-2": machineRequest("m-2") };
});
beforeEach(async () => {
  world = await JoinWorld.start();
});
afterEach(() => world.close());

const ask = (nodeName: string) => {
  const body = JSON.stringify({ machineId: nodeName, nodeName, request: machines[nodeName]?.request, facts: {} });
  return world.ask("POST", "/v1/join", { body, token: TOKEN });
};
const MINUTE = 60_000;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
const said = (type: string, status: "True" | "False", lastTransitionTime: string) => ({
  ...{ type, status, reason: "SignerSilent", message: "", lastTransitionTime },
});
const broken = (each: MachinePool): MachinePool => ({
  ...each,
  status: { conditions: [said("SignerWorks", "False", ago(0))] },
});
function joinName(): string {
  const [name] = world.joins.keys();
  if (name === undefined) throw new Error("no join");
  return name;
}
const fails = (at: string): void =>
  world.report(joinName(), { state: "Denied", conditions: [said("Signed", "False", at)] });

test("while the cluster's signer signs nothing, new machines are told so before a token is used; one that asked is not", async () => {
  const first = await ask("m-1");
  world.pools = world.pools.map(broken);
  fails(ago(5 * MINUTE));
  const { status, json, headers } = await ask("m-2");
  expect({ status, code: json.code }).toEqual({ status: 503, code: "SIGNER_BROKEN" });
  expect(json.message).toContain("SignerSilent");
  expect(Number(headers["retry-after"])).toBeGreaterThan(500);
  expect(Number(headers["retry-after"])).toBeLessThanOrEqual(600);
  expect(world.rejected).toEqual(["signer"]);
  expect(world.redeemed).toHaveLength(1);
  expect((await ask("m-1")).json.uid).toBe(first.json.uid);
});

test("a quarter of an hour after its last failure a machine may try the signer, and at once when the failures are deleted", async () => {
  await ask("m-1");
  world.pools = world.pools.map(broken);
  fails(ago(16 * MINUTE));
  expect((await ask("m-2")).status).toBe(202);
  fails(ago(MINUTE));
  world.joins.delete([...world.joins.keys()][1] ?? "");
  expect((await ask("m-2")).status).toBe(503);
  world.joins.clear();
  expect((await ask("m-2")).status).toBe(202);
});

test("of two pools the one whose signer fails refuses for its own deployment", async () => {
  await ask("m-1");
  fails(ago(MINUTE));
  world.pools = [broken(pool("workers", "dep_1")), pool("others", "dep_2")];
  expect((await ask("m-2")).status).toBe(503);
  world.deploymentId = "dep_2";
  expect((await ask("m-2")).status).toBe(202);
});

test.each<readonly [string, () => void, string]>([
  ["is deleted", () => (world.pools = []), "was deleted"],
  [
    "says no API server any more",
    () => (world.pools = world.pools.map((each) => ({ ...each, spec: without(each.spec) }))),
    "API server",
  ],
])(
  "a signed machine whose pool %s is told so, and gets its certificate when that is mended",
  async (_, spoil, words) => {
    const { pools } = world;
    world.apiServer = "";
    const { json } = await ask("m-1");
    const certificate = machines["m-1"]?.certificate ?? "";
    world.report(joinName(), { state: "Issued", certificate });
    spoil();
    const poll = () => world.ask("GET", `/v1/join/${json.uid}?seen=Signing`);
    expect(await poll()).toMatchObject({
      status: 409,
      json: { code: "NO_POOL", message: expect.stringContaining(words) },
    });
    world.pools = pools;
    expect(await poll()).toMatchObject({ status: 200, json: { state: "Issued", certificate } });
  },
);

function without({ apiServer: _, ...rest }: MachinePool["spec"]): MachinePool["spec"] {
  return rest;
}
