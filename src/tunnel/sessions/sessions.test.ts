import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { ApiError } from "../../api-client/api-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { say } from "../../debug-link/testing/fake-relay.ts";
import { ServerClock } from "../../kube/client/server-clock.ts";
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
  await world.until(() => world.heads.length > 0);
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
  world = await SessionWorld.start({}, {}, (folder) => {
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

test("a recording that cannot be gone on with ends the session: it is not begun a second time", async () => {
  world = await SessionWorld.start({}, {}, (folder) => {
    writeFileSync(join(folder, recordingFile(SESSION_ID)), "no recording\n");
  });
  await world.until(() => world.tunnel?.closed !== undefined);
  expect(world.tunnel?.closed?.reason).toBe("audit-failed");
  expect(readFileSync(join(world.folder, recordingFile(SESSION_ID)), "utf8")).toBe("no recording\n");
});
