import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Program } from "../../../lab/cluster/program.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type DebugSession, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { WITH_DEBUG } from "../../world/installation.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { BEAT_MS, type Beats, beating, type OpenSession, openSession, sallyport } from "./engineer.ts";
import { createTunnelWorld, type TunnelWorld } from "./tunnel-world.ts";

// Nine hands that end a session. Each must reach a stream that is open, which outlives its rights unless it is cut. How late
// the last byte is at the pod when a session's time is over is asserted in hostile/hostile.test.ts, with clocks that differ.

const cluster = useCluster({ holds: WITH_DEBUG });
let at: TunnelWorld;
let tunnel: Program;

beforeAll(async () => {
  // The namespace is open to the deployment by the customer's object alone, which can be taken back.
  const operator = { SALLYPORT_OPERATOR_DEBUG_MAX_CONCURRENT: "16", SALLYPORT_DEPLOYMENTS: "" };
  at = await createTunnelWorld(cluster(), { operator });
  await accept([SHOP]);
  tunnel = await at.startTunnel("tunnel-1", { SALLYPORT_TUNNEL_MAX_CONCURRENT: "16" });
});
afterAll(() => at?.close());

interface Talk {
  readonly session: OpenSession;
  readonly beats: Beats;
}

/** A session with a stream that is carried now. */
async function talk(): Promise<Talk> {
  const session = await openSession(at, { mode: "exec" });
  return { session, beats: await beating(at, session) };
}

/** The most that may pass between a hand and the last byte at the pod: five seconds, counted in what was sent meanwhile. */
const CUT_BEATS = 5_000 / BEAT_MS;
/** A stream that carries nothing for so long is over: a byte was sent each 50 ms. */
const SILENT_MS = 1_000;

/** Pulls, and bytes arrive at the pod for a bounded number of beats after that. */
async function cutBy({ session, beats }: Talk, pull: () => Promise<unknown>): Promise<void> {
  const pulledMs = Date.now();
  await pull();
  const isPulledMs = Date.now();
  const ended = await beats.typed.ended;
  // kubectl says a loss: over WebSocket it never ends as if all was said.
  expect(ended).not.toBe(0);
  await eventually(
    () => Promise.resolve(Date.now() - beats.lastAtPodMs()),
    (silence) => silence > SILENT_MS,
  );
  const tookMs = Math.max(0, beats.lastAtPodMs() - pulledMs);
  process.stderr.write(`  ${expect.getState().currentTestName}: last byte after ${Math.round(tookMs)} ms\n`);
  expect(beats.arrivedSince(isPulledMs)).toBeLessThan(CUT_BEATS);
  expect(await session.cli.ended).not.toBe(0);
}

const kubectl = async (...args: string[]): Promise<void> => {
  const { code, stderr } = await at.cluster.kubectl(args);
  if (code !== 0) throw new Error(stderr);
};

const patch = (kind: string, name: string, spec: object): Promise<void> =>
  kubectl("patch", kind, name, "-n", GRANTS, "--type=merge", "-p", JSON.stringify({ spec }));

/** Says where the customer lets the deployment be operated on. The agent makes the object. */
async function accept(acceptedNamespaces: readonly string[]): Promise<void> {
  const key = { namespace: GRANTS, name: objectName(at.world.deploymentId) };
  await eventually(
    () => at.world.admin.get<ManagedDeployment>(managedDeployments, key, signal()),
    () => true,
  );
  await patch("manageddeployments", key.name, { acceptedNamespaces });
}

const stored = ({ name }: OpenSession): Promise<DebugSession | undefined> =>
  at.world.admin.get<DebugSession>(debugSessions, { namespace: GRANTS, name }, signal());

const closed = (session: OpenSession): Promise<DebugSession> =>
  eventually(
    () => stored(session),
    ({ status }) => status?.state === "Closed",
  );

/** How the platform tells the end. */
const told = ({ id }: OpenSession) =>
  eventually(
    () => at.world.engineer.debugSessions.get({ params: { id } }, signal()),
    ({ state }) => ["stopped", "expired", "failed"].includes(state),
  );

/** The vendor's copy of the audit is the one whose head the cluster keeps; one with another byte is found out. */
async function verified({ id }: OpenSession, head: string): Promise<void> {
  const file = join(at.cluster.dir, `${id}.audit.jsonl`);
  const run = (...args: string[]): Promise<number | null> => sallyport(at, at.cluster.dir, ["debug", ...args]).ended;
  // The tunnel sends it after its last word.
  await eventually(
    () => run("audit", id, "--to", file),
    (code) => code === 0,
  );
  expect(await run("verify", file, "--head", head)).toBe(0);
  // Its last record is the end: the stream that was cut wrote its own before it.
  expect(await run("verify", file)).toBe(0);
  const bytes = await readFile(file);
  const place = bytes.indexOf("exec");
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  await writeFile(file, bytes);
  expect(await run("verify", file, "--head", head)).toBe(11);
}

