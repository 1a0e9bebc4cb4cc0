import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { newSite, type Site } from "../areas/deployments/testing/site.ts";
import type { RunningPlatform } from "../server.ts";
import type { World } from "../testing/harness.ts";
import { findPostgres, type TestPostgres } from "../testing/postgres.ts";
import { FORWARDED_HEADER } from "./forward.ts";
import { callsOf, Peer, read, refused, TUNNEL_KEY, until } from "./testing/peer.ts";
import { type Replicas, startReplicas } from "./testing/replicas.ts";

const postgres = findPostgres();

interface Asked {
  readonly site: Site;
  readonly id: string;
  /** A fresh socket of that side, at that replica. */
  enter(side: "attach" | "tunnel", at: number): Promise<Peer>;
  /** A fresh ticket, and where the replica takes it. */
  ticket(side: "attach" | "tunnel", at: number): Promise<{ readonly url: string; readonly ticket: string }>;
}

async function asked({ platforms, world }: Replicas): Promise<Asked> {
  const site = await newSite(world);
  const { id } = (await callsOf(world).ask(site, await site.deploy("shop"))).body.session;
  const ticket: Asked["ticket"] = async (side, at) => {
    const more = side === "tunnel" ? { key: site.manager.key, body: { tunnelKey: TUNNEL_KEY } } : { key: site.member };
    const answer = await world.call("POST", `/v1/debug-sessions/${id}/tickets`, more);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    const url = `${nth(platforms, at).url.replace("http", "ws")}/v1/debug-sessions/${id}/${side}`;
    return { url, ticket: answer.body.ticket };
  };
  const enter: Asked["enter"] = async (side, at) => {
    const made = await ticket(side, at);
    return new Peer(made.url, made.ticket).opened();
  };
  return { site, id, ticket, enter };
}

function nth(platforms: readonly RunningPlatform[], at: number): RunningPlatform {
  const found = platforms[at];
  if (found === undefined) throw new Error(`no replica ${at}`);
  return found;
}

const homeOf = async (world: World, id: string) =>
  world.platform.db.selectFrom("relay_homes").selectAll().where("session_id", "=", id).executeTakeFirstOrThrow();

/** Both ways, once both sides are in the same epoch: what is sent before that belongs to none. */
const passes = async (client: Peer, tunnel: Peer): Promise<void> => {
  const isSame = (): boolean => client.epochs.length > 0 && client.epochs.at(-1) === tunnel.epochs.at(-1);
  await Promise.race([client.saw(isSame), tunnel.saw(isSame)]);
  const [inward, outward] = [Buffer.alloc(300_000, "i"), Buffer.alloc(300_000, "o")];
  const before = [tunnel.text.length, client.text.length] as const;
  for (let index = 0; index < 300_000; index += 100_000) {
    client.send(inward.subarray(index, index + 100_000));
    tunnel.send(outward.subarray(index, index + 100_000));
  }
  expect((await tunnel.received(before[0] + inward.length)).endsWith(String(inward))).toBe(true);
  expect((await client.received(before[1] + outward.length)).endsWith(String(outward))).toBe(true);
};

