import type { ClientHttp2Session } from "node:http2";
import type { WebSocket } from "ws";
import { systemClock } from "../../base/clock.ts";
import { EpochStream } from "../../debug-link/epoch-stream.ts";
import { connectInner } from "../../debug-link/inner-client.ts";
import type { SessionKey } from "../../debug-link/session-key.ts";
import { say } from "../../debug-link/testing/fake-relay.ts";

/** An engineer at the other side of the relay, whose socket to the tunnel this is. */
export function attachTo(socket: WebSocket, key: SessionKey, peerPin: string): Promise<ClientHttp2Session> {
  const stream = new EpochStream(socket);
  stream.on("error", () => undefined);
  socket.on("message", (data, isBinary) => void (isBinary && stream.receive(data as Buffer)));
  say(socket, { type: "peer", epoch: 1 });
  return connectInner({ stream, key, peerPin, clock: systemClock }, new AbortController().signal);
}
