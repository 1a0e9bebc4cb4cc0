import { once } from "node:events";
import { WebSocket } from "ws";
import { RELAY_PROTOCOL } from "../../contract/debug-sessions/debug-relay.ts";
import { EpochStream } from "../epoch-stream.ts";
import type { FakeRelay } from "./fake-relay.ts";

interface StreamPair {
  readonly near: EpochStream;
  readonly far: EpochStream;
  /** Below `near` and `far`. */
  readonly sockets: readonly [WebSocket, WebSocket];
}

/**
 * Both ends of one WebSocket, as streams. Not `stream.duplexPair`, which gives bytes on inside of the writer's call:
 * Node's HTTP/2 aborts the process when it is entered again (node_http2.cc, `session->is_reading_stopped()`).
 */
export async function streamPair(relay: FakeRelay): Promise<StreamPair> {
  const socket = new WebSocket(relay.relayUrl, [RELAY_PROTOCOL], { perMessageDeflate: false });
  const [other] = await Promise.all([relay.accept(), once(socket, "open")]);
  const over = (each: WebSocket): EpochStream => {
    const stream = new EpochStream(each);
    each.on("message", (data: Buffer) => stream.receive(data));
    each.once("close", () => stream.destroy());
    stream.once("close", () => each.terminate());
    return stream;
  };
  return { near: over(socket), far: over(other), sockets: [socket, other] };
}
