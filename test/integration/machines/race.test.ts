import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { MACHINES_ACCOUNT } from "../../../src/crds/group.ts";
import { type MachineJoin, machineJoins } from "../../../src/crds/kinds/machine-join.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { startPlatform } from "../../../src/platform/server.ts";
import { findPostgres } from "../../../src/platform/testing/postgres.ts";
import { WITH_MACHINES } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { GRANTS, SYSTEM } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { JoinServers, machineAsks, offerMachines, type Reply } from "./join-servers.ts";
import { Replicas } from "./replicas.ts";

// Real: the platform, on PostgreSQL where there is one; two join servers and two machine controllers in processes of their
// own; the API server with its signer.

const cluster = useCluster({ controllers: true, holds: WITH_MACHINES });
const PLACES = 10;
const RACERS = 50;
const LIMIT_MS = 240_000;
const stack = new AsyncDisposableStack();
let world: AgentWorld;
let servers: JoinServers;
let replicas: Replicas;

beforeAll(async () => {
  const postgres = await findPostgres()?.();
  if (postgres !== undefined) stack.defer(() => postgres.stop());
  const database = postgres === undefined ? ({ pglite: "memory" } as const) : { postgres: postgres.url };
  const platform = await startPlatform({ database, rateLimits: false });
  world = await createAgentWorld(cluster(), { platform, more: openMachines() });
  stack.defer(() => world.close());
  // The first race is for a token's places. It leaves ten of the pool's.
  const spec = { deploymentId: world.deploymentId, approval: "automatic", maxMachines: 2 * PLACES };
  const pool = { apiServer: cluster().server, ...spec };
  await cluster().apply([ours("MachinePool", "workers", pool)]);
  await offerMachines(world, world.deploymentId);
  servers = await JoinServers.start(world);
  stack.defer(() => servers.stop());
  replicas = await Replicas.start(world.admin, cluster().dir, {
    SALLYPORT_KUBECONFIG: await cluster().kubeconfigForServiceAccount(SYSTEM, MACHINES_ACCOUNT),
    SALLYPORT_LEASE_DURATION: "8s",
    SALLYPORT_RENEW_DEADLINE: "6s",
    SALLYPORT_RETRY_PERIOD: "500ms",
  });
  stack.defer(() => replicas.stop());
}, 600_000);
afterAll(() => stack.disposeAsync(), 60_000);

interface Racer {
  readonly name: string;
  readonly address: string;
  /** Of both replicas, which it asked at the same time. */
  readonly replies: readonly Reply[];
}

/**
 * Fifty machines, each of an address of its own, ask both join servers at once: as one does whose first answer was lost.
 * Like the script they ask again when a server, or the platform, is too busy to answer.
 */
async function race(prefix: string, token: string): Promise<readonly Racer[]> {
  const machines = Array.from({ length: RACERS }, (_, index) => {
    const name = `m-${prefix}-${index}`;
    return { name, address: `127.0.2.${index + 1}`, body: machineAsks(name) };
  });
  const asked = machines.map(async ({ name, address, body }) => {
    const options = { body, token, localAddress: address };
    const answered = (at: number): Promise<Reply> =>
      eventually(
        () => servers.ask("POST", "/v1/join", { ...options, at }).catch(() => undefined),
        ({ status }) => status !== 503 && status !== 429,
        LIMIT_MS,
      );
    return { name, address, replies: await Promise.all([answered(0), answered(1)]) };
  });
  return Promise.all(asked);
}

/** Asks, now one replica and now the other, until it is let in or refused. */
async function settled({ address, replies }: Racer): Promise<Readonly<Record<string, string>>> {
  let [seen, at] = ["Waiting", Number.parseInt(address.split(".").at(-1) ?? "0", 10) % 2];
  return eventually(
    async () => {
      const path = `/v1/join/${replies[0]?.body.uid}?seen=${seen}`;
      const reply = await servers.ask("GET", path, { at, localAddress: address }).catch(() => undefined);
      at = 1 - at;
      if (reply?.status !== 200) return undefined;
      seen = reply.body.state ?? seen;
      return reply.body;
    },
    ({ state }) => ["Issued", "Denied"].includes(state ?? ""),
    LIMIT_MS,
  );
}

