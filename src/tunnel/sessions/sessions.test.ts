import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { ApiError } from "../../api-client/api-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { RELAY_CLOSE_CODES } from "../../contract/debug-sessions/debug-relay.ts";
import { chainLine, chainStart, verifyAudit } from "../../debug-link/audit-chain.ts";
import { say } from "../../debug-link/testing/fake-relay.ts";
import { ServerClock } from "../../kube/client/server-clock.ts";
import { Spool } from "../spool/spool.ts";
import { ME, refusal, SESSION_ID, SessionWorld } from "../testing/session-world.ts";
import { auditFile, recordingFile } from "./session-tools.ts";

let world: SessionWorld;
afterEach(() => world.close());

const OTHER = { instance: "tunnel-2", epoch: 3, key: "o".repeat(43) };

async function serving(): Promise<{
  readonly socket: WebSocket;
  readonly heard: string[];
  readonly closed: () => boolean;
}> {
  const socket = await world.accept();
  const heard: string[] = [];
  let isClosed = false;
  socket.on("message", (data, isBinary) => void (isBinary || heard.push(String(data))));
  socket.once("close", () => {
    isClosed = true;
  });
  await world.until(() => (world.tunnel?.audit?.records ?? 0) > 0);
  return { socket, heard, closed: () => isClosed };
}

test("an open session is claimed, served, and its end is told everywhere", async () => {
  world = await SessionWorld.start();
  const { socket } = await serving();
  expect(world.tunnel).toMatchObject({ instance: ME, epoch: 0, audit: { records: 1 } });
  say(socket, { type: "close", reason: "client" });
  await world.until(() => world.heads.length > 0 && world.tunnel?.closed !== undefined);
  expect(world.tunnel?.closed).toMatchObject({ reason: "client" });
  expect([world.uploaded, world.heads]).toEqual([[auditFile(SESSION_ID)], [world.tunnel?.audit?.head]]);
});

test.each(["by the cache", "by a write"])("one that another tunnel took (%s) is left without a word", async (how) => {
  world = await SessionWorld.start();
  const { heard, closed } = await serving();
  world.isCurrent = how === "by the cache";
  world.write({ tunnel: OTHER });
  await world.until(closed, how === "by the cache" ? 0 : 1_000);
  await world.until(() => readdirSync(world.folder).some((name) => name.endsWith(".done")));
  expect(heard.filter((each) => each.includes("close"))).toEqual([]);
  expect(world.tunnel).toEqual(OTHER);
  expect([world.uploaded, world.heads]).toEqual([[], []]);
});

test("of two tunnels that see a session in the same moment one serves it, and the other leaves nothing of it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "second-tunnel-"));
  const claims: string[] = [];
  world = await SessionWorld.start({}, {}, (each) => {
    const spool = new Spool({ folder, limitBytes: each.config.spoolBytes, metrics: each.metrics });
    each.add({ identity: OTHER.instance, spool });
    // The cache of neither shows the other's claim before both have asked for it.
    each.isCurrent = false;
    each.onClaim = (instance) => void claims.push(instance);
  });
  await world.until(() => claims.length === 2);
  world.isCurrent = true;
  world.informer.set(world.stored);
  const { socket } = await serving();
  expect(claims.toSorted()).toEqual([ME, OTHER.instance]);
  const files = { [ME]: names(), [OTHER.instance]: readdirSync(folder) };
  const { instance = "" } = world.tunnel ?? {};
  expect(files).toEqual({ [ME]: [], [OTHER.instance]: [], [instance]: [auditFile(SESSION_ID)] });
  say(socket, { type: "close", reason: "client" });
  await world.until(() => world.heads.length > 0);
  expect([world.heads.length, world.tunnel]).toEqual([1, expect.objectContaining({ instance })]);
  rmSync(folder, { recursive: true });
});

test("an object from before the claim does not end the session", async () => {
  world = await SessionWorld.start({ tunnel: OTHER });
  const stale = world.stored;
  world.isCurrent = false;
  await world.until(() => world.tunnel?.instance === ME, 5_000);
  await serving();
  world.informer.set(stale);
  const { writes } = world;
  await world.until(() => world.writes > writes + 1, 1_000);
  expect(world.tunnel).toMatchObject({ instance: ME, epoch: 3 });
  expect(world.tunnel?.closed).toBeUndefined();
});

