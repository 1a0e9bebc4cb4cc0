import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { RELAY_PROTOCOL } from "../../../src/contract/debug-sessions/debug-relay.ts";

const PATH = /^\/v1\/debug-sessions\/(dbg_\w+)\/(attach|tunnel|tickets)/;

/** Tickets and a relay for any number of sessions: the platform's has limits for one deployment. Both sides are trusted. */
export async function startPlainRelay(stack: AsyncDisposableStack): Promise<string> {
  const waiting = new Map<string, WebSocket>();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => RELAY_PROTOCOL });
  const server = createServer((request, response) => {
    const [, id = "", what = ""] = PATH.exec(request.url ?? "") ?? [];
    request.resume();
    const isTicket = what === "tickets";
    const url = `ws://${request.headers.host}/v1/debug-sessions/${id}/tunnel`;
    const ticketExpiresAt = new Date(Date.now() + 60_000).toISOString();
    response.writeHead(isTicket ? 201 : 404, { "content-type": "application/json" });
    response.end(isTicket ? JSON.stringify({ url, ticket: "t".repeat(43), ticketExpiresAt }) : "{}");
  });
  server.on("upgrade", (request, socket, head) => {
    const [, id = ""] = PATH.exec(request.url ?? "") ?? [];
    sockets.handleUpgrade(request, socket, head, (one) => {
      one.on("error", () => undefined);
      const other = waiting.get(id);
      if (other === undefined) waiting.set(id, one);
      else join(one, other);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function join(...sides: [WebSocket, WebSocket]): void {
  for (const [from, to] of [sides, [sides[1], sides[0]]] as const) {
    from.on("message", (data: RawData, isBinary: boolean) => {
      if (isBinary) to.send(data as Buffer, { binary: true });
    });
    from.once("close", () => to.close());
    from.send(JSON.stringify({ type: "peer", epoch: 1 }));
  }
}
