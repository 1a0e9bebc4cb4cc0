import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Clock } from "../base/clock.ts";
import { withDeadline } from "../base/deadline.ts";
import { CONNECTION_WINDOW_BYTES, HANDSHAKE_MS, HEADER_LIST_BYTES, STREAM_WINDOW_BYTES } from "./inner-limits.ts";
import { hasPin, type SessionKey } from "./session-key.ts";

export interface InnerOptions {
  /** An epoch's. It is closed with the session. */
  readonly stream: Duplex;
  readonly key: SessionKey;
  /** Of the tunnel, from the session's record. */
  readonly peerPin: string;
  readonly clock: Clock;
}

/** The other end has another key than the session's record says. */
export class PinMismatch extends Error {
  override readonly name = "PinMismatch";
}

/**
 * TLS 1.3 and HTTP/2 to the tunnel, through a relay that can read neither. Resolves when both ends have compared the
 * other's key and upgrades can be asked for.
 *
 * @throws PinMismatch; Error when the other end hangs up, is silent or speaks another protocol
 */
export async function connectInner(
  { stream, key, peerPin, clock }: InnerOptions,
  signal: AbortSignal,
): Promise<ClientHttp2Session> {
  try {
    return await withDeadline(clock, HANDSHAKE_MS, signal, async (limit) => {
      // A stream that has closed already says so to no listener: the handshake would wait for its whole deadline.
      refuseClosed(stream);
      const socket = await handshake(stream, key, peerPin, limit);
      refuseClosed(stream);
      const session = overTls(socket, stream);
      const lost = once(session, "close", { signal: limit }).then(() => refuseClosed(session));
      await Promise.race([once(session, "remoteSettings", { signal: limit }), lost]);
      if (session.remoteSettings.enableConnectProtocol !== true) {
        throw new Error("the tunnel does not take upgrades");
      }
      // Takes effect only once the local settings stand.
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      return session;
    });
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** @throws Error */
function refuseClosed({ destroyed }: { readonly destroyed: boolean }): void {
  if (destroyed) throw new Error("the connection was lost");
}

async function handshake(stream: Duplex, key: SessionKey, peerPin: string, signal: AbortSignal): Promise<TLSSocket> {
  const socket = connectTls({
    socket: stream,
    key: key.key,
    cert: key.certificate,
    minVersion: "TLSv1.3",
    ALPNProtocols: ["h2"],
    // The certificate is signed by itself: the pin says whose it is, and TLS that its key is there.
    rejectUnauthorized: false,
  });
  socket.on("error", () => undefined);
  // TLS ends the stream below with its own error, such as the other end's alert.
  stream.on("error", () => undefined);
  // TLS over a Duplex does not notice that the Duplex has ended.
  stream.once("close", () => socket.destroy(new Error("the connection was lost")));
  await once(socket, "secureConnect", { signal });
  if (!hasPin(socket, peerPin)) {
    socket.destroy();
    throw new PinMismatch("the tunnel's key is not the one of the session's record");
  }
  if (socket.alpnProtocol !== "h2") throw new Error("the tunnel speaks another protocol");
  return socket;
}

function overTls(socket: TLSSocket, stream: Duplex): ClientHttp2Session {
  const session = connectHttp2("https://tunnel", {
    createConnection: () => socket,
    settings: {
      enablePush: false,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxHeaderListSize: HEADER_LIST_BYTES,
    },
  });
  session.on("error", () => undefined);
  stream.once("close", () => session.destroy(new Error("the connection was lost")));
  session.once("close", () => stream.destroy());
  return session;
}
