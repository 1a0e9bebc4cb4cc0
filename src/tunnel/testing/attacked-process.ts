import type { ClientHttp2Session } from "node:http2";
import { afterEach, beforeEach, expect } from "vitest";
import type { SessionServer } from "../serving/session-server.ts";
import { engineerOf, servedSession, statusOf, turns } from "./raw-engineer.ts";

/**
 * For tests that attack a session: after each of them nothing was thrown, and another session of the process answers.
 * Call it once in a file.
 *
 * @returns serves one more session; it is cut after the test
 */
export function attackedProcess(): () => ReturnType<typeof servedSession> {
  let servers: SessionServer[];
  let thrown: unknown[];
  let quiet: ClientHttp2Session;
  const onThrown = (error: unknown): void => void thrown.push(error);
  const serve = () => {
    const served = servedSession();
    servers.push(served.server);
    return served;
  };
  beforeEach(async () => {
    [servers, thrown] = [[], []];
    process.on("uncaughtException", onThrown);
    process.on("unhandledRejection", onThrown);
    quiet = await engineerOf(serve().server);
  });
  afterEach(async () => {
    expect(await statusOf(quiet)).toBe(200);
    for (const server of servers) server.cut();
    await turns(1);
    process.off("uncaughtException", onThrown);
    process.off("unhandledRejection", onThrown);
    expect(thrown).toEqual([]);
  });
  return serve;
}
