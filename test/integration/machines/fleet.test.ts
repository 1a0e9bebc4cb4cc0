import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { CORDONED_BY_ANNOTATION, DEFAULT_NAMES, MACHINES_ACCOUNT } from "../../../src/crds/group.ts";
import type { MachineDrain } from "../../../src/crds/kinds/machine-drain.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { SHOP } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { DrainWorld, type NodeObject } from "./drain-world.ts";
import { DRAINED, ELSEWHERE, FIRST_NODES, FREE, HELD, localPods, PACED, REPLICAS, seedFleet } from "./fleet.ts";
import { type Asked, askedIn, auditOf, FleetWatch } from "./fleet-watch.ts";
import { Replicas } from "./replicas.ts";

const NODES = 1_000;
const PODS = 20_000;
/** Of a workload whose budget lets two be away. */
const FEWER = REPLICAS - 2;

const folder = mkdtempSync(path(tmpdir(), "sallyport-fleet-"));
const [policy, audit] = [path(folder, "policy.json"), path(folder, "audit.jsonl")];
writeFileSync(
  policy,
  JSON.stringify(auditOf(`system:serviceaccount:${DEFAULT_NAMES.systemNamespace}:${MACHINES_ACCOUNT}`)),
);
const cluster = useCluster({
  controllers: true,
  kwok: { nodes: FIRST_NODES, leaseSeconds: 400 },
  // Blocking: each answered request is in the log.
  apiserverArgs: [`--audit-policy-file=${policy}`, `--audit-log-path=${audit}`, "--audit-log-mode=blocking"],
});
let world: DrainWorld;
let watch: FleetWatch;
let replicas: Replicas;

beforeAll(async () => {
  world = await DrainWorld.create(cluster());
  await seedFleet(world, NODES, PODS);
  watch = new FleetWatch(world.admin);
  await watch.synced();
  replicas = await Replicas.start(world.admin, cluster().dir, {
    ...world.env,
    // As shipped: an API server that is busy with a thousand nodes answers late, and each look at policies is 16 requests.
    SALLYPORT_LEASE_DURATION: "15s",
    SALLYPORT_RENEW_DEADLINE: "10s",
    SALLYPORT_MACHINES_POLICY_CHECK_INTERVAL: "30s",
  });
}, 900_000);
afterAll(async () => {
  await replicas?.stop();
  await watch?.stop();
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function cordoned(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { metadata, spec } of world.admin.list<NodeObject>(resources.nodes, {}, signal())) {
    const isMarked = metadata.annotations?.[CORDONED_BY_ANNOTATION] !== undefined;
    if (isMarked || spec.unschedulable === true) found.push(metadata.name);
  }
  return found.sort();
}

async function podsElsewhere(): Promise<number> {
  let found = 0;
  const options = { namespace: SHOP, labelSelector: `app=${ELSEWHERE}` };
  for await (const { metadata } of world.admin.list(resources.pods, options, signal())) {
    if (metadata.deletionTimestamp === undefined) found += 1;
  }
  return found;
}

const isEviction = ({ what }: Asked): boolean => what === "create pods/eviction";
const namesOf = (asked: readonly Asked[], code: number): readonly string[] =>
  asked.filter((each) => isEviction(each) && each.code === code).map(({ name }) => name);
/** All but the pod whose budget allows none has left its node. */
const isHeld = ({ status }: MachineDrain): boolean =>
  status?.state === "Blocked" && status.summary === "pdb:1" && status.left?.startsWith("1/") === true;
const isDrained = ({ status }: MachineDrain): boolean => status?.state === "Drained";

fullOnly(
  "50 of 1,000 nodes are drained at once, and the controller is killed: all end, and no budget is ever broken",
  async () => {
    const [local, elsewhere] = [await localPods(world), await podsElsewhere()];
    expect([local.length, elsewhere]).toEqual([2 * DRAINED.length, PODS - DRAINED.length * 20]);
    for (const app of HELD) watch.require(app, REPLICAS);
    for (const app of PACED) watch.require(app, FEWER);
    await Promise.all(DRAINED.map((nodeName) => world.drain({ nodeName })));
    await watch.whenHealthy("free", (count) => count < FREE - 200);
    await replicas.killLeader();
    expect(watch.healthyOf("free")).toBeGreaterThan(0);
    // None waits for another's turn: each has come to the pod whose budget allows none.
    await watch.whenDrains((all) => all.filter(isHeld).length === DRAINED.length);
    for (const app of HELD) {
      watch.require(app, FEWER);
      await world.budget(app, app, { minAvailable: FEWER });
    }
    await watch.whenDrains((all) => all.filter(isDrained).length === DRAINED.length);

    expect(watch.broken).toEqual([]);
    expect(watch.leftOn(DRAINED)).toEqual([]);
    expect(await localPods(world)).toEqual(local);
    expect(await cordoned()).toEqual(DRAINED);
    expect(await podsElsewhere()).toBe(elsewhere);

    const asked = askedIn(audit);
    const accepted = namesOf(asked, 201);
    // A killed process may not hear that it was heard: what it asked for is not asked for again.
    expect(accepted.length).toBe(new Set(accepted).size);
    expect([...namesOf(asked, 404), ...namesOf(asked, 409)]).toEqual([]);
    expect(accepted.filter((name) => !/^(free|held|paced)-/.test(name))).toEqual([]);
    // A budget is asked once for all nodes that wait for it, and then each 5 to 60 s.
    const refused = namesOf(asked, 429);
    expect(refused.length).toBeLessThan((HELD.length + PACED.length) * 15);
    const others = asked.filter((each) => !isEviction(each) && !/ (leases|validatingadmission)/.test(each.what));
    expect(others.length).toBeLessThan(3 * accepted.length);
  },
  900_000,
);
