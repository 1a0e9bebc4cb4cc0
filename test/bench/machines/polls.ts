import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startCluster } from "../../../lab/cluster/cluster.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import { JOIN_ACCOUNT } from "../../../src/crds/group.ts";
import { type MachineJoin, machineJoins } from "../../../src/crds/kinds/machine-join.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { INSTALLED } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { People } from "../../world/people.ts";
import type { Row } from "../table.ts";
import { inPod, measured } from "./in-pod.ts";

const GOAL_MIB = 100;
/** A long-poll is answered after less than a minute. */
const REST_MS = 10_000;
/** Of one address the join server takes 20 requests a second. */
const OF_ONE_ADDRESS = 10;

/** Machines that wait for an approver, each with a long-poll over a TLS connection of its own. */
export async function waitingPolls(polls: number, say: (line: string) => void, signal: AbortSignal): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ log: say }, signal));
  const deploymentId = `dep_${"0".repeat(28)}`;
  await cluster.apply([...INSTALLED, ...openMachines(), ours("MachinePool", "workers", { deploymentId })]);
  const keyFile = join(cluster.dir, "key");
  await writeFile(keyFile, "sp_m_000000000000_0000000000000000000000000000000000000000\n", { mode: 0o600 });
  const [port, platformUrl] = [await freePort(), await silentPlatform(stack)];
  const env = {
    SALLYPORT_PLATFORM_URL: platformUrl,
    SALLYPORT_RUNTIME_KEY_FILE: keyFile,
    SALLYPORT_JOIN_CA_FILE: cluster.caFile,
    SALLYPORT_JOIN_HOST: "127.0.0.1",
    SALLYPORT_JOIN_PORT: String(port),
    SALLYPORT_JOIN_URL: `https://127.0.0.1:${port}`,
  };
  const server = await inPod(stack, cluster, "join", JOIN_ACCOUNT, env, signal);
  const client = await stack.use(new People(cluster)).admin();
  const uids: string[] = [];
  for (let index = 0; index < polls; index += 1) {
    uids.push((await client.create<MachineJoin>(machineJoins, joinOf(index), signal)).metadata.uid);
  }
  await pause(REST_MS / 2, undefined, { signal });
  say(`machines: ${polls} machines wait`);
  const usage = measured(server);
  const over = new AbortController();
  const answers: number[] = [];
  const asked = uids.map(async (uid, index) => {
    const localAddress = `127.0.1.${1 + Math.floor(index / OF_ONE_ADDRESS)}`;
    await pause(index * 10, undefined, { signal });
    const agent = new Agent({ rejectUnauthorized: false });
    const poll = request(`https://127.0.0.1:${port}/v1/join/${uid}?seen=Waiting`, {
      ...{ agent, localAddress, signal: over.signal },
    });
    poll.on("response", ({ statusCode = 0 }) => answers.push(statusCode));
    poll.on("error", () => undefined);
    poll.end();
  });
  await Promise.all(asked);
  await pause(REST_MS, undefined, { signal });
  const waiting = polls - answers.length;
  const { text, mib, core } = usage();
  over.abort();
  if (waiting < polls) throw new Error(`${answers.length} of ${polls} did not wait: ${[...new Set(answers)].join()}`);
  return {
    what: `memory of a join server with ${polls} long-polls`,
    measured: text,
    goal: `at most ${GOAL_MIB} MiB`,
    reached: mib <= GOAL_MIB,
    figures: { mib, core },
  };
}

function joinOf(index: number): MachineJoin {
  const publicKey = index.toString(16).padStart(12, "0").padEnd(64, "0");
  const [name, nodeName] = [`workers-${publicKey.slice(0, 12)}`, `workers-${index}`];
  const asked = { pool: "workers", machineId: nodeName, nodeName, publicKey, request: "TUlJQg==", facts: {} };
  const spec = { ...asked, tokenId: "0123456789abcdef" };
  return ours("MachineJoin", name, spec);
}

/** The join server tells it where machines join, and asks it nothing while they wait. */
async function silentPlatform(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((_, response) => response.writeHead(503).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(async () => server.closeAllConnections());
  stack.defer(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
