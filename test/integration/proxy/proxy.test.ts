import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../../lab/cluster/certificates.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { INSTALLED } from "../../world/installation.ts";
import { GRANTS } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { AgentProcess } from "./agent-process.ts";
import { outerAddress, PrivateTls } from "./private-tls.ts";
import { Squid, squidProblem } from "./squid.ts";

// A real squid that requires a password, and TLS by a private CA in front of the platform.

const [USER, PASSWORD] = ["sallyport", "p@ss:word/7"] as const;
const ISSUER = "Example Corp Root";
const address = outerAddress();
const problem = squidProblem() ?? (address === undefined ? "this machine has no address besides loopback" : undefined);
if (problem !== undefined) console.warn(`test/integration/proxy is skipped: ${problem}`);

const cluster = useCluster({ holds: INSTALLED });
let world: AgentWorld;
let operator: Running;
let squid: Squid;
let tls: PrivateTls;
let agent: AgentProcess | undefined;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  if (problem !== undefined || address === undefined) return;
  world = await createAgentWorld(cluster());
  operator = world.startOperator();
  squid = await Squid.make(USER, PASSWORD);
  await squid.start();
  tls = await PrivateTls.listen(address, world.gate.url, ISSUER);
  const ca = join(world.keyFile, "..", "ca.crt");
  await writeFile(ca, tls.ca);
  env = {
    ...world.agentEnv,
    SALLYPORT_PLATFORM_URL: `https://${tls.host}`,
    NODE_EXTRA_CA_CERTS: ca,
    HTTPS_PROXY: proxyUrl(PASSWORD),
    NO_PROXY: "localhost,127.0.0.1,.svc,.cluster.local",
  };
});
afterEach(async () => {
  await agent?.stop();
});
afterAll(async () => {
  await operator?.stop();
  await squid?.close();
  await tls?.close();
  await world?.close();
});

describe.skipIf(problem !== undefined)("an agent behind a proxy with a password, to a platform of a private CA", () => {
  test("reports, is told of work at once, and brings the result back, all through tunnels of its user", async () => {
    // Only the work feed's long-poll wakes the agent: by itself it looks again after the test's limit.
    agent = new AgentProcess({ ...env, SALLYPORT_RESYNC_INTERVAL: "1h" });
    await connected("True", "Connected");
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    await agent.stop();
    const tunnels = await eventually(
      () => squid.log(),
      (lines) => lines.length > 0,
    );
    const ours = tunnels.filter((line) => line.startsWith("TCP_TUNNEL/200"));
    expect(new Set(ours)).toEqual(new Set([`TCP_TUNNEL/200 CONNECT ${tls.host} ${USER}`]));
    expect(agent.text).not.toContain(PASSWORD);
    expect(agent.text).not.toContain(encodeURIComponent(PASSWORD));
  });

  test("goes around the proxy to what NO_PROXY names, also by a range of addresses", async () => {
    const before = (await squid.log()).length;
    agent = new AgentProcess({ ...env, NO_PROXY: `${env.NO_PROXY},${address}/32` });
    await connected("True", "Connected", Date.now());
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    await agent.stop();
    expect((await squid.log()).length).toBe(before);
  });

  test.each([
    [
      "a wrong password",
      () => ({ HTTPS_PROXY: proxyUrl("guessed-77") }),
      "ProxyRefused",
      [/the proxy 127\.0\.0\.1:\d+ does not accept the user and password/, /proxy\.existingSecret/],
    ],
    ["no password", () => ({ HTTPS_PROXY: `http://127.0.0.1:${squid.port}` }), "ProxyRefused", [/\(407\)/]],
    [
      "a CA that nobody told it of",
      () => ({ NODE_EXTRA_CA_CERTS: "" }),
      "CertificateUntrusted",
      [/issued by "Example Corp Root"/, /trustedCA/],
    ],
  ] as const)("with %s says in one line and one condition what to mend", async (_, more, reason, words) => {
    agent = new AgentProcess({ ...env, ...more() });
    await toldOnce(agent, reason, words);
  });

  test("takes an authority that its file gets later, without a restart", async () => {
    const file = join(world.keyFile, "..", "swapped.crt");
    await writeFile(file, new CertificateAuthority("Another Root").certificate);
    agent = new AgentProcess({ ...env, NODE_EXTRA_CA_CERTS: file });
    await toldOnce(agent, "CertificateUntrusted", [/issued by "Example Corp Root"/]);
    await writeFile(file, tls.ca);
    await connected("True", "Connected");
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    expect(agent.isRunning).toBe(true);
  }, 300_000);

  test("with a proxy that is not there says so", async () => {
    agent = new AgentProcess({ ...env, HTTPS_PROXY: `http://127.0.0.1:${await freePort()}` });
    await toldOnce(agent, "ProxyUnreachable", [/the proxy 127\.0\.0\.1:\d+ does not answer \(ECONNREFUSED\)/]);
  });

  test("outlives a proxy that goes and comes back, and says which", async () => {
    agent = new AgentProcess(env);
    await connected("True", "Connected");
    await squid.stop();
    await toldOnce(agent, "ProxyUnreachable", [/does not answer/]);
    await squid.start();
    await connected("True", "Connected");
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    expect(agent.isRunning).toBe(true);
  }, 300_000);
});

function proxyUrl(password: string): string {
  return `http://${USER}:${encodeURIComponent(password)}@127.0.0.1:${squid.port}`;
}

async function toldOnce(process: AgentProcess, reason: string, words: readonly RegExp[]): Promise<void> {
  // First the log of this agent: the condition may still be that of the agent before.
  await eventually(
    async () => process.lines,
    (lines) => lines.some((line) => line.reason === reason),
  );
  const message = await connected("False", reason);
  for (const word of words) expect(message).toMatch(word);
  // Time for a few tries of everything that waits.
  await sleep(systemClock, 5_000, signal());
  const loud = process.lines.filter(({ level }) => level === "warn" || level === "error");
  expect(loud.map((line) => line.reason)).toEqual([reason]);
  expect(loud[0]?.fix).toBe(message);
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), "guessed-77"]) {
    expect(process.text).not.toContain(secret);
    expect(message).not.toContain(secret);
  }
}

/** Waits for this status and reason of the condition, and returns its message. */
async function connected(status: string, reason: string, sinceMs = 0): Promise<string> {
  const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
  let message = "";
  await eventually(
    () => world.admin.get<ManagedDeployment>(managedDeployments, key, signal()),
    (managed) => {
      const found = managed.status?.conditions?.find(({ type }) => type === "Connected");
      message = found?.message ?? "";
      const isFresh = Date.parse(managed.status?.lastReportedAt ?? "") >= sinceMs || sinceMs === 0;
      return found?.status === status && found.reason === reason && isFresh;
    },
    // After some failures the agent waits for up to a minute before its next try.
    120_000,
  );
  return message;
}

async function invoke(): Promise<string> {
  const params = { namespace: "shop" };
  const body = { deploymentId: world.deploymentId, plugin: "kubernetes", operation: "get-pods", params };
  const answer = await world.engineer.operations.invoke({ query: { project: world.projectId }, body }, signal());
  return String(answer.commandId);
}
