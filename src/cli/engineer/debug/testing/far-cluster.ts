import type { Duplex } from "node:stream";
import { systemClock } from "../../../../base/clock.ts";
import { serveRelay } from "../../../../debug-link/relay-loop.ts";
import { newSessionKey, pinOf, type SessionKey } from "../../../../debug-link/session-key.ts";
import { innerServer } from "../../../../debug-link/testing/inner-server.ts";
import type { Site } from "../../../../platform/areas/deployments/testing/site.ts";
import type { World } from "../../../../platform/testing/harness.ts";

/** The customer's side of debug sessions, over the platform's real relay. */
export function farClusterOf(world: World) {
  /**
   * A cluster that takes the session of this id, or the next one that waits: the pins of who came are told, and what they
   * asked for.
   */
  return async (site: Site, key: SessionKey = newSessionKey("tunnel", new Date()), told = key.pin, id?: string) => {
    const seen: string[] = [];
    const server = innerServer(key);
    server.on("stream", (stream, headers) => {
      seen.push(String(headers[":path"]));
      stream.respond({ ":status": 200 });
      stream.end("pods");
    });
    const [pins, streams]: [string[], Duplex[]] = [[], []];
    server.on("secureConnection", (socket) => pins.push(pinOf(socket.getPeerCertificate().raw)));
    const waiting = async (): Promise<string> => {
      for (;;) {
        const query = { state: "pending" };
        const { items } = (await site.call("GET", "/v1/debug-sessions", { key: site.manager.key, query })).body;
        if (items[0] !== undefined) return items[0].id;
      }
    };
    const serve = async (): Promise<unknown> => {
      const sessionId = id ?? (await waiting());
      return serveRelay(
        {
          ...{ clock: systemClock, random: () => 0, side: "tunnel", platformUrl: world.platform.url },
          ticket: async () =>
            (
              await world.call("POST", `/v1/debug-sessions/${sessionId}/tickets`, {
                key: site.manager.key,
                body: { tunnelKey: told },
              })
            ).body,
          onEpoch: ({ stream }) => {
            streams.push(stream);
            server.serve(stream);
          },
        },
        new AbortController().signal,
      );
    };
    return { served: serve(), seen, pins, lose: () => streams.at(-1)?.destroy() };
  };
}
