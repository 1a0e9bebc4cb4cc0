import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { RELAY_PROTOCOL } from "../../contract/debug-sessions/debug-relay.ts";
import type { RelayFrame } from "../../contract/debug-sessions/relay-frames.ts";

const SESSION = `dbg_${"a".repeat(28)}`;

/** The relay as one side sees it, saying only what the test has it say. */
export class FakeRelay {
  readonly #server: WebSocketServer;
  /** The tickets that connections came with, in order. */
  readonly tickets: string[] = [];
  readonly #arrived: WebSocket[] = [];
  readonly #wakes: (() => void)[] = [];

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on("connection", (socket, request) => {
      this.tickets.push(String(request.headers["sec-websocket-protocol"]).split("ticket.")[1] ?? "");
      socket.on("error", () => undefined);
      this.#arrived.push(socket);
      this.#wakes.shift()?.();
    });
  }

  static async start(options: { readonly autoPong?: boolean } = {}): Promise<FakeRelay> {
    const server = new WebSocketServer({
      host: "127.0.0.1",
      port: 0,
      handleProtocols: () => RELAY_PROTOCOL,
      ...options,
    });
    await once(server, "listening");
    return new FakeRelay(server);
  }

  get platformUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get relayUrl(): string {
    return `${this.platformUrl.replace("http", "ws")}/v1/debug-sessions/${SESSION}/attach`;
  }

  /** The next connection. */
  async accept(): Promise<WebSocket> {
    while (this.#arrived.length === 0) await new Promise<void>((resolve) => this.#wakes.push(resolve));
    return this.#arrived.shift() as WebSocket;
  }

  async close(): Promise<void> {
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function say(socket: WebSocket, frame: RelayFrame): void {
  socket.send(JSON.stringify(frame));
}
