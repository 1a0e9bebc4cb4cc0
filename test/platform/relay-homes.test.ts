import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createClient } from "../../src/api-client/client.ts";
import { BODY, Peer, TUNNEL_KEY } from "../../src/platform/relay/testing/peer.ts";
import { call } from "../../src/platform/testing/harness.ts";
import { findPostgres } from "../../src/platform/testing/postgres.ts";
import { type PlatformProcess, platformProcess } from "./platform-child.ts";
import { createSamples } from "./sample-objects.ts";

// Real processes, because only a killed one leaves its lease behind and its sockets without a word.

const postgres = findPostgres();

describe.skipIf(postgres === undefined)("three processes of the platform on one PostgreSQL", () => {
  it("a session whose home is killed meets in another one", { timeout: 300_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const signal = AbortSignal.timeout(290_000);
    const folder = await mkdtemp(join(tmpdir(), "sallyport-homes-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const server = await postgres?.();
    if (server === undefined) throw new Error("no PostgreSQL");
    stack.defer(() => server.stop());
    const env = { SALLYPORT_PLATFORM_DATABASE_URL: server.url, SALLYPORT_PLATFORM_SEALING_KEY: "5a".repeat(32) };
    const replicas: PlatformProcess[] = [];
    for (const name of ["one", "two", "three"]) {
      replicas.push(await platformProcess({ folder: join(folder, name), env, isPeer: true }, stack));
    }
    const [home, other, third] = replicas as [PlatformProcess, PlatformProcess, PlatformProcess];
    await Promise.all(replicas.map(({ program }) => program.start(signal)));
    const key = await other.firstKey();
    const admin = createClient({ baseUrl: other.url, credential: key });
    stack.defer(() => admin.close());
    const { deployment, runtimeKey } = await createSamples(admin, other.url, signal);
    const path = `/v1/deployments/${deployment}/debug-requests`;
    const asked = await call(other.url, "POST", path, { key, body: BODY });
    const { id } = asked.body.session;
    const ticketOf = async (side: "attach" | "tunnel"): Promise<string> => {
      const more = side === "tunnel" ? { key: runtimeKey, body: { tunnelKey: TUNNEL_KEY } } : { key };
      const made = await call(other.url, "POST", `/v1/debug-sessions/${id}/tickets`, more);
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      return made.body.ticket;
    };
    const enter = async (side: "attach" | "tunnel", at: PlatformProcess): Promise<Peer | undefined> => {
      const peer = new Peer(`${at.url.replace("http", "ws")}/v1/debug-sessions/${id}/${side}`, await ticketOf(side));
      return peer.opened().catch(() => undefined);
    };

    const [client, tunnel] = [await enter("attach", home), await enter("tunnel", third)];
    if (client === undefined || tunnel === undefined) throw new Error("no session");
    await Promise.all([client.paired(1), tunnel.paired(1)]);
    client.send("in;");
    expect(await tunnel.received(3)).toBe("in;");
    await home.program.kill("SIGKILL");
    // The third one holds the tunnel's socket, and ends it with the home's.
    expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1006, 1006]);

    const comesBack = async (side: "attach" | "tunnel", at: PlatformProcess): Promise<Peer> => {
      for (;;) {
        signal.throwIfAborted();
        const peer = await enter(side, at);
        if (peer !== undefined) return peer;
      }
    };
    const again = [await comesBack("attach", other), await comesBack("tunnel", third)] as const;
    await Promise.all(again.map((peer) => peer.paired(1)));
    again[0].send("on;");
    again[1].send("out;");
    expect([await again[1].received(3), await again[0].received(4)]).toEqual(["on;", "out;"]);
    expect(Math.min(...again[0].epochs)).toBeGreaterThan(Math.max(...client.epochs));
    for (const peer of again) peer.socket.terminate();
  });
});
