import { once } from "node:events";
import { expect } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { newSite, type Site } from "../../areas/deployments/testing/site.ts";
import type { Answer, World } from "../../testing/harness.ts";

/** One side, with what it has received. */
export class Peer {
  readonly socket: WebSocket;
  readonly frames: string[] = [];
  readonly closed: Promise<number>;
  #wake = (): void => undefined;

  constructor(url: string, ticket: string, options: ClientOptions = {}) {
    this.socket = new WebSocket(url, ["sp-debug.v1", `ticket.${ticket}`], options);
    this.socket.on("message", (data) => {
      this.frames.push(String(data));
      this.#wake();
    });
    this.socket.on("error", () => undefined);
    this.closed = once(this.socket, "close").then(([code]) => Number(code));
  }

  async opened(): Promise<this> {
    await once(this.socket, "open");
    expect(this.socket.protocol).toBe("sp-debug.v1");
    return this;
  }

  send(frame: object): void {
    this.socket.send(JSON.stringify(frame));
  }

  async received(count: number): Promise<readonly string[]> {
    while (this.frames.length < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.frames;
  }
}

/** The status and code of a refused upgrade. */
export async function refused(url: string, protocols: readonly string[]): Promise<unknown> {
  const socket = new WebSocket(url, [...protocols]);
  const [, response] = await once(socket, "unexpected-response");
  let text = "";
  for await (const chunk of response) text += String(chunk);
  socket.on("error", () => undefined);
  return [response.statusCode, JSON.parse(text).code];
}

export interface Session {
  readonly site: Site;
  readonly deployment: string;
  readonly id: string;
  readonly client: Peer;
  readonly tunnel: Peer;
  /** The key that asked, which owns the session. */
  readonly engineer: string;
}

export const BODY = { reason: "the api does not answer", mode: "exec" };

export function callsOf(world: World) {
  const ask = (site: Site, deployment: string, body: object = {}, key = site.member): Promise<Answer> =>
    world.call("POST", `/v1/deployments/${deployment}/debug-requests`, { key, body: { ...BODY, ...body } });
  const ticketFor = (id: string, key: string): Promise<Answer> =>
    world.call("POST", `/v1/debug-sessions/${id}/tickets`, { key });
  const join = async (id: string, key: string): Promise<Peer> => {
    const { url, ticket } = (await ticketFor(id, key)).body;
    return new Peer(url, ticket).opened();
  };
  const start = async (body: object = {}): Promise<Session> => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const engineer = await site.workspace.key("workspace.member");
    const asked = (await ask(site, deployment, body, engineer)).body;
    const { id } = asked.session;
    const client = await new Peer(asked.attachUrl, asked.ticket).opened();
    const tunnel = await join(id, site.manager.key);
    await until(world, site, id, "running");
    return { site, deployment, id, client, tunnel, engineer };
  };
  return { ask, ticketFor, join, start };
}

export async function read(world: World, site: Site, id: string) {
  return (await world.call("GET", `/v1/debug-sessions/${id}`, { key: site.admin })).body;
}

/** The relay writes after its sockets: each read is a round trip, so this does not spin. */
export async function until(world: World, site: Site, id: string, state: string): Promise<void> {
  while ((await read(world, site, id)).state !== state);
}
