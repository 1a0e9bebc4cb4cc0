import { expect, it } from "vitest";
import { WebSocket } from "ws";
import { newSite } from "../areas/deployments/testing/site.ts";
import { startPlatform } from "../server.ts";
import { inMemory } from "../testing/empty-database.ts";
import { type Answer, onEachDatabase, overSockets } from "../testing/harness.ts";
import { TestClock } from "../testing/test-clock.ts";
import { BODY, callsOf, KEY, Peer, read, refused, type Session, TUNNEL_KEY, until } from "./testing/peer.ts";
import { worldOf } from "./testing/replicas.ts";

onEachDatabase("the debug relay", (within) => {
  const world = overSockets(within);
  const { ask, ticketFor, tunnelTicket, attach, join, start } = callsOf(world);
  const counted = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `${from + index};`).join("");

  it("pairs both sides and copies bytes in order, both ways", async () => {
    const { site, id, client, tunnel, deployment } = await start();
    for (let index = 0; index < 200; index += 1) {
      client.send(`${index};`);
      tunnel.send(`${1000 + index};`);
    }
    const [inward, outward] = [counted(0, 200), counted(1000, 1200)];
    expect(await tunnel.received(inward.length)).toBe(inward);
    expect(await client.received(outward.length)).toBe(outward);
    expect(await read(world, site, id)).toMatchObject({
      ...{ state: "running", tunnelKey: TUNNEL_KEY, bytesIn: null },
      access: { mode: "exec", namespace: "web", clientKey: KEY, ports: null, selector: null },
    });
    client.say({ type: "close", reason: "client" });
    expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1000, 1000]);
    expect(tunnel.frames.at(-1)).toEqual({ type: "close", reason: "client" });
    await until(world, site, id, "stopped");
    const ended = await read(world, site, id);
    expect([ended.closeReason, ended.bytesIn, ended.bytesOut]).toEqual(["client", inward.length, outward.length]);
    const { items } = (await site.call("GET", "/v1/events", { query: { deploymentId: deployment } })).body;
    expect(items[0]).toMatchObject({ data: { type: "DebuggingAgent" }, state: "success", debugSessionId: id });
  });

  it("holds a fast side back at the bound and loses nothing", async () => {
    const { site, id, client, tunnel } = await start();
    tunnel.socket.pause();
    const block = Buffer.alloc(200_000, "x");
    for (let index = 0; index < 200; index += 1) client.send(block);
    // The kernel's buffers and ours are full long before 40 MB: the rest waits at its source.
    for (let turn = 0; turn < 10; turn += 1) await read(world, site, id);
    expect(client.socket.bufferedAmount).toBeGreaterThan(10_000_000);
    tunnel.socket.resume();
    await tunnel.saw(({ chunks }) => chunks.length === 200);
    expect(tunnel.chunks.every((chunk) => chunk.equals(block))).toBe(true);
  });

  it("a side that comes back begins a new epoch, in which no byte of the one before appears", async () => {
    const { site, id, client, tunnel } = await start();
    client.send("before;");
    await tunnel.received(7);
    tunnel.socket.terminate();
    await client.saw(({ frames }) => frames.at(-1)?.type === "gone");
    client.send("to no tunnel;");
    const again = await join(id, site.manager.key);
    // Sent before its word for the second epoch, as what was on its way when the first one ended.
    client.socket.send(Buffer.from("late;"));
    await Promise.all([client.paired(2), again.paired(1)]);
    client.send("new;");
    expect(await again.received(4)).toBe("new;");
    const replacing = await join(id, site.manager.key);
    expect(await again.closed).toBe(4409);
    await Promise.all([client.paired(3), replacing.paired(1)]);
    replacing.send("third;");
    expect(await client.received(6)).toBe("third;");
  });

  it("a side that has not said that it begins anew is not heard", async () => {
    const { site, id, client } = await start();
    const mute = await join(id, site.manager.key, { mute: true });
    await client.paired(2);
    mute.send("of the epoch before;");
    const [before = 0, epoch = 0] = client.epochs;
    expect(epoch).toBeGreaterThan(before);
    mute.say({ type: "ready", epoch: before });
    mute.send("of the epoch before;");
    mute.say({ type: "ready", epoch });
    mute.send("now;");
    expect(await client.received(4)).toBe("now;");
  });

  it("a client whose reader was held back hears of the next epoch", async () => {
    const { site, id, client, tunnel } = await start();
    tunnel.socket.pause();
    for (let index = 0; index < 50; index += 1) client.send(Buffer.alloc(200_000));
    for (let turn = 0; turn < 10; turn += 1) await read(world, site, id);
    tunnel.socket.terminate();
    const again = await join(id, site.manager.key);
    await client.paired(2);
    client.send("on;");
    expect(await again.received(3)).toBe("on;");
  });

  it.each([
    ["a frame that is none", "{}"],
    ["no JSON", "hello"],
    ["a relay's own frame", JSON.stringify({ type: "gone" })],
    ["a frame with more in it", JSON.stringify({ type: "ready", epoch: 1, more: 1 })],
    ["a long one", JSON.stringify({ type: "close", reason: "x".repeat(2_000) })],
  ])("%s ends its side alone", async (_, text) => {
    const { client, tunnel } = await start();
    client.socket.send(text);
    expect(await client.closed).toBe(1008);
    await tunnel.saw(({ frames }) => frames.at(-1)?.type === "gone");
  });

  it("a flood of text frames ends its side, and is counted anew with each ping", async () => {
    const { client, tunnel, site, id } = await start();
    const flood = (count: number): void => {
      for (let index = 0; index < count; index += 1) client.say({ type: "ready", epoch: client.epochs[0] });
    };
    flood(30);
    client.send("one;");
    await tunnel.received(4);
    world.clock.advance(20_000);
    flood(30);
    client.send("two;");
    expect(await tunnel.received(8)).toBe("one;two;");
    flood(3);
    expect(await client.closed).toBe(1008);
    expect((await read(world, site, id)).state).toBe("running");
  });

  it("each side may say only its own reasons", async () => {
    const said = async (side: "client" | "tunnel", reason: string) => {
      const session = await start();
      session[side].say({ type: "close", reason });
      await Promise.all([session.client.closed, session.tunnel.closed]);
      await until(world, session.site, session.id, "stopped");
      return (await read(world, session.site, session.id)).closeReason;
    };
    expect(await said("client", "killed")).toBe("client");
    expect(await said("tunnel", "killed")).toBe("agent");
    expect(await said("tunnel", "audit-failed")).toBe("audit-failed");
    expect(await said("client", "pin-mismatch")).toBe("pin-mismatch");
    // By the cluster's clock or its customer's shorter limit: the platform's own end is an hour away.
    expect(await said("tunnel", "expired")).toBe("expired");
  });

  it("says until when, and when that comes nearer", async () => {
    const { client, site, id } = await start();
    const { expiresAt } = await read(world, site, id);
    expect(client.frames[0]).toEqual({ type: "until", at: expiresAt });
    const nearer = new Date(Date.parse(expiresAt) - 600_000).toISOString();
    await world.call("PATCH", `/v1/debug-sessions/${id}`, { key: site.manager.key, body: { expiresAt: nearer } });
    world.clock.advance(1_000);
    await client.saw(({ frames }) => frames.at(-1)?.type === "until");
    expect(client.frames.at(-1)).toEqual({ type: "until", at: nearer });
  });

  it("a client that was away comes back until the session is idle, and so does a tunnel", async () => {
    const { site, id, client, tunnel, engineer } = await start();
    client.socket.terminate();
    await tunnel.saw(({ frames }) => frames.at(-1)?.type === "gone");
    world.clock.advance(14 * 60_000);
    const again = await attach(id, engineer);
    await again.paired(1);
    again.send("awake;");
    expect(await tunnel.received(6)).toBe("awake;");
    tunnel.socket.terminate();
    await again.saw(({ frames }) => frames.at(-1)?.type === "gone");
    world.clock.advance(14 * 60_000);
    const moved = await join(id, site.manager.key);
    await again.paired(2);
    again.send("on;");
    expect(await moved.received(3)).toBe("on;");
    expect((await read(world, site, id)).state).toBe("running");
    for (const peer of [again, moved]) peer.socket.terminate();
    await settle({ site, id });
    world.clock.advance(15 * 60_000);
    await until(world, site, id, "stopped");
    expect((await read(world, site, id)).closeReason).toBe("idle");
  });

  it("a client that stays away makes the session idle; a tunnel that a client waits for in vain fails it", async () => {
    const one = await start();
    one.tunnel.socket.terminate();
    await one.client.saw(({ frames }) => frames.at(-1)?.type === "gone");
    world.clock.advance(14 * 60_000);
    expect((await read(world, one.site, one.id)).state).toBe("running");
    world.clock.advance(60_000);
    expect(await one.client.closed).toBe(4412);
    await until(world, one.site, one.id, "failed");
    expect(await read(world, one.site, one.id)).toMatchObject({
      closeReason: "tunnel-lost",
      error: { code: "DEBUG_TUNNEL_LOST" },
    });
    const two = await start();
    two.client.socket.terminate();
    await two.tunnel.saw(({ frames }) => frames.at(-1)?.type === "gone");
    world.clock.advance(15 * 60_000);
    expect(await two.tunnel.closed).toBe(4408);
    await until(world, two.site, two.id, "stopped");
    expect((await read(world, two.site, two.id)).closeReason).toBe("idle");
  });

  it("the end of a session comes while both sides are away", async () => {
    const { site, id, client, tunnel } = await start({ minutes: 5 });
    for (const peer of [client, tunnel]) peer.socket.terminate();
    await settle({ site, id });
    world.clock.advance(5 * 60_000);
    expect(await read(world, site, id)).toMatchObject({ state: "expired", closeReason: "expired" });
  });

  /** The server has seen the loss once it answers on the same event loop turn or later. */
  async function settle({ site, id }: Pick<Session, "site" | "id">): Promise<void> {
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
      commands: [
        { command: "debug/exec", summary: "look", params: { namespace: "web", mode: "exec", clientKey: KEY } },
      ],
    };
    const yes = (await site.call("POST", "/v1/access-requests", { body: plan })).body;
    await site.call("POST", `/v1/access-requests/${yes.id}/queue`);
    const access = { accessRequestId: yes.id };
    expect((await ask(site, deployment, access)).body.code).toBe("ACCESS_REQUEST_REQUIRED");
    const approvedUntil = new Date(world.clock.wallNow().getTime() + 600_000).toISOString();
    const tell = (kind: string, item: object): Promise<Answer> => {
      const body = { deploymentId: deployment, [kind]: [{ requestId: yes.id, planHash: yes.planHash, ...item }] };
      return world.call("POST", `/v1/access-requests/${kind}`, { key: site.manager.key, body });
    };
    expect((await tell("approvals", { approvedUntil })).body.recorded).toBe(1);
    const others = [{ mode: "logs" }, { namespace: "bank" }, { clientKey: "o".repeat(43) }, { selector: "app=a" }];
    for (const other of others) {
      expect((await ask(site, deployment, { ...access, ...other })).body.code).toBe("ACCESS_REQUEST_REQUIRED");
    }
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
    idle.tunnel.send("1");
    await idle.client.received(1);
    world.clock.advance(15 * 60_000);
    expect(await Promise.all([idle.client.closed, idle.tunnel.closed])).toEqual([4408, 4408]);
    await until(world, idle.site, idle.id, "stopped");
    expect((await read(world, idle.site, idle.id)).closeReason).toBe("idle");
  });

  it("frames hold at most 256 KiB", async () => {
    const { client, site, id } = await start();
    client.send(Buffer.alloc(300_000));
    expect(await client.closed).toBe(1009);
    expect((await read(world, site, id)).state).toBe("running");
  });

  it("a tunnel says its key with each ticket, and no client does", async () => {
    const { site, id, engineer } = await start();
    expect((await ticketFor(id, site.manager.key)).body).toMatchObject({ code: "VALIDATION_ERROR" });
    expect((await tunnelTicket(id, engineer)).body).toMatchObject({ code: "VALIDATION_ERROR" });
    const body = { tunnelKey: "u".repeat(43) };
    expect((await world.call("POST", `/v1/debug-sessions/${id}/tickets`, { key: site.manager.key, body })).status).toBe(
      201,
    );
    expect((await read(world, site, id)).tunnelKey).toBe(body.tunnelKey);
    expect((await attach(id, engineer)).socket.protocol).toBe("sp-debug.v2");
  });

  it("ports and selectors are asked for where they mean something", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const asked = async (body: object) => (await ask(site, deployment, body)).status;
    expect(await asked({ mode: "port-forward", ports: [8080], selector: "app=a" })).toBe(201);
    expect(await asked({ mode: "exec", ports: [8080] })).toBe(400);
    expect(await asked({ mode: "read", selector: "app=a" })).toBe(400);
    for (const selector of [" ", " app=a", "app in front", ","])
      expect(await asked({ mode: "logs", selector }), selector).toBe(400);
    expect(await asked({ mode: "port-forward", ports: [0] })).toBe(400);
    expect(await asked({ clientKey: "short" })).toBe(400);
    expect(await asked({ namespace: undefined })).toBe(400);
  });

  it("a ticket is for one use, one side, one session and one minute; the newest counts", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const { session, attachUrl, ticket } = (await ask(site, deployment)).body;
    const other = (await ask(site, deployment)).body;
    const offer = (text: string): string[] => ["sp-debug.v2", `ticket.${text}`];
    const invalid = [401, "TICKET_INVALID"];
    expect(await refused(attachUrl, ["sp-debug.v2"])).toEqual(invalid);
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

  it("asks only where a manager can answer, and shows the ticket once", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const headers = { "idempotency-key": "one" };
    const path = `/v1/deployments/${deployment}/debug-requests`;
    const first = await site.call("POST", path, { body: BODY, headers });
    expect([first.status, first.body.session.access.namespace]).toEqual([201, "web"]);
    expect(first.body.ticket).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const again = await site.call("POST", path, { body: BODY, headers });
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
    const mute = await join(id, site.manager.key, { autoPong: false });
    for (const passedMs of [20_000, 20_000, 1_000]) {
      expect(mute.socket.readyState).toBe(WebSocket.OPEN);
      world.clock.advance(passedMs);
      // The other's pong is there before the next round begins.
      await read(world, site, id);
      await read(world, site, id);
    }
    expect(await mute.closed).toBe(1006);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    const again = await join(id, site.manager.key);
    await client.paired(3);
    client.send("on");
    expect(await again.received(2)).toBe("on");
  });
});