describe.skipIf(postgres === undefined)("the relay in three replicas on one PostgreSQL", () => {
  let server: TestPostgres | undefined;
  let made: Replicas | undefined;
  const replicas = (): Replicas => {
    if (made === undefined) throw new Error("not up yet");
    return made;
  };

  beforeAll(async () => {
    server = await postgres?.();
    if (server !== undefined) made = await startReplicas(server, 3);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(made?.platforms.map((platform) => platform.close()) ?? []);
    await server?.stop();
  }, 60_000);

  const LANDINGS = [0, 1, 2].flatMap((first) => [0, 1, 2].map((second) => [first, second] as const));

  it.each(LANDINGS)("bytes pass when the client lands on %i and the tunnel on %i", async (first, second) => {
    const { site, id, enter } = await asked(replicas());
    const client = await enter("attach", first);
    const tunnel = await enter("tunnel", second);
    await Promise.all([client.paired(1), tunnel.paired(1)]);
    await passes(client, tunnel);
    client.say({ type: "close", reason: "client" });
    expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1000, 1000]);
    await until(replicas().world, site, id, "stopped");
    const ended = await read(replicas().world, site, id);
    expect([ended.bytesIn, ended.bytesOut]).toEqual([300_000, 300_000]);
  });

  it("two sides that come at the same time to two replicas meet", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { enter } = await asked(replicas());
      const [client, tunnel] = await Promise.all([enter("attach", 1), enter("tunnel", 2)]);
      await passes(client, tunnel);
      for (const peer of [client, tunnel]) peer.socket.terminate();
    }
  });

  it("a side that moves to another replica begins a new epoch in the same home", async () => {
    const { id, enter } = await asked(replicas());
    const client = await enter("attach", 0);
    const tunnel = await enter("tunnel", 1);
    await client.paired(1);
    const home = await homeOf(replicas().world, id);
    tunnel.socket.terminate();
    await client.saw(({ frames }) => frames.at(-1)?.type === "gone");
    const moved = await enter("tunnel", 2);
    await client.paired(2);
    await passes(client, moved);
    expect(client.epochs).toEqual([2, 3]);
    expect((await homeOf(replicas().world, id)).replica_id).toBe(home.replica_id);
  });

  it("a home that lost its lease sends its sides away, and their epochs go on growing in the next one", async () => {
    const { site, id, enter } = await asked(replicas());
    const { world } = replicas();
    const client = await enter("attach", 0);
    const tunnel = await enter("tunnel", 1);
    await client.paired(1);
    // As if the first had stood still for longer than its lease, and a socket had come to another in that time.
    const { replica_id } = await homeOf(world, id);
    const others = await world.platform.db.selectFrom("relay_replicas").select("id").execute();
    const other = others.find((each) => each.id !== replica_id)?.id ?? "of-nobody";
    await world.platform.db
      .updateTable("relay_homes")
      .set({ replica_id: other })
      .where("session_id", "=", id)
      .execute();
    expect(await Promise.all([client.closed, tunnel.closed])).toEqual([1012, 1012]);
    await world.platform.db.deleteFrom("relay_homes").where("replica_id", "=", "of-nobody").execute();
    const again = [await enter("attach", 2), await enter("tunnel", 0)] as const;
    await passes(...again);
    expect(Math.min(...again[0].epochs)).toBeGreaterThan(Math.max(...client.epochs));
    expect((await read(world, site, id)).state).toBe("running");
  });

  it("what one replica forwards has no other right than its ticket", async () => {
    const { id, ticket, enter } = await asked(replicas());
    const client = await enter("attach", 0);
    const headers = { [FORWARDED_HEADER]: "1" };
    const offer = (text: string): string[] => ["sp-debug.v2", `ticket.${text}`];
    const good = await ticket("tunnel", 1);
    for (const at of [0, 1, 2]) {
      const url = `${nth(replicas().platforms, at).url.replace("http", "ws")}/v1/debug-sessions/${id}/tunnel`;
      expect(await refused(url, offer("x".repeat(43)), { headers })).toEqual([401, "TICKET_INVALID"]);
      expect(await refused(url, ["sp-debug.v2"], { headers })).toEqual([401, "TICKET_INVALID"]);
      expect(await refused(url.replace("tunnel", "attach"), offer(good.ticket), { headers })).toEqual([
        401,
        "TICKET_INVALID",
      ]);
    }
    // One that says it was forwarded is not sent on, and its ticket stays.
    expect(await refused(good.url, offer(good.ticket), { headers })).toEqual([503, "SERVICE_UNAVAILABLE"]);
    const tunnel = await new Peer(good.url, good.ticket).opened();
    await passes(client, tunnel);
    for (const at of [0, 1, 2]) {
      const url = `${nth(replicas().platforms, at).url.replace("http", "ws")}/v1/debug-sessions/${id}/tunnel`;
      expect(await refused(url, offer(good.ticket))).toEqual([401, "TICKET_INVALID"]);
    }
  });

  it("the refusal of the home reaches the side", async () => {
    const { site, id, ticket, enter } = await asked(replicas());
    await enter("attach", 0);
    const late = await ticket("tunnel", 1);
    await site.call("PATCH", `/v1/debug-sessions/${id}`, { body: { state: "stopping" } });
    expect(await refused(late.url, ["sp-debug.v2", `ticket.${late.ticket}`])).toEqual([
      409,
      "INVALID_STATE_TRANSITION",
    ]);
  });

  it("a side that goes while its socket is forwarded leaves nothing behind", async () => {
    const { enter } = await asked(replicas());
    const client = await enter("attach", 0);
    for (let round = 1; round <= 3; round += 1) {
      const tunnel = await enter("tunnel", 1);
      await client.paired(round);
      tunnel.socket.terminate();
      await client.saw(({ frames }) => frames.filter(({ type }) => type === "gone").length === round);
    }
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
  });

  it("a replica that stops lets go what it forwards, and its sessions have another home at once", async () => {
    if (server === undefined) throw new Error("no PostgreSQL");
    const two = await startReplicas(server, 2);
    // Tickets come from those that stay.
    const { platforms, world } = replicas();
    const { enter } = await asked({ platforms: [...two.platforms, ...platforms], world });
    const client = await enter("attach", 0);
    const tunnel = await enter("tunnel", 1);
    await passes(client, tunnel);
    await nth(two.platforms, 1).close();
    expect(await tunnel.closed).toBe(1006);
    const back = await enter("tunnel", 0);
    await passes(client, back);
    await nth(two.platforms, 0).close();
    expect(await Promise.all([client.closed, back.closed])).toEqual([1012, 1012]);
    await passes(await enter("attach", 2), await enter("tunnel", 3));
  });

  it("without an address for peers, a side that lands elsewhere is told so and keeps its ticket", async () => {
    if (server === undefined) throw new Error("no PostgreSQL");
    const apart = await startReplicas(server, 2, { isApart: true });
    const { enter, ticket } = await asked(apart);
    const client = await enter("attach", 0);
    const elsewhere = await ticket("tunnel", 1);
    const protocols = ["sp-debug.v2", `ticket.${elsewhere.ticket}`];
    const socket = new WebSocket(elsewhere.url, protocols);
    const [, response] = await once(socket, "unexpected-response");
    socket.on("error", () => undefined);
    let text = "";
    for await (const chunk of response) text += String(chunk);
    expect([response.statusCode, Number(response.headers["retry-after"]) > 0]).toEqual([503, true]);
    expect(JSON.parse(text).hint).toContain("SALLYPORT_PLATFORM_PEER_URL");
    const here = nth(apart.platforms, 0).url.replace("http", "ws");
    const { pathname } = new URL(elsewhere.url);
    const tunnel = await new Peer(`${here}${pathname}`, elsewhere.ticket).opened();
    await passes(client, tunnel);
    await Promise.all(apart.platforms.map((platform) => platform.close()));
  });
});