describe("one session is ended by", () => {
  let talks: Talk[];
  beforeAll(async () => {
    talks = await Promise.all(Array.from({ length: 5 }, talk));
  });
  const next = (): Talk => {
    const talking = talks.pop();
    if (talking === undefined) throw new Error("a session for each test of this block is opened before it");
    return talking;
  };

  it("the customer's word", async () => {
    const talking = next();
    await cutBy(talking, () => patch("dbg", talking.session.name, { endedReason: "enough" }));
    expect((await closed(talking.session)).status).toMatchObject({ closeReason: "revoked" });
    expect(await told(talking.session)).toMatchObject({ state: "stopped", closeReason: "revoked" });
    // What it stood on is gone, and the audit file ends with what the cluster has kept.
    const { metadata, status } = await closed(talking.session);
    expect(status?.tunnel?.audit?.head).toMatch(/^[0-9a-f]{64}$/);
    const left = `sallyport.dev/debug-session=${metadata.uid}`;
    expect((await at.cluster.kubectl(["get", "sa,rolebindings", "-A", "-l", left])).stdout).toBe("");
    await verified(talking.session, status?.tunnel?.audit?.head ?? "");
  });

  it("the deletion of its object", async () => {
    const talking = next();
    await cutBy(talking, () => kubectl("delete", "dbg", talking.session.name, "-n", GRANTS, "--wait=false"));
    await told(talking.session);
  });

  it("the end of the grant", async () => {
    const talking = next();
    const { grantName = "" } = (await stored(talking.session))?.spec ?? {};
    await cutBy(talking, () => patch("ag", grantName, { revokedReason: "enough" }));
    expect((await closed(talking.session)).status).toMatchObject({ closeReason: "revoked" });
  });

  it("the engineer elsewhere", async () => {
    const talking = next();
    await cutBy(talking, () => sallyport(at, at.cluster.dir, ["debug", "stop", talking.session.id]).ended);
    await closed(talking.session);
  });

  it("an admin of the vendor", async () => {
    const talking = next();
    const { id } = talking.session;
    await cutBy(talking, () =>
      at.world.vendorAdmin.debugSessions.patch({ params: { id }, body: { state: "stopping" } }, signal()),
    );
    await closed(talking.session);
  });
});

it("an exec that has outlived its binding runs on, and is cut when the session ends", async () => {
  const talking = await talk();
  const { session, beats } = talking;
  const { uid = "" } = (await stored(session))?.metadata ?? {};
  await kubectl("delete", "rolebindings", "-n", SHOP, "-l", `sallyport.dev/debug-session=${uid}`);
  const refused = await eventually(
    () => session.kubectl(["exec", "api-0", "--", "true"]),
    ({ code }) => code !== 0,
  );
  expect(refused.stderr).toContain("orbidden");
  const refusedMs = Date.now();
  await eventually(
    () => Promise.resolve(beats.lastAtPodMs()),
    (lastMs) => lastMs > refusedMs + SILENT_MS,
  );
  expect(beats.typed.code).toBeUndefined();
  await cutBy(talking, () => patch("dbg", session.name, { endedReason: "enough" }));
});

describe("all sessions are ended by", () => {
  it("the namespace that is taken from the deployment", async () => {
    const both = [await talk(), await talk()];
    const pulled = accept(["elsewhere"]);
    await Promise.all(both.map((talking) => cutBy(talking, () => pulled)));
    for (const { session } of both) expect((await closed(session)).status?.closeReason).toBe("revoked");
    await accept([SHOP]);
  });

  it("a rule of the customer's that denies", async () => {
    const both = [await talk(), await talk()];
    const pulled = patch("opp", "default", { rules: [{ pattern: "debug/*", decision: "deny" }] });
    await Promise.all(both.map((talking) => cutBy(talking, () => pulled)));
    await patch("opp", "default", { rules: null });
  });

  it("the tunnel that is scaled to nothing, and nothing comes back", async () => {
    const talking = await talk();
    await cutBy(talking, () => tunnel.stop(10_000));
    expect((await closed(talking.session)).status).toMatchObject({ closeReason: "agent" });
  });

  fullOnly("their time, and by silence of the engineer while the pod speaks", async () => {
    const bounds = { SALLYPORT_TUNNEL_MAX_TTL: "20s", SALLYPORT_TUNNEL_IDLE: "8s" };
    await tunnel.stop(60_000);
    tunnel = await at.startTunnel("tunnel-2", bounds);
    // kubectl's own pings, each 5 s, are no word of the engineer's.
    const [talking, quiet] = await Promise.all([talk(), openSession(at, { mode: "exec" })]);
    const speaking = quiet.start(["exec", "api-0", "--", "sh", "-c", "while :; do echo speaks; sleep 0.2; done"]);
    await speaking.says(/speaks/);
    expect(await speaking.ended).not.toBe(0);
    expect((await closed(quiet)).status).toMatchObject({ closeReason: "idle" });
    await talking.beats.typed.ended;
    expect((await closed(talking.session)).status).toMatchObject({ closeReason: "expired" });
  });
});
