import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { settle } from "../base/testing/settle.ts";
import type { CloseReason } from "../contract/debug-sessions/debug-sessions.ts";
import { EndOfSession, type RelayOptions, RelayReplaced, serveRelay } from "./relay-loop.ts";
import type { Epoch } from "./relay-socket.ts";
import { FakeRelay, say } from "./testing/fake-relay.ts";

let relay: FakeRelay;
let clock: FakeClock;
let stop: AbortController;
beforeEach(async () => {
  relay = await FakeRelay.start();
  clock = new FakeClock();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await relay.close();
});

class Side {
  readonly epochs: Epoch[] = [];
  readonly pauses: number[] = [];
  readonly troubles: string[] = [];
  readonly untils: string[] = [];
  readonly done: Promise<CloseReason>;
  #wakes: (() => void)[] = [];

  constructor(more: Partial<RelayOptions> = {}) {
    let tickets = 0;
    const wake = (): void => {
      for (const each of this.#wakes.splice(0)) each();
    };
    const options: RelayOptions = {
      clock,
      random: () => 0.5,
      side: "attach",
      platformUrl: relay.platformUrl,
      ticket: async () => {
        tickets += 1;
        return { url: relay.relayUrl, ticket: String(tickets) };
      },
      onEpoch: (epoch) => {
        this.epochs.push(epoch);
        wake();
      },
      onUntil: (at) => {
        this.untils.push(at.toISOString());
        wake();
      },
      onTrouble: (why, pauseMs) => {
        this.troubles.push(why);
        this.pauses.push(pauseMs);
        wake();
      },
      ...more,
    };
    this.done = serveRelay(options, stop.signal);
    this.done.catch(() => undefined);
  }

  async saw(found: (side: this) => boolean): Promise<void> {
    while (!found(this)) await new Promise<void>((resolve) => this.#wakes.push(resolve));
  }

  epoch(count: number): Promise<void> {
    return this.saw(({ epochs }) => epochs.length >= count);
  }

  trouble(count: number): Promise<void> {
    return this.saw(({ pauses }) => pauses.length >= count);
  }
}

const heard = async (socket: WebSocket): Promise<string> => String((await once(socket, "message"))[0]);

describe("a side of the relay", () => {
  it("says that it is ready for each epoch, and carries its bytes both ways", async () => {
    const side = new Side();
    const socket = await relay.accept();
    say(socket, { type: "until", at: "2026-01-01T13:00:00.000Z" });
    say(socket, { type: "peer", epoch: 1 });
    expect(JSON.parse(await heard(socket))).toEqual({ type: "ready", epoch: 1 });
    await side.epoch(1);
    expect(side.untils).toEqual(["2026-01-01T13:00:00.000Z"]);
    const [one] = side.epochs as [Epoch];
    socket.send(Buffer.from("in"));
    expect(String((await once(one.stream, "data"))[0])).toBe("in");
    one.stream.write("out");
    expect(await heard(socket)).toBe("out");
    say(socket, { type: "peer", epoch: 2 });
    const [error] = await once(one.stream, "error");
    expect(error.message).toContain("come back");
    expect(one.signal.aborted).toBe(true);
    await side.epoch(2);
    expect(side.epochs[1]?.epoch).toBe(2);
    say(socket, { type: "gone" });
    expect((await once(side.epochs[1]?.stream ?? socket, "error"))[0].message).toContain("other side was lost");
    // Bytes without an epoch go nowhere.
    socket.send(Buffer.from("stray"));
    say(socket, { type: "close", reason: "idle" });
    expect(await side.done).toBe("idle");
    expect(relay.tickets).toEqual(["1"]);
    expect(clock.pending).toBe(0);
  });

  it.each([
    [1000, "agent"],
    [4408, "idle"],
    [4410, "expired"],
    [4411, "killed"],
    [4412, "tunnel-lost"],
  ])("code %i alone ends it: %s", async (code, reason) => {
    const side = new Side();
    (await relay.accept()).close(code);
    expect(await side.done).toBe(reason);
    expect(clock.pending).toBe(0);
  });

  it("gives way to another process", async () => {
    const side = new Side();
    (await relay.accept()).close(4409);
    await expect(side.done).rejects.toThrow(RelayReplaced);
  });

  it("comes back with a fresh ticket after a restart, and after longer pauses while it fails", async () => {
    const side = new Side();
    for (let count = 1; count <= 7; count += 1) {
      (await relay.accept()).close(1012);
      await side.trouble(count);
      clock.advance(30_000);
    }
    expect(side.pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    const socket = await relay.accept();
    await settle();
    // It held: what comes then is a first failure again.
    clock.advance(12_000);
    socket.terminate();
    await side.trouble(8);
    expect(side.pauses.at(-1)).toBe(500);
    expect(relay.tickets).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
  });

  it.each([
    ["a frame that is none", JSON.stringify({ type: "hello" })],
    ["no JSON", "peer"],
    ["a side's own frame", JSON.stringify({ type: "ready", epoch: 1 })],
    ["one with more in it", JSON.stringify({ type: "gone", more: 1 })],
    ["a long one", JSON.stringify({ type: "gone" }) + " ".repeat(2_000)],
    ["an end at no time", JSON.stringify({ type: "until", at: "2016-12-31T23:59:60Z" })],
    ["no epoch", JSON.stringify({ type: "peer", epoch: 0 })],
  ])("%s closes the connection with 1008", async (_, text) => {
    const side = new Side();
    const socket = await relay.accept();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    socket.send(text);
    expect((await once(socket, "close"))[0]).toBe(1008);
    await side.trouble(1);
    expect(side.troubles[0]).toContain("not in the protocol");
    expect(side.epochs[0]?.stream.destroyed).toBe(true);
  });

  it("an epoch that does not come later than the last, and a flood of frames, are refused", async () => {
    const side = new Side();
    const socket = await relay.accept();
    say(socket, { type: "peer", epoch: 2 });
    say(socket, { type: "peer", epoch: 2 });
    expect((await once(socket, "close"))[0]).toBe(1008);
    await side.trouble(1);
    clock.advance(30_000);
    const again = await relay.accept();
    for (let index = 0; index < 33; index += 1) say(again, { type: "gone" });
    expect((await once(again, "close"))[0]).toBe(1008);
    await side.trouble(2);
    expect(side.epochs).toHaveLength(1);
  });

  it("a frame above the limit is refused", async () => {
    const side = new Side();
    const socket = await relay.accept();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    socket.send(Buffer.alloc(256 * 1024 + 1));
    await side.trouble(1);
    expect(side.epochs[0]?.stream.destroyed).toBe(true);
  });

  it("leaves a relay that no longer answers, within 45 s", async () => {
    await relay.close();
    relay = await FakeRelay.start({ autoPong: false });
    const side = new Side({ random: () => 1 });
    const socket = await relay.accept();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    clock.advance(22_000);
    await once(socket, "ping");
    clock.advance(22_000);
    await once(socket, "ping");
    expect(side.epochs[0]?.stream.destroyed).toBe(false);
    clock.advance(1_000);
    await side.trouble(1);
    expect(side.troubles).toEqual(["the relay no longer answers"]);
    expect(side.epochs[0]?.stream.destroyed).toBe(true);
  });

  it("keeps a relay that answers", async () => {
    const side = new Side();
    const socket = await relay.accept();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    for (let round = 0; round < 5; round += 1) {
      clock.advance(20_000);
      await once(socket, "ping");
      // The pong is on its way back: the bytes after it show that it arrived.
      socket.send(Buffer.from("x"));
      await once(side.epochs[0]?.stream ?? socket, "data");
    }
    expect(side.troubles).toEqual([]);
  });

  it("a relay that never answers the handshake is left after 15 s", async () => {
    const { createServer } = await import("node:net");
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as { port: number };
    const side = new Side({ platformUrl: `http://127.0.0.1:${port}` });
    const [socket] = await once(silent, "connection");
    clock.advance(15_000);
    await side.trouble(1);
    expect(side.troubles).toEqual(["the relay did not answer"]);
    socket.destroy();
    silent.close();
  });

  it("a stream that its user gives up is followed by a new connection", async () => {
    const side = new Side();
    const socket = await relay.accept();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    side.epochs[0]?.stream.destroy();
    await side.trouble(1);
    clock.advance(30_000);
    say(await relay.accept(), { type: "peer", epoch: 1 });
    await side.epoch(2);
  });

  it.each([
    ["client", undefined],
    ["pin-mismatch", new EndOfSession("pin-mismatch")],
  ])("says %s when it is ended", async (reason, why) => {
    const side = new Side();
    const socket = await relay.accept();
    await settle();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    await heard(socket);
    stop.abort(why);
    expect(JSON.parse(await heard(socket))).toEqual({ type: "close", reason });
    socket.close(1000);
    expect(await side.done).toBe(reason);
    expect(side.epochs[0]?.stream.destroyed).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("says nothing when another process has its place", async () => {
    const side = new Side();
    const socket = await relay.accept();
    await settle();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    const said: string[] = [];
    socket.on("message", (data) => said.push(String(data)));
    const code = new Promise<number>((done) => socket.once("close", done));
    stop.abort(new RelayReplaced());
    expect(await code).toBe(1006);
    expect(said.filter((each) => each.includes("close"))).toEqual([]);
    expect(side.epochs[0]?.stream.destroyed).toBe(true);
  });

  it("a relay that does not answer its end is left after 2 s", async () => {
    const side = new Side();
    const socket = await relay.accept();
    say(socket, { type: "peer", epoch: 1 });
    await side.epoch(1);
    stop.abort();
    await heard(socket);
    clock.advance(2_000);
    expect(await side.done).toBe("client");
  });

  it("ends in the middle of a pause and of a ticket", async () => {
    const paused = new Side();
    (await relay.accept()).terminate();
    await paused.trouble(1);
    const waiting = new Side({ ticket: () => new Promise(() => undefined) });
    stop.abort();
    expect(await Promise.all([paused.done, waiting.done])).toEqual(["client", "client"]);
    expect(clock.pending).toBe(0);
  });

  it("tries again for a ticket, unless the error is final", async () => {
    let asked = 0;
    const side = new Side({
      isFinal: (error) => error instanceof RangeError,
      ticket: async () => {
        asked += 1;
        throw asked === 1 ? new Error("the platform is away") : new RangeError("no such session");
      },
    });
    await side.trouble(1);
    expect(side.troubles).toEqual(["the platform is away"]);
    clock.advance(30_000);
    await expect(side.done).rejects.toThrow("no such session");
  });

  it("goes only to its own platform", async () => {
    const side = new Side({
      ticket: async () => ({ url: relay.relayUrl.replace("127.0.0.1", "203.0.113.1"), ticket: "t" }),
    });
    await relay.accept();
    expect(relay.tickets).toEqual(["t"]);
    const lost = new Side({ ticket: async () => ({ url: "wss://203.0.113.1/other", ticket: "t" }) });
    await lost.trouble(1);
    expect(lost.troubles).toEqual(["the platform gave no address of its relay"]);
    const open = new Side({ platformUrl: "http://platform.example.com" });
    await open.trouble(1);
    expect(open.troubles[0]).toContain("must be https");
    expect(side.troubles).toEqual([]);
  });
});