async function joins(): Promise<readonly MachineJoin[]> {
  const found: MachineJoin[] = [];
  for await (const each of world.admin.list<MachineJoin>(machineJoins, { namespace: GRANTS }, signal())) {
    found.push(each);
  }
  return found;
}

async function newToken(maxJoins: number) {
  const params = { id: world.deploymentId };
  // The platform knows where machines join a moment later.
  return eventually(
    () => world.engineer.machines.createToken({ params, body: { maxJoins } }, signal()).catch(() => undefined),
    () => true,
  );
}

async function joinCountOf(id: string): Promise<number | undefined> {
  const { tokens } = await world.engineer.machines.listTokens({ params: { id: world.deploymentId } }, signal());
  return tokens.find((each) => each.id === id)?.joinCount;
}

const machinesKnown = async (): Promise<number> => {
  const { machines } = await world.engineer.machines.inventory({ params: { id: world.deploymentId } }, signal());
  return machines.length;
};

function expectCertified(name: string, { certificate = "" }: Readonly<Record<string, string>>): void {
  expect(new X509Certificate(certificate).subject).toBe(`O=system:nodes\nCN=system:node:${name}`);
}

test("50 machines race for the ten places of a token: ten come in, the others are told why not", async () => {
  const { token, joinToken } = await newToken(PLACES);
  const racers = await race("a", joinToken);
  const winners = racers.filter(({ replies }) => replies[0]?.status === 202);
  expect(winners).toHaveLength(PLACES);
  for (const { replies } of racers) {
    const [first, second] = replies;
    if (first?.status === 202) expect(second).toMatchObject({ status: 202, body: { uid: first.body.uid } });
    else
      expect(replies.map(({ status, body }) => [status, body.code])).toEqual(
        Array(2).fill([409, "JOIN_TOKEN_EXHAUSTED"]),
      );
  }
  expect(await joinCountOf(token.id)).toBe(PLACES);
  expect(await machinesKnown()).toBe(PLACES);
  expect((await joins()).map(({ spec }) => spec.nodeName).sort()).toEqual(winners.map(({ name }) => name).sort());
  for (const winner of winners) expectCertified(winner.name, await settled(winner));
}, 600_000);

test("50 machines race for ten places of a pool, whose controller is killed: ten are signed, the others refused", async () => {
  const { token, joinToken } = await newToken(RACERS);
  const midway = eventually(joins, (all) => all.length > 3 * PLACES, LIMIT_MS);
  const [racers] = await Promise.all([race("b", joinToken), midway.then(() => replicas.killLeader())]);
  expect(racers.flatMap(({ replies }) => replies.map(({ status }) => status))).toEqual(Array(2 * RACERS).fill(202));
  expect(await joinCountOf(token.id)).toBe(RACERS);
  const ends = await Promise.all(racers.map(async (racer) => ({ racer, end: await settled(racer) })));
  const issued = ends.filter(({ end }) => end.state === "Issued");
  expect(issued).toHaveLength(PLACES);
  for (const { racer, end } of issued) expectCertified(racer.name, end);
  const all = (await joins()).filter(({ spec }) => spec.nodeName.startsWith("m-b-"));
  expect(all).toHaveLength(RACERS);
  const refused = all.flatMap(({ status }) => status?.conditions?.filter(({ status: is }) => is === "False") ?? []);
  expect(refused.filter(({ reason }) => reason === "PoolFull")).toHaveLength(RACERS - PLACES);
  expect(await joins()).toHaveLength(RACERS + PLACES);
}, 600_000);