it("a server that stops says so, and both sides may come back", async () => {
  const clock = new TestClock();
  const platform = await startPlatform({ database: await inMemory(), clock, rateLimits: false });
  const world = worldOf(platform, clock);
  const { client, tunnel, site, id } = await callsOf(world).start();
  expect((await read(world, site, id)).state).toBe("running");
  await platform.close();
  expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1012, 1012]);
});

it("while the database is away no session goes on for more than 5 s, and its sides may come back", async () => {
  const clock = new TestClock();
  const platform = await startPlatform({ database: await inMemory(), clock, rateLimits: false });
  try {
    const world = worldOf(platform, clock);
    const { attach, join, start } = callsOf(world);
    const { client, tunnel, site, id, engineer } = await start();
    const settled = async (): Promise<void> => {
      for (let turn = 0; turn < 3; turn += 1) await read(world, site, id);
    };
    const rename = (from: string, to: string) => platform.db.schema.alterTable(from).renameTo(to).execute();
    // The check asks this table first; reads of sessions do not.
    await rename("relay_replicas", "away");
    // As many as pass before the last of the 5 s: each is a failed check.
    for (let second = 0; second < 4; second += 1) {
      expect([client.socket.readyState, tunnel.socket.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
      clock.advance(1_000);
      await settled();
    }
    clock.advance(1_000);
    expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1012, 1012]);
    expect((await read(world, site, id)).state).toBe("running");
    await rename("away", "relay_replicas");
    clock.advance(1_000);
    await settled();
    const [again, moved] = [await attach(id, engineer), await join(id, site.manager.key)];
    await Promise.all([again.paired(1), moved.paired(1)]);
    again.send("on;");
    expect(await moved.received(3)).toBe("on;");
    // A success ends the time that failures had.
    for (let second = 0; second < 6; second += 1) {
      clock.advance(1_000);
      await settled();
    }
    expect(again.socket.readyState).toBe(WebSocket.OPEN);
  } finally {
    await platform.close();
  }
});
