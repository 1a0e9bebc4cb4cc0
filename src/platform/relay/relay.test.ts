import { expect, it } from "vitest";
import { WebSocket } from "ws";
import { newSite } from "../areas/deployments/testing/site.ts";
import { startPlatform } from "../server.ts";
import { inMemory } from "../testing/empty-database.ts";
import { type Answer, onEachDatabase, type World } from "../testing/harness.ts";
import { TestClock } from "../testing/test-clock.ts";
import { BODY, callsOf, Peer, read, refused, type Session, until } from "./testing/peer.ts";

onEachDatabase("the debug relay", (world) => {
  const { ask, ticketFor, join, start } = callsOf(world);
  const data = (index: number, size = 10) => ({ type: "data", id: "s1", channel: 1, index, b64: "A".repeat(size) });
  const indexes = (frames: readonly string[]): number[] => frames.map((each) => JSON.parse(each).index);

  it("pairs both sides and copies frames in order, both ways", async () => {
    const { site, id, client, tunnel, deployment } = await start();
    for (let index = 0; index < 200; index += 1) {
      client.send(data(index));
      tunnel.send(data(1000 + index));
    }
    expect(indexes(await tunnel.received(200))).toEqual(Array.from({ length: 200 }, (_, index) => index));
    expect(indexes(await client.received(200))).toEqual(Array.from({ length: 200 }, (_, index) => 1000 + index));
    expect(await read(world, site, id)).toMatchObject({ state: "running", access: { mode: "exec", namespace: null } });
    client.send({ type: "close", reason: "done" });
    expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1000, 1000]);
    expect(tunnel.frames.at(-1)).toContain("close");
    await until(world, site, id, "stopped");
    expect((await read(world, site, id)).closeReason).toBe("client");
    const { items } = (await site.call("GET", "/v1/events", { query: { deploymentId: deployment } })).body;
    expect(items[0]).toMatchObject({ data: { type: "DebuggingAgent" }, state: "success", debugSessionId: id });
  });

  it("holds a fast side back at the bound and loses nothing", async () => {
    const { site, id, client, tunnel } = await start();
    tunnel.socket.pause();
    const count = 200;
    for (let index = 0; index < count; index += 1) client.send(data(index, 200_000));
    // The kernel's buffers and ours are full long before 40 MB: the rest waits at its source.
    for (let turn = 0; turn < 10; turn += 1) await read(world, site, id);
    expect(client.socket.bufferedAmount).toBeGreaterThan(10_000_000);
    tunnel.socket.resume();
    expect(indexes(await tunnel.received(count))).toEqual(Array.from({ length: count }, (_, index) => index));
  });

  it("a lost side comes back with a new ticket, and what was sent meanwhile comes first", async () => {
    const { site, id, client, tunnel } = await start();
    tunnel.socket.terminate();
    await tunnel.closed;
    for (let index = 0; index < 5; index += 1) client.send(data(index));
    world.clock.advance(59_000);
    const again = await join(id, site.manager.key);
    client.send(data(5));
    expect(indexes(await again.received(6))).toEqual([0, 1, 2, 3, 4, 5]);
    // The clock has run out for the one that was lost, not for the one that is here.
    world.clock.advance(2_000);
    expect((await read(world, site, id)).state).toBe("running");
    const replacing = await join(id, site.manager.key);
    expect(await again.closed).toBe(4409);
    replacing.send(data(7));
    expect(indexes(await client.received(1))).toEqual([7]);
  });

  it("a tunnel that stays away for 60 s fails the session, a client that does ends it", async () => {
    const one = await start();
    one.tunnel.socket.terminate();
    await one.tunnel.closed;
    await settle(one);
    world.clock.advance(60_000);
    expect(await one.client.closed).toBe(4412);
    await until(world, one.site, one.id, "failed");
    expect((await read(world, one.site, one.id)).error.code).toBe("DEBUG_TUNNEL_LOST");
    const two = await start();
    two.client.socket.terminate();
    await two.client.closed;
    await settle(two);
    world.clock.advance(60_000);
    expect(await two.tunnel.closed).toBe(1000);
    await until(world, two.site, two.id, "stopped");
  });

  /** The server has seen the loss once it answers on the same event loop turn or later. */
  async function settle({ site, id }: Session): Promise<void> {
    for (let turn = 0; turn < 5; turn += 1) await read(world, site, id);
  }

  it("the kill switch, a dead key and a deleted deployment end it", async () => {
    const killed = await start();
    await killed.site.call("PATCH", `/v1/debug-sessions/${killed.id}`, { body: { state: "stopping" } });
    expect(await Promise.all([killed.client.closed, killed.tunnel.closed])).toEqual([4411, 4411]);
    await until(world, killed.site, killed.id, "stopped");
    expect((await read(world, killed.site, killed.id)).closeReason).toBe("killed");

    const revoked = await start();
    const owner = (await read(world, revoked.site, revoked.id)).owner;
    await world.call("DELETE", `/v1/api-keys/${owner}`, { key: revoked.site.admin });
    expect(await Promise.all([revoked.client.closed, revoked.tunnel.closed])).toEqual([4411, 4411]);
    await until(world, revoked.site, revoked.id, "stopped");
    expect((await read(world, revoked.site, revoked.id)).closeReason).toBe("revoked");

    const gone = await start();
    await gone.site.call("POST", `/v1/deployments/${gone.deployment}/delete`, { body: { action: "forget" } });
    expect(await gone.client.closed).toBe(4411);
  });

  it("lives in the customer's window, and ends when the customer takes the yes back", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const plan = {
      ...{ deploymentId: deployment, remediationPlanId: "incident-7", title: "Look inside", debug: true },
      commands: [{ command: "debug/exec", summary: "look", params: { namespace: "web", mode: "exec" } }],
    };
    const yes = (await site.call("POST", "/v1/access-requests", { body: plan })).body;
    await site.call("POST", `/v1/access-requests/${yes.id}/queue`);
    const access = { accessRequestId: yes.id, namespace: "web" };
    expect((await ask(site, deployment, access)).body.code).toBe("ACCESS_REQUEST_REQUIRED");
    const approvedUntil = new Date(world.clock.wallNow().getTime() + 600_000).toISOString();
    const tell = (kind: string, item: object): Promise<Answer> => {
      const body = { deploymentId: deployment, [kind]: [{ requestId: yes.id, planHash: yes.planHash, ...item }] };
      return world.call("POST", `/v1/access-requests/${kind}`, { key: site.manager.key, body });
    };
    expect((await tell("approvals", { approvedUntil })).body.recorded).toBe(1);
    expect((await ask(site, deployment, { ...access, mode: "logs" })).body.code).toBe("ACCESS_REQUEST_REQUIRED");
    const { session, attachUrl, ticket } = (await ask(site, deployment, access)).body;
    expect([session.expiresAt, session.access.accessRequestId]).toEqual([approvedUntil, yes.id]);
    const client = await new Peer(attachUrl, ticket).opened();
    expect((await tell("decisions", { outcome: "revoked" })).body.recorded).toBe(1);
    expect(await client.closed).toBe(4411);
    await until(world, site, session.id, "stopping");
    expect((await read(world, site, session.id)).closeReason).toBe("revoked");
  });

  it("ends at the instant of its end, and after 15 min without a byte of the client's", async () => {
    const short = await start({ minutes: 1 });
    world.clock.advance(60_000);
    expect(await Promise.all([short.client.closed, short.tunnel.closed])).toEqual([4410, 4410]);
    expect(await read(world, short.site, short.id)).toMatchObject({ state: "expired", closeReason: "expired" });
    const idle = await start();
    idle.tunnel.send(data(1));
    await idle.client.received(1);
    world.clock.advance(15 * 60_000);
    expect(await Promise.all([idle.client.closed, idle.tunnel.closed])).toEqual([4408, 4408]);
    await until(world, idle.site, idle.id, "stopped");
    expect((await read(world, idle.site, idle.id)).closeReason).toBe("idle");
  });

  it("frames are text of at most 256 KiB", async () => {
    const { client, site, id, engineer } = await start();
    client.send(data(1, 300_000));
    expect(await client.closed).toBe(1009);
    const again = await join(id, engineer);
    again.socket.send(Buffer.from([1, 2, 3]));
    expect(await again.closed).toBe(1003);
    expect((await read(world, site, id)).state).toBe("running");
  });

  it("a ticket is for one use, one side, one session and one minute; the newest counts", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const { session, attachUrl, ticket } = (await ask(site, deployment)).body;
    const other = (await ask(site, deployment)).body;
    const offer = (text: string): string[] => ["sp-debug.v1", `ticket.${text}`];
    const invalid = [401, "TICKET_INVALID"];
    expect(await refused(attachUrl, ["sp-debug.v1"])).toEqual(invalid);
    expect(await refused(attachUrl, [`ticket.${ticket}`])).toEqual(invalid);
    expect(await refused(attachUrl, offer("x".repeat(43)))).toEqual(invalid);
    expect(await refused(attachUrl.replace("attach", "tunnel"), offer(ticket))).toEqual(invalid);
    expect(await refused(other.attachUrl, offer(ticket))).toEqual(invalid);
    const newer = (await ticketFor(session.id, site.member)).body;
    expect(newer.url).toBe(attachUrl);
    expect(await refused(attachUrl, offer(ticket))).toEqual(invalid);
    const peer = await new Peer(newer.url, newer.ticket).opened();
    expect(await refused(attachUrl, offer(newer.ticket))).toEqual(invalid);
    peer.socket.terminate();
    const late = (await ticketFor(other.session.id, site.admin)).body;
    world.clock.advance(60_000);
    expect(await refused(late.url, offer(late.ticket))).toEqual(invalid);
    const over = (await ticketFor(other.session.id, site.admin)).body;
    await site.call("PATCH", `/v1/debug-sessions/${other.session.id}`, { body: { state: "stopping" } });
    expect(await refused(over.url, offer(over.ticket))).toEqual([409, "INVALID_STATE_TRANSITION"]);
    expect((await ticketFor(other.session.id, site.admin)).body.code).toBe("INVALID_STATE_TRANSITION");
    const stranger = await site.workspace.key("workspace.member");
    expect((await ticketFor(session.id, stranger)).body.code).toBe("NOT_FOUND");
  });

  it("without an upgrade the paths say so", async () => {
    const answer = await world.call("GET", `/v1/debug-sessions/dbg_${"0".repeat(28)}/attach`);
    expect([answer.status, answer.body.code, answer.headers.get("upgrade")]).toEqual([
      ...[426, "UPGRADE_REQUIRED", "websocket"],
    ]);
  });

  it("asks only where somebody can answer, and shows the ticket once", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const headers = { "idempotency-key": "one" };
    const path = `/v1/deployments/${deployment}/debug-requests`;
    const first = await site.call("POST", path, { body: { ...BODY, namespace: "web" }, headers });
    expect([first.status, first.body.session.access.namespace]).toEqual([201, "web"]);
    expect(first.body.ticket).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const again = await site.call("POST", path, { body: { ...BODY, namespace: "web" }, headers });
    expect(again.body).toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
      message: expect.stringContaining("answered with a secret"),
    });
    const named = await ask(site, deployment, { accessRequestId: `ar_${"0".repeat(28)}` });
    expect(named.body.code).toBe("ACCESS_REQUEST_REQUIRED");
    world.clock.advance(181_000);
    expect((await ask(site, deployment)).body.code).toBe("MANAGER_UNAVAILABLE");
  });

  it("two pongs missed end a side, and only that one", async () => {
    const { site, id, client } = await start();
    const { url, ticket } = (await ticketFor(id, site.manager.key)).body;
    const mute = await new Peer(url, ticket, { autoPong: false }).opened();
    for (let round = 0; round < 3; round += 1) {
      expect(mute.socket.readyState).toBe(WebSocket.OPEN);
      world.clock.advance(20_000);
      // The other's pong is there before the next round begins.
      await read(world, site, id);
      await read(world, site, id);
    }
    expect(await mute.closed).toBe(1006);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    const again = await join(id, site.manager.key);
    client.send(data(1));
    expect(indexes(await again.received(1))).toEqual([1]);
  });
});

it("a server that stops says so, and both sides may come back", async () => {
  const clock = new TestClock();
  const platform = await startPlatform({ database: await inMemory(), clock, rateLimits: false });
  const { call } = await import("../testing/harness.ts");
  const { bootstrap } = platform;
  const { id: workspaceId } = await bootstrap.workspace("restarting");
  const key = (await bootstrap.key({ workspaceId, role: "workspace.admin", scope: { type: "workspace" } })).key;
  const world = {
    platform,
    clock,
    call: (method: string, path: string, options?: object) => call(platform.url, method, path, options),
    workspace: async () => ({
      id: workspaceId,
      name: "restarting",
      key: async () => key,
      manager: () => bootstrap.manager({ workspaceId, name: "a-manager", shared: true }),
    }),
  } as unknown as World;
  const { client, tunnel, site, id } = await callsOf(world).start();
  expect((await read(world, site, id)).state).toBe("running");
  await platform.close();
  expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1012, 1012]);
});
