// How an upgrade of HTTP/1.1 travels inside of a session's HTTP/2, which has none: as an extended CONNECT (RFC 8441).
// The body of the stream is the upgraded connection, byte for byte.

/** Lower-case names; Node joins repeated ones. */
export type PlainHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** By the name that `upgrade` says, in lower case. The method of the upgrade follows from it, and is not sent. */
export const UPGRADE_METHODS: Readonly<Record<string, "GET" | "POST">> = { websocket: "GET", "spdy/3.1": "POST" };

/** Before the name of each header of the 101 in the headers of the CONNECT's 200: HTTP/2 allows no `connection`. */
const ANSWERED = "upgraded-";

/** What a connection says of itself, and what would say who the engineer is: neither goes further. */
const OWN = new Set([
  ...["connection", "host", "http2-settings", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer"],
  ...["authorization", "cookie", "expect", "transfer-encoding", "upgrade"],
]);

/** The headers that go on, of a request or of an answer. */
export function withoutHops(headers: PlainHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name, value]) => {
    return value !== undefined && !OWN.has(name) && !name.startsWith(":");
  });
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}

/** The headers of the CONNECT. @param upgrade one of {@link UPGRADE_METHODS} */
export function connectHeaders(
  path: string,
  upgrade: string,
  headers: PlainHeaders,
): Record<string, string | string[]> {
  // SPDY's POST says `content-length: 0`: of a CONNECT that ends the stream, and the session with it.
  const { "content-length": _, ...rest } = withoutHops(headers);
  return {
    ...rest,
    ":method": "CONNECT",
    ":protocol": upgrade,
    ":scheme": "https",
    ":authority": "kubernetes",
    ":path": path,
  };
}

/** The headers of the CONNECT's 200, from those of the API server's 101. */
export function answeredUpgrade(headers: PlainHeaders): Record<string, string | string[]> {
  const named = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named.map(([name, value]) => [ANSWERED + name, value])) as Record<
    string,
    string | string[]
  >;
}

/** The headers of the 101, from those of the CONNECT's 200. */
export function upgradedHeaders(headers: PlainHeaders): Record<string, string | string[]> {
  const named = Object.entries(headers).filter(([name, value]) => name.startsWith(ANSWERED) && value !== undefined);
  return Object.fromEntries(named.map(([name, value]) => [name.slice(ANSWERED.length), value])) as Record<
    string,
    string | string[]
  >;
}