test("the end is written again until it stands in the object, and not where another tunnel does", async () => {
  world = await SessionWorld.start();
  const { socket } = await serving();
  world.faults.push(...Array.from({ length: 3 }, () => refusal(500, "InternalError")));
  say(socket, { type: "close", reason: "client" });
  await world.until(() => world.heads.length > 0);
  expect(world.tunnel?.closed).toBeUndefined();
  await world.until(() => world.tunnel?.closed !== undefined, 1_000);
  expect(world.tunnel?.closed).toMatchObject({ reason: "client" });
  const { writes } = world;
  world.clock.advance(60_000);
  await world.until(() => true);
  expect(world.writes).toBe(writes);
});

test("the API server's time says how long is left, whatever the pod's clock says", async () => {
  const clock = new FakeClock("2026-01-01T13:00:00Z");
  const serverClock = new ServerClock(clock);
  serverClock.heard("Thu, 01 Jan 2026 12:29:00 GMT");
  world = await SessionWorld.start({}, { clock: serverClock });
  await serving();
  clock.advance(55_000);
  await world.until(() => true);
  expect(world.tunnel?.closed).toBeUndefined();
  clock.advance(7_000);
  await world.until(() => {
    clock.advance(1_000);
    return world.tunnel?.closed !== undefined;
  });
  expect(world.tunnel?.closed?.reason).toBe("expired");
});

const audit = { records: 2, head: "a".repeat(64), at: "2026-01-01T11:00:00Z" };
/** A file of the session, as a tunnel that died has left it. */
function fileOf(instance: string): (world: SessionWorld) => void {
  return ({ folder, stored }) => {
    const { line } = chainLine(chainStart("u-1", stored.spec), new Date(0), "open", {
      uid: "u-1",
      spec: stored.spec,
      instance,
    });
    writeFileSync(join(folder, auditFile(SESSION_ID)), `${line}\n`);
  };
}
const names = (): readonly string[] => readdirSync(world.folder).sort();

test("a session whose file is not what the cluster was told of ends before anything is served", async () => {
  world = await SessionWorld.start({ tunnel: { ...OTHER, audit } }, {}, fileOf(OTHER.instance));
  await world.until(() => world.tunnel?.instance === ME, 5_000);
  // On a slow disk the file would else be read after the session's idle time.
  await world.until(() => world.tunnel?.closed !== undefined);
  expect(world.tunnel).toMatchObject({ closed: { reason: "audit-mismatch" }, audit });
  expect([names(), world.uploaded]).toEqual([[`${auditFile(SESSION_ID)}.aside`], []]);
  const seen = await world.registry.metrics();
  expect(seen).toContain("sallyport_debug_audit_files_aside 1");
  expect(seen).toContain('sallyport_debug_closed_total{reason="audit-mismatch"} 1');
});

test("where another tunnel had the session meanwhile, the earlier file is put away and the session goes on", async () => {
  world = await SessionWorld.start({ tunnel: { ...OTHER, audit } }, {}, fileOf("tunnel-0"));
  await world.until(() => world.tunnel?.instance === ME, 5_000);
  await serving();
  expect(names()).toEqual([auditFile(SESSION_ID), `${auditFile(SESSION_ID)}.done`]);
  const { before } = JSON.parse(readFileSync(join(world.folder, auditFile(SESSION_ID)), "utf8").split("\n")[0] ?? "");
  expect(before).toEqual(audit);
});

test("files of a session that another tunnel has are finished when it is over, and only sent where they are the last", async () => {
  world = await SessionWorld.start({ tunnel: { ...OTHER, audit } }, {}, (each) => {
    fileOf(ME)(each);
    writeFileSync(join(each.folder, recordingFile(SESSION_ID)), "x");
  });
  let epoch = 4;
  // The other one lives: it writes.
  for (let turn = 0; turn < 10; turn += 1, epoch += 1) {
    world.write({ tunnel: { ...OTHER, audit, epoch } });
    world.clock.advance(10_000);
    await world.until(() => true);
  }
  expect(names()).toHaveLength(2);
  world.write({ state: "Closed", closedAt: "2026-01-01T12:10:00Z", closeReason: "client" });
  await world.until(() => names().every((name) => name.endsWith(".done")), 5_000);
  expect(world.uploaded).toEqual([]);
});

