import { once } from "node:events";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { systemRandom } from "../base/clock.ts";
import { newSite } from "../platform/areas/deployments/testing/site.ts";
import { callsOf, read, until } from "../platform/relay/testing/peer.ts";
import { onEachDatabase, overSockets } from "../platform/testing/harness.ts";
import { connectInner } from "./inner-client.ts";
import { type RelayOptions, serveRelay } from "./relay-loop.ts";
import type { Epoch } from "./relay-socket.ts";
import { newSessionKey } from "./session-key.ts";
import { BlackHole } from "./testing/black-hole.ts";
import { innerServer } from "./testing/inner-server.ts";

onEachDatabase("both ends through the platform's relay", (within) => {
  const world = overSockets(within);
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

  it.each(["tunnel", "client"])("a black hole between the %s and the relay is left within 45 s", async (where) => {
    const site = await newSite(world);
    const { id } = (await ask(site, await site.deploy("shop"))).body.session;
    const server = innerServer(tunnel);
    server.on("stream", (stream) => {
      stream.on("error", () => undefined);
      stream.respond({ ":status": 200 });
      stream.pipe(stream);
    });
    const hole = await BlackHole.to(world.platform.url);
    const stop = new AbortController();
    const side = (name: "attach" | "tunnel", hasHole: boolean, onEpoch: RelayOptions["onEpoch"]) =>
      serveRelay(
        {
          ...{ clock: world.clock, random: () => 1, side: name, onEpoch },
          platformUrl: hasHole ? hole.url : world.platform.url,
          ticket: async () => {
            const asked = name === "tunnel" ? tunnelTicket(id, site.manager.key) : ticketFor(id, site.member);
            return (await asked).body;
          },
        },
        stop.signal,
      );
    const epochs: Epoch[] = [];
    let wake = (): void => undefined;
    const far = side("tunnel", where === "tunnel", ({ stream }) => server.serve(stream));
    const near = side("attach", where === "client", (epoch) => {
      epochs.push(epoch);
      wake();
    });
    const inEpoch = async (count: number) => {
      while (epochs.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const { stream, signal } = epochs.at(-1) as Epoch;
      return connectInner({ stream, key: engineer, peerPin: tunnel.pin, clock: world.clock }, signal);
    };
    const exec = (await inEpoch(1)).request({ ":method": "POST", ":path": "/" });
    exec.write("before");
    expect(String((await once(exec, "data"))[0])).toBe("before");
    const lost = once(exec, "error");
    hole.swallow();
    exec.write("into the hole");
    const passes = async (ms: number): Promise<void> => {
      world.clock.advance(ms);
      // The answers of those that can be heard are there before more time passes.
      for (let count = 0; count < 2; count += 1) await read(world, site, id);
    };
    await passes(22_000);
    expect(exec.destroyed).toBe(false);
    await passes(22_000);
    await passes(1_000);
    expect((await lost)[0]).toBeInstanceOf(Error);
    // The pause before the next try.
    while (epochs.length < 2) await passes(250);
    const again = await inEpoch(2);
    const next = again.request({ ":method": "POST", ":path": "/" });
    next.end("after");
    expect(await text(next)).toBe("after");
    expect(epochs[1]?.epoch).toBeGreaterThan(epochs[0]?.epoch ?? 0);
    stop.abort();
    await Promise.all([near, far]);
    await hole.close();
  });
});
