import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { Duplex } from "node:stream";
import type { SessionKey } from "../session-key.ts";

/** The tunnel's end of a session as far as TLS and HTTP/2 go; what it answers is the test's. */
export function innerServer(key: SessionKey, more: object = {}): Http2SecureServer & { serve(stream: Duplex): void } {
  const server = createSecureServer({
    key: key.key,
    cert: key.certificate,
    minVersion: "TLSv1.3",
    requestCert: true,
    rejectUnauthorized: false,
    settings: { enableConnectProtocol: true },
    ...more,
  });
  server.on("sessionError", () => undefined);
  return Object.assign(server, {
    serve(stream: Duplex): void {
      stream.on("error", () => undefined);
      server.emit("connection", stream);
    },
  });
}
