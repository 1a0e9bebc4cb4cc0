import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Program } from "../../../../lab/cluster/program.ts";
import { useCluster } from "../../../../lab/cluster/use-cluster.ts";
import { fullOnly, isFull } from "../../../../src/base/testing/full.ts";
import { type DebugSession, debugSessions } from "../../../../src/crds/kinds/debug-session.ts";
import { installation, openDebugSessions, openNamespaceToDebug } from "../../../../src/crds/manifests/installation.ts";
import { WITH_DEBUG } from "../../../world/installation.ts";
import { GRANTS, SHOP } from "../../../world/people.ts";
import { eventually, signal } from "../../../world/wait.ts";
import { attachSession, BEAT_MS, type Beats, beating, type OpenSession, openSession, sallyport } from "../engineer.ts";
import { createTunnelWorld, type TunnelWorld } from "../tunnel-world.ts";
import { echoPort, expectNoneInMemory, expectNoneStored, plant, REASON } from "./canaries.ts";
import { PlatformProcesses } from "./platform-processes.ts";
import { throughProxies } from "./proxies.ts";
import { skewed } from "./skew.ts";
import { mountSmallDisk, smallDiskProblem } from "./small-disk.ts";
import { rightsOf } from "./stolen.ts";

// Real processes on both sides, and what happens to them in years: killed, asleep, full, misconfigured, removed.

const cluster = useCluster({ holds: WITH_DEBUG });
const folder = mkdtempSync(join(tmpdir(), "sallyport-hostile-"));
let platforms: PlatformProcesses;
let at: TunnelWorld;
let tunnel: Program;

const MANY = { SALLYPORT_TUNNEL_MAX_CONCURRENT: "16", SALLYPORT_TUNNEL_UPLOAD: "false" };
/** A tunnel in place of the one before. */
async function nextTunnel(name: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  await tunnel?.stop(5_000);
  tunnel = await at.startTunnel(name, { ...MANY, SALLYPORT_PLATFORM_URL: platforms.urls[1], ...env });
}

beforeAll(async () => {
  platforms = await PlatformProcesses.begin(folder);
  const operator = { SALLYPORT_OPERATOR_DEBUG_MAX_CONCURRENT: "16" };
  at = await createTunnelWorld(cluster(), { operator, platform: platforms.seeding });
});
afterAll(async () => {
  await at?.close();
  await platforms?.close();
  rmSync(folder, { recursive: true, force: true });
});

const status = async ({ name }: OpenSession): Promise<DebugSession["status"]> =>
  (await at.world.admin.get<DebugSession>(debugSessions, { namespace: GRANTS, name }, signal()))?.status;
const closed = (session: OpenSession): Promise<DebugSession["status"]> =>
  eventually(
    () => status(session),
    (seen) => seen?.state === "Closed",
  );
const kubectl = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await at.cluster.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};
const accounts = () => kubectl("get", "sa,rolebindings", "-A", "-l", "sallyport.dev/debug-session", "-o", "name");
const echoes = (session: OpenSession, word: string) =>
  eventually(
    () => session.kubectl(["exec", "api-0", "--", "echo", word]),
    ({ stdout }) => stdout === `${word}\n`,
  );