test.each([
  ["is over", { ...OTHER, instance: ME }, [auditFile(SESSION_ID)]],
  ["is over and was another tunnel's", { ...OTHER, audit }, []],
])("files of a session that could not be claimed are finished when it %s", async (_, tunnel, uploaded) => {
  world = await SessionWorld.start({ tunnel: { ...OTHER, instance: ME } }, {}, (each) => {
    fileOf(ME)(each);
    each.faults.push(refusal(503, "ServiceUnavailable"));
  });
  await world.until(() => world.writes === 1);
  world.write({ state: "Closed", closedAt: "2026-01-01T12:10:00Z", closeReason: "client", tunnel });
  await world.until(() => world.uploaded.length > 0 || names().every((name) => name.endsWith(".done")), 1_000);
  expect([world.writes, world.uploaded]).toEqual([1, uploaded]);
});

test("a session for which the spool has no room is left to another tunnel, until there is some", async () => {
  const [full, waiting] = ["\nsallyport_debug_audit_spool_full 1", `dbg_${"b".repeat(28)}.recording.cast`];
  world = await SessionWorld.start({}, {}, ({ folder, config }) =>
    writeFileSync(join(folder, waiting), Buffer.alloc(config.spoolBytes - 200_000, "\n")),
  );
  await expect.poll(() => world.registry.metrics()).toContain(full);
  expect([world.tunnel, await world.registry.metrics()]).toEqual([undefined, expect.stringContaining(full)]);
  world.spool.done(waiting);
  await world.until(() => world.tunnel?.instance === ME, 5_000);
  await serving();
  expect(await world.registry.metrics()).not.toContain(full);
});

test.each([undefined, "soon", "2026-01-01T11:59:59Z"])("a session with the end %s ends at once", async (until) => {
  world = await SessionWorld.start({ until } as never);
  await world.until(() => world.tunnel?.closed !== undefined);
  expect(world.tunnel?.closed?.reason).toBe("expired");
  expect(readdirSync(world.folder)).toEqual([]);
});

test("the platform that has ended it is believed", async () => {
  world = await SessionWorld.start();
  const { socket } = await serving();
  world.ticketError = new ApiError("CONFLICT", "it has ended", { status: 409, retryable: false });
  socket.terminate();
  await world.until(() => world.tunnel?.closed !== undefined, 100);
  expect(world.tunnel?.closed?.reason).toBe("killed");
});

test("a client that has gone is not said to be attached, and an epoch has one number", async () => {
  world = await SessionWorld.start({ tunnel: { ...OTHER, attachedAt: "2026-01-01T11:00:00Z" } });
  await world.until(() => world.tunnel?.instance === ME, 5_000);
  expect(world.tunnel?.attachedAt).toBeUndefined();
  const { socket } = await serving();
  say(socket, { type: "peer", epoch: 1 });
  say(socket, { type: "gone" });
  await world.until(() => world.tunnel?.epoch === 4, 1_000);
  expect(world.tunnel?.attachedAt).toBeUndefined();
  // The relay had a client, and this tunnel never saw its key.
  expect(readFileSync(join(world.folder, auditFile(SESSION_ID)), "utf8")).not.toContain("tach");
});

test("a recording that a tunnel left is gone on with, and the last record says what it is then", async () => {
  world = await SessionWorld.start({}, {}, ({ folder }) => {
    const lines = [{ version: 2, width: 80, height: 24, timestamp: 1_767_268_790, title: "s" }, [9.5, "o", "before"]];
    writeFileSync(
      join(folder, recordingFile(SESSION_ID)),
      `${lines.map((line) => JSON.stringify(line)).join("\n")}\n[10`,
    );
  });
  const { socket } = await serving();
  say(socket, { type: "close", reason: "client" });
  await world.until(() => world.heads.length > 0);
  expect(world.uploaded).toEqual([auditFile(SESSION_ID), recordingFile(SESSION_ID)]);
  const recording = readFileSync(join(world.folder, recordingFile(SESSION_ID)));
  const cut = "the tunnel was started again, and 3 bytes of an unfinished line were cut off";
  expect(recording.toString().split("\n").slice(1)).toEqual([
    '[9.5,"o","before"]',
    `[10,"m",${JSON.stringify(cut)}]`,
    "",
  ]);
  const audit = readFileSync(join(world.folder, auditFile(SESSION_ID)), "utf8")
    .trimEnd()
    .split("\n");
  expect(JSON.parse(audit.at(-1) ?? "").recording).toEqual({
    bytes: recording.length,
    sha256: createHash("sha256").update(recording).digest("hex"),
  });
});

