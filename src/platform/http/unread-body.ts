import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import { linger } from "../kernel/linger.ts";

/**
 * Ends the connection with an answer that comes before the whole body. A proxy that keeps the connection may send the next
 * request, of somebody else, while this server still counts its bytes as the rest of that body. The end comes gently:
 * a socket that is closed with bytes unread is reset, and the proxy then tells its client 502 in place of the answer.
 */
export async function endUnread(
  request: IncomingMessage,
  response: ServerResponse,
  clock: Pick<Clock, "after">,
): Promise<void> {
  const { socket } = request;
  // A request of a test has no socket, and no rest of a body.
  if (request.complete || !(socket instanceof Socket)) return;
  // Of a short body the end has come with the headers, and the parser is about to find it.
  await nextTurn();
  if (request.complete) return;
  response.setHeader("connection", "close");
  const end = (): void => Socket.prototype.destroySoon.call(socket);
  // Node calls it once the answer is written.
  socket.destroySoon = () => {
    if (request.complete) return end();
    socket.end();
    request.once("close", end).resume();
    linger(socket, clock);
  };
}
