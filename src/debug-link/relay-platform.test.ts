import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { systemRandom } from "../base/clock.ts";
import { newSite } from "../platform/areas/deployments/testing/site.ts";
import { callsOf, read, until } from "../platform/relay/testing/peer.ts";
import { onEachDatabase } from "../platform/testing/harness.ts";
import { connectInner } from "./inner-client.ts";
import { type RelayOptions, serveRelay } from "./relay-loop.ts";
import type { Epoch } from "./relay-socket.ts";
import { newSessionKey } from "./session-key.ts";
import { innerServer } from "./testing/inner-server.ts";

onEachDatabase("both ends through the platform's relay", (world) => {
  const { ask, ticketFor, tunnelTicket } = callsOf(world);
  const [engineer, tunnel] = [newSessionKey("engineer", new Date()), newSessionKey("tunnel", new Date())];

  it("carry HTTP/2, begin anew after a loss, and end with the reason of one of them", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const { id } = (await ask(site, deployment)).body.session;
    const server = innerServer(tunnel);
    server.on("stream", (stream) => {
      stream.respond({ ":status": 200 });
      stream.pipe(stream);
    });
    const common = { clock: world.clock, random: systemRandom, platformUrl: world.platform.url };
    const stop = new AbortController();
    const far = serveRelay(
      {
        ...common,
        side: "tunnel",
        ticket: async () => (await tunnelTicket(id, site.manager.key)).body,
        onEpoch: ({ stream }) => server.serve(stream),
      },
      new AbortController().signal,
    );
    const epochs: Epoch[] = [];
    let wake = (): void => undefined;
    const options: RelayOptions = {
      ...common,
      side: "attach",
      ticket: async () => (await ticketFor(id, site.member)).body,
      onEpoch: (epoch) => {
        epochs.push(epoch);
        wake();
      },
    };
    const near = serveRelay(options, stop.signal);
    const echoed = async (count: number): Promise<void> => {
      while (epochs.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const { stream, signal } = epochs[count - 1] as Epoch;
      const session = await connectInner({ stream, key: engineer, peerPin: tunnel.pin, clock: world.clock }, signal);
      const request = session.request({ ":method": "POST", ":path": "/" });
      const sent = Buffer.alloc(5_000_000, "abcdefghij");
      request.end(sent);
      expect((await buffer(request)).equals(sent)).toBe(true);
      if (count === 1) session.destroy();
    };
    await echoed(1);
    await echoed(2);
    stop.abort();
    expect(await Promise.all([near, far])).toEqual(["client", "client"]);
    await until(world, site, id, "stopped");
    expect((await read(world, site, id)).closeReason).toBe("client");
  });
});