describe("while no operator runs, with a tunnel whose clock is ten minutes behind", () => {
  let exec: OpenSession;
  let forward: OpenSession;
  let short: OpenSession;
  let beats: Beats;
  let shortEndedMs = 0;
  let echo: Awaited<ReturnType<typeof echoPort>>;
  beforeAll(async () => {
    echo = await echoPort();
    await nextTunnel("tunnel-behind", skewed(-10));
    // The minute of the short one is that of the tests below: most of them have time in it.
    [exec, forward, short] = await Promise.all([
      openSession(at, { mode: "exec", reason: REASON }),
      openSession(at, { mode: "port-forward", ports: [echo.port], reason: REASON }),
      openSession(at, { mode: "exec", minutes: 1 }),
    ]);
    beats = await beating(at, short);
    void beats.typed.ended.then(() => {
      shortEndedMs = Date.now();
    });
    await at.stopOperator();
  });
  afterAll(() => {
    echo?.close();
    // The test that starts it is one of a full run.
    if (!isFull) at.startOperator();
  });

  it("no process of the platform has a byte of what was said in its memory", async () => {
    await plant(at, { exec, forward, port: echo.port });
    await expectNoneInMemory(platforms, exec.id, tunnel);
  });

  it("a stolen tunnel may mint tokens among the accounts of sessions and say what it carries, and nothing else", async () => {
    const rights = (namespace: string) => rightsOf(at, "sallyport-tunnel", namespace);
    expect(await rights(GRANTS)).toEqual([
      "debugsessions.sallyport.dev [] [] [get list watch]",
      "debugsessions.sallyport.dev/status [] [] [get patch]",
    ]);
    expect(await rights("sallyport-debug")).toEqual(["serviceaccounts/token [] [] [create]"]);
    for (const other of [SHOP, "sallyport-system", "kube-system", "default"]) expect(await rights(other)).toEqual([]);
  });

  it("a stolen agent may ask for sessions, and neither change one nor reach what they stand on", async () => {
    const sessions = (await rightsOf(at, "sallyport-agent", GRANTS)).filter((line) => line.startsWith("debugsessions"));
    expect(sessions).toEqual(["debugsessions.sallyport.dev [] [] [create get list watch]"]);
    expect(await rightsOf(at, "sallyport-agent", "sallyport-debug")).toEqual([]);
    for (const line of await rightsOf(at, "sallyport-agent", SHOP)) expect(line).toMatch(/ \[(get|list|watch| )+\]$/);
  });

  it("a laptop that sleeps gives way to another program that attached meanwhile", async () => {
    const asleep = exec;
    asleep.cli.child.kill("SIGSTOP");
    exec = await attachSession(at, asleep);
    await echoes(exec, "awake");
    asleep.cli.child.kill("SIGCONT");
    expect(await asleep.cli.ended).toBe(6);
    await echoes(exec, "still");
  });

  fullOnly("a session ends at its time, and the next operator removes what it stood on", async () => {
    const untilMs = Date.parse((await status(short))?.until ?? "");
    expect(await beats.typed.ended).not.toBe(0);
    expect(await short.cli.ended).not.toBe(0);
    expect(shortEndedMs).toBeGreaterThan(untilMs - 2_000);
    expect(beats.arrivedSince(untilMs)).toBeLessThan(5_000 / BEAT_MS);
    expect((await status(short))?.state).toBe("Open");
    const account = (await status(short))?.account ?? "none";
    expect(await accounts()).toContain(account);
    at.startOperator();
    expect((await closed(short))?.closeReason).toBe("expired");
    await eventually(accounts, (names) => !names.includes(account));
  });

  fullOnly(
    "a platform that is killed is an error at kubectl and never a gap; the same session goes on when it is back",
    async () => {
      const counting = exec.start([
        "exec",
        "api-0",
        "--",
        "sh",
        "-c",
        "i=0; while :; do echo $((i+=1)); sleep 0.01; done",
      ]);
      await counting.says(/^20$/m);
      await platforms.kill();
      expect(await counting.ended).not.toBe(0);
      // The last line may be torn.
      const lines = counting.out.split("\n").slice(0, -1);
      expect(lines).toEqual(lines.map((_, index) => String(index + 1)));
      await platforms.start();
      await exec.cli.says(/connected again/);
      await echoes(exec, "again");
      expect((await status(exec))?.state).toBe("Open");
      await Promise.all([exec.close(), forward.close()]);
      expect((await closed(exec))?.closeReason).toBe("client");
    },
  );

  it("nor is a byte of it in a log or a table of the platform", () => expectNoneStored(platforms, exec.id));
});

describe("a laptop that sleeps", () => {
  fullOnly("is idle, with a tunnel whose clock is ten minutes ahead, and says so when it wakes", async () => {
    await nextTunnel("tunnel-ahead", { ...skewed(10), SALLYPORT_TUNNEL_IDLE: "8s" });
    const session = await openSession(at, { mode: "exec" });
    const { arrivedSince } = await beating(at, session);
    session.cli.child.kill("SIGSTOP");
    const asleepMs = Date.now();
    expect((await closed(session))?.closeReason).toBe("idle");
    expect(arrivedSince(asleepMs)).toBeLessThan(1_000 / BEAT_MS);
    session.cli.child.kill("SIGCONT");
    expect(await session.cli.ended).toBe(8);
    expect(session.cli.error).toContain("ended (idle)");
  });
});

