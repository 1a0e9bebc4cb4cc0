import { once } from "node:events";
import { expect } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { type RelayFrame, readRelayFrame } from "../../../contract/debug-sessions/relay-frames.ts";
import { newSite, type Site } from "../../areas/deployments/testing/site.ts";
import type { Answer, World } from "../../testing/harness.ts";

/** Says at once that it begins anew, as a side should; `mute` never does. */
export interface PeerOptions extends ClientOptions {
  readonly mute?: boolean;
}

/** One side, with what it has received. */
export class Peer {
  readonly socket: WebSocket;
  readonly frames: RelayFrame[] = [];
  readonly chunks: Buffer[] = [];
  readonly closed: Promise<number>;
  #wakes: (() => void)[] = [];

  constructor(url: string, ticket: string, { mute = false, ...options }: PeerOptions = {}) {
    this.socket = new WebSocket(url, ["sp-debug.v2", `ticket.${ticket}`], options);
    this.socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) this.chunks.push(data);
      else this.#onFrame(String(data), mute);
      for (const wake of this.#wakes.splice(0)) wake();
    });
    this.socket.on("error", () => undefined);
    // `once` of node:events would reject at the error of a refused upgrade, which tests wait for otherwise.
    this.closed = new Promise((resolve) => this.socket.once("close", resolve));
  }

  async opened(): Promise<this> {
    await once(this.socket, "open");
    expect(this.socket.protocol).toBe("sp-debug.v2");
    return this;
  }

  #onFrame(text: string, mute: boolean): void {
    const frame = readRelayFrame(text);
    if (frame === undefined) throw new Error(`no frame of the relay's: ${text}`);
    this.frames.push(frame);
    if (frame.type === "peer" && !mute) this.say({ type: "ready", epoch: frame.epoch });
  }

  say(frame: object): void {
    this.socket.send(JSON.stringify(frame));
  }

  send(bytes: string | Buffer): void {
    this.socket.send(Buffer.from(bytes));
  }

  get text(): string {
    return String(Buffer.concat(this.chunks));
  }

  /** Waits until `found` holds of what came so far. */
  async saw(found: (peer: this) => boolean): Promise<void> {
    while (!found(this)) await new Promise<void>((resolve) => this.#wakes.push(resolve));
  }

  async received(length: number): Promise<string> {
    await this.saw(({ text }) => text.length >= length);
    return this.text;
  }

  /** Of each time that both sides were there. */
  get epochs(): readonly number[] {
    return this.frames.flatMap((frame) => (frame.type === "peer" ? [frame.epoch] : []));
  }

  /** Waits until both sides are there for the nth time. */
  paired(times: number): Promise<void> {
    return this.saw(({ epochs }) => epochs.length >= times);
  }
}

/** The status and code of a refused upgrade. */
export async function refused(
  url: string,
  protocols: readonly string[],
  options: ClientOptions = {},
): Promise<unknown> {
  const socket = new WebSocket(url, [...protocols], options);
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

export const KEY = "k".repeat(43);
export const TUNNEL_KEY = "t".repeat(43);
export const BODY = { reason: "the api does not answer", mode: "exec", namespace: "web", clientKey: KEY };

export function callsOf(world: World) {
  const ask = (site: Site, deployment: string, body: object = {}, key = site.member): Promise<Answer> =>
    world.call("POST", `/v1/deployments/${deployment}/debug-requests`, { key, body: { ...BODY, ...body } });
  const ticketFor = (id: string, key: string): Promise<Answer> =>
    world.call("POST", `/v1/debug-sessions/${id}/tickets`, { key });
  const tunnelTicket = (id: string, key: string): Promise<Answer> =>
    world.call("POST", `/v1/debug-sessions/${id}/tickets`, { key, body: { tunnelKey: TUNNEL_KEY } });
  const enter = async ({ body }: Answer, options?: PeerOptions): Promise<Peer> =>
    new Peer(body.url, body.ticket, options).opened();
  const attach = async (id: string, key: string): Promise<Peer> => enter(await ticketFor(id, key));
  const join = async (id: string, key: string, options?: PeerOptions): Promise<Peer> =>
    enter(await tunnelTicket(id, key), options);
  const start = async (body: object = {}): Promise<Session> => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const engineer = await site.workspace.key("workspace.member");
    const asked = (await ask(site, deployment, body, engineer)).body;
    const { id } = asked.session;
    const client = await new Peer(asked.attachUrl, asked.ticket).opened();
    const tunnel = await join(id, site.manager.key);
    await until(world, site, id, "running");
    await Promise.all([client.paired(1), tunnel.paired(1)]);
    return { site, deployment, id, client, tunnel, engineer };
  };
  return { ask, ticketFor, tunnelTicket, attach, join, start };
}

export async function read(world: World, site: Site, id: string) {
  return (await world.call("GET", `/v1/debug-sessions/${id}`, { key: site.admin })).body;
}

/** The relay writes after its sockets: each read is a round trip, so this does not spin. */
export async function until(world: World, site: Site, id: string, state: string): Promise<void> {
  while ((await read(world, site, id)).state !== state);
}
