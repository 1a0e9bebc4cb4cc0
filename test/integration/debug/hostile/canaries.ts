import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { freePort } from "../../../../lab/cluster/ports.ts";
import type { Program } from "../../../../lab/cluster/program.ts";
import type { OpenSession } from "../engineer.ts";
import type { TunnelWorld } from "../tunnel-world.ts";
import { formsOf, foundInMemory } from "./memory.ts";
import type { PlatformProcesses } from "./platform-processes.ts";

const letters = (): string =>
  randomBytes(12)
    .toString("hex")
    .replace(/[0-9]/g, (digit) => "ghijklmnop"[Number(digit)] ?? "z");
/** Begins each word that an engineer or a pod says. */
const SAID = letters();
/** In what the platform must know: the reason of a session. What finds it would find the others. */
const KNOWN = letters();

export const REASON = `500s since 14:02 ${KNOWN}`;

const word = (name: string): string => `${SAID}-${name}`;

/** A port of the pod that says each word back. */
export async function echoPort(): Promise<{ readonly port: number; close(): void }> {
  const port = await freePort();
  const server = createServer((socket) => socket.pipe(socket)).listen(port, "127.0.0.1");
  await once(server, "listening");
  return { port, close: () => void server.close() };
}

/** Words in both directions of every kind of stream, each seen at its end. */
export async function plant(
  at: TunnelWorld,
  { exec, forward, port }: { readonly exec: OpenSession; readonly forward: OpenSession; readonly port: number },
): Promise<void> {
  writeFileSync(join(at.pod.folder, "secret.txt"), `${word("stdout")}\n`.repeat(500));
  const typed = exec.start(["exec", "-i", "api-0", "--", "sh", "-c", "cat > typed.txt; cat secret.txt"]);
  typed.child.stdin.end(`${word("stdin")}\n`.repeat(500));
  expect(await typed.ended).toBe(0);
  expect(typed.out).toContain(word("stdout"));
  expect(readFileSync(join(at.pod.folder, "typed.txt"), "utf8")).toContain(word("stdin"));
  for (let count = 0; count < 500; count += 1) at.pod.log(word("log"));
  expect((await exec.kubectl(["logs", "api-0"])).stdout).toContain(word("log"));
  const local = await freePort();
  const forwarding = forward.start(["port-forward", "api-0", `${local}:${port}`]);
  await forwarding.says(/Forwarding from 127/);
  const socket = connect(local, "127.0.0.1");
  socket.write(`${word("forwarded")}\n`.repeat(500));
  expect(String((await once(socket, "data"))[0])).toContain(word("forwarded"));
  socket.destroy();
  forwarding.child.kill();
}

/** What was said is in no memory of the platform's; what it must know is. The tunnel has read the very same words. */
export async function expectNoneInMemory(
  { programs }: PlatformProcesses,
  sessionId: string,
  tunnel: Program,
): Promise<void> {
  expect(await foundInMemory(tunnel.pid ?? 0, [SAID])).toEqual([SAID]);
  const found = await Promise.all(programs.map(({ pid }) => foundInMemory(pid ?? 0, [SAID, KNOWN, sessionId])));
  // The first answers the engineer; both know the session.
  expect(found[0]).toEqual([KNOWN, sessionId]);
  for (const each of found) expect(each.filter((one) => one !== KNOWN)).toEqual([sessionId]);
}

/** The same of every log file and every table. */
export async function expectNoneStored(platforms: PlatformProcesses, sessionId: string): Promise<void> {
  const rows = await platforms.dump();
  const logs = platforms.programs.map(({ logFile }) => readFileSync(logFile, "latin1"));
  const has = (text: string, what: string): boolean =>
    formsOf(what).some((form) => text.includes(form.toString("latin1")));
  expect([has(rows, SAID), has(rows, KNOWN)]).toEqual([false, true]);
  for (const log of logs) expect([has(log, SAID), has(log, sessionId)]).toEqual([false, true]);
}