const mountProblem = smallDiskProblem();
if (mountProblem !== undefined) console.warn(`a full disk is not tested: ${mountProblem}`);

describe.skipIf(mountProblem !== undefined)("a disk of 2 MB under the audit", () => {
  let disk: string;
  let unmount = (): void => undefined;
  beforeAll(async () => {
    disk = join(folder, "disk");
    mkdirSync(disk);
    unmount = mountSmallDisk(disk);
    await nextTunnel("tunnel-disk", { SALLYPORT_TUNNEL_SPOOL_FOLDER: disk });
  });
  afterAll(async () => {
    await tunnel.stop(5_000);
    unmount();
  });

  it("that is full ends every session, refuses new ones, and serves again when there is room", async () => {
    const [session, other] = await Promise.all([1, 2].map(() => openSession(at, { mode: "exec" })));
    if (session === undefined || other === undefined) throw new Error("no sessions");
    const { typed } = await beating(at, session);
    fill(join(disk, "filler"));
    // A record that has no room, and none of the requests under way goes on. What its file has of its last page is left.
    await fails(session);
    expect(await typed.ended).not.toBe(0);
    const seen = await closed(session);
    expect(seen?.closeReason).toBe("audit-failed");
    expect(seen?.conditions).toContainEqual(
      expect.objectContaining({ type: "Audited", status: "False", reason: "SinkFailed" }),
    );
    expect(await session.cli.ended).toBe(8);
    expect(session.cli.error).toContain("ended (audit-failed)");
    // Each session has a record of its own to write.
    await fails(other);
    expect((await closed(other))?.closeReason).toBe("audit-failed");
    await expect(openSession(at, { mode: "logs" })).rejects.toThrow("audit-failed");
    rmSync(join(disk, "filler"));
    const after = await openSession(at, { mode: "logs" });
    expect((await after.kubectl(["get", "pods"])).stdout).toContain("api-0");
    await after.close();
  });

  const fails = (session: OpenSession) =>
    eventually(
      () => session.kubectl(["get", "pods"]),
      ({ code }) => code !== 0,
    );

  function fill(file: string): void {
    for (let block = 65_536; block >= 1; block = Math.floor(block / 2)) {
      try {
        for (;;) writeFileSync(file, Buffer.alloc(block), { flag: "a" });
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      }
    }
  }
});

throughProxies(() => ({ at, platforms }), {
  start: (env) => nextTunnel("tunnel-proxied", env),
  stop: () => tunnel.stop(5_000),
});

describe("an installation that is removed while a session is open", () => {
  fullOnly(
    "ends it at once, nothing waits for a controller that is gone, and the next installation sweeps",
    async () => {
      await nextTunnel("tunnel-last");
      const session = await openSession(at, { mode: "exec" });
      const { typed, arrivedSince } = await beating(at, session);
      const account = (await status(session))?.account ?? "none";
      const removedMs = Date.now();
      // As helm does: what it made, in one go, and the pods end meanwhile.
      const { policies } = installation();
      const made = [...openDebugSessions(), ...openNamespaceToDebug(SHOP)];
      const names = [...made, ...policies].filter(({ kind }) => kind !== "Namespace");
      const removed = at.cluster.kubectl(["delete", "--ignore-not-found", "--wait=false", "-f", "-"], {
        stdin: names.map((each) => JSON.stringify(each)).join("\n---\n"),
      });
      await Promise.all([removed, tunnel.stop(10_000), at.stopOperator()]);
      expect(await typed.ended).not.toBe(0);
      expect(arrivedSince(removedMs)).toBeLessThan(5_000 / BEAT_MS);
      const crd = "debugsessions.sallyport.dev";
      await kubectl("delete", "crd", crd, "--timeout=30s");
      expect((await at.cluster.kubectl(["get", "crd", crd])).stderr).toContain("NotFound");
      expect(await accounts()).toContain(account);

      const { crds } = installation();
      await at.cluster.apply([...crds, ...policies, ...made]);
      at.startOperator();
      await eventually(accounts, (left) => !left.includes(account));
      await sallyport(at, session.folder, ["debug", "stop", session.id]).ended;
    },
  );
});