test("a recording that a tunnel left of a session that is over is mended, and the audit's end says what it is", async () => {
  const isOver = { state: "Closed", closedAt: "2026-01-01T12:10:00Z", closeReason: "revoked" } as const;
  world = await SessionWorld.start({ ...isOver, tunnel: { ...OTHER, instance: ME } }, {}, (each) => {
    fileOf(ME)(each);
    const header = JSON.stringify({ version: 2, width: 80, height: 24, timestamp: 1_767_268_790, title: "s" });
    writeFileSync(join(each.folder, recordingFile(SESSION_ID)), `${header}\n[9.5,"o","seen"]\n[10,"o","to`);
  });
  await world.until(() => world.uploaded.length === 2);
  const recording = readFileSync(join(world.folder, recordingFile(SESSION_ID)));
  expect(recording.toString()).toMatch(
    /\[9\.5,"o","seen"\]\n\[10,"m","the tunnel was started again, and 11 bytes .*\]\n$/,
  );
  const [, end] = readFileSync(join(world.folder, auditFile(SESSION_ID)), "utf8").split("\n");
  expect(JSON.parse(end ?? "")).toMatchObject({
    reason: "agent_lost",
    recording: { bytes: recording.length, sha256: createHash("sha256").update(recording).digest("hex") },
  });
});

test("the recording of a session that another tunnel took stays until it is over, and is not sent", async () => {
  const content = `${JSON.stringify({ version: 2, width: 80, height: 24, timestamp: 1_767_268_790, title: "s" })}\n`;
  const kept = (): readonly string[] => names().filter((name) => name.includes("recording"));
  world = await SessionWorld.start({}, {}, ({ folder }) =>
    writeFileSync(join(folder, recordingFile(SESSION_ID)), content),
  );
  const { closed } = await serving();
  world.write({ tunnel: OTHER });
  await world.until(closed);
  await world.until(() => names().includes(`${auditFile(SESSION_ID)}.done`));
  expect(kept()).toEqual([recordingFile(SESSION_ID)]);
  world.write({ state: "Closed", closedAt: "2026-01-01T12:10:00Z", closeReason: "client" });
  await world.until(() => kept()[0] === `${recordingFile(SESSION_ID)}.done`, 5_000);
  expect(world.uploaded).toEqual([]);
});

test("a relay that says that another tunnel came, where none has taken the session, gets no record out of the audit", async () => {
  world = await SessionWorld.start();
  let { socket } = await serving();
  const begun = (): number =>
    readFileSync(join(world.folder, auditFile(SESSION_ID)), "utf8").split('"type":"open"').length;
  for (let time = 1; time <= 2; time += 1) {
    socket.close(RELAY_CLOSE_CODES.replaced);
    const next = world.accept();
    await world.untilInTime(() => begun() === time + 2);
    socket = await next;
  }
  say(socket, { type: "close", reason: "client" });
  await world.untilInTime(() => world.heads.length > 0 && world.tunnel?.closed !== undefined);
  expect([names(), world.uploaded]).toEqual([[auditFile(SESSION_ID)], [auditFile(SESSION_ID)]]);
  const file = readFileSync(join(world.folder, auditFile(SESSION_ID)));
  expect(verifyAudit(file, world.tunnel?.audit?.head)).toMatchObject({ problems: [], isClosed: true, beyond: 0 });
  expect(file.toString().match(/"type":"open"/g)).toHaveLength(3);
});

test("one that ends before the tunnel comes back to it is sent, unless another tunnel had it last", async () => {
  for (const other of [undefined, { ...OTHER, audit }]) {
    world = await SessionWorld.start();
    const { socket } = await serving();
    world.isCurrent = false;
    socket.close(RELAY_CLOSE_CODES.replaced);
    await world.until(() => readFileSync(join(world.folder, auditFile(SESSION_ID)), "utf8").includes('"type":"close"'));
    world.isCurrent = true;
    const ended = { state: "Closed", closedAt: "2026-01-01T12:10:00Z", closeReason: "client" } as const;
    world.write({ ...ended, ...(other && { tunnel: other }) });
    await world.until(() => world.uploaded.length > 0 || names()[0]?.endsWith(".done") === true, 1_000);
    expect(world.uploaded).toEqual(other === undefined ? [auditFile(SESSION_ID)] : []);
    if (other === undefined) await world.close();
  }
});

test("a recording that cannot be gone on with ends the session: it is not begun a second time", async () => {
  world = await SessionWorld.start({}, {}, ({ folder }) => {
    writeFileSync(join(folder, recordingFile(SESSION_ID)), "no recording\n");
  });
  await world.until(() => world.tunnel?.closed !== undefined);
  expect(world.tunnel?.closed?.reason).toBe("audit-failed");
  expect(readFileSync(join(world.folder, recordingFile(SESSION_ID)), "utf8")).toBe("no recording\n");
});
