import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { beforeEach, describe, expect, it } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import { RequestDeadlines } from "./request-deadline.ts";

describe("the end of a request's time", () => {
  let clock: TestClock;
  let drain: AbortController;
  let deadlines: RequestDeadlines;
  let socket: EventEmitter;
  beforeEach(() => {
    clock = new TestClock();
    drain = new AbortController();
    deadlines = new RequestDeadlines(clock, drain.signal);
    socket = new EventEmitter();
  });
  const poll = (waitMs: number) => deadlines.ofPoll({ socket } as unknown as IncomingMessage, waitMs);

  it("is TIMEOUT after 30 s, and with its wait for a poll", async () => {
    const [request, held] = [deadlines.of(), poll(20_000)];
    clock.advance(30_000);
    expect(request.signal.aborted).toBe(true);
    expect(held.signal.aborted).toBe(false);
    await expect(request.expired).rejects.toMatchObject({ code: "TIMEOUT" });
    clock.advance(20_000);
    await expect(held.expired).rejects.toMatchObject({ code: "TIMEOUT" });
  });

  it("is there for a poll when the server drains, and not for other work", () => {
    const [request, held] = [deadlines.of(), poll(20_000)];
    drain.abort(new Error("draining"));
    const late = poll(0);
    expect(held.signal.reason).toEqual(new Error("draining"));
    expect(late.signal.aborted).toBe(true);
    expect(request.signal.aborted).toBe(false);
    for (const each of [request, held, late]) each.clear();
  });

  it("is there for a poll when its client hangs up", () => {
    const held = poll(20_000);
    socket.emit("close");
    expect(held.signal.aborted).toBe(true);
    held.clear();
  });

  it("leaves nothing behind when the request is answered", () => {
    const held = poll(20_000);
    held.clear();
    drain.abort(new Error("draining"));
    socket.emit("close");
    clock.advance(60_000);
    expect(held.signal.aborted).toBe(false);
  });

  it("takes one listener of a connection, however many polls a client sends on it", () => {
    const polls = Array.from({ length: 30 }, () => poll(20_000));
    polls[0]?.clear();
    for (let more = 0; more < 30; more += 1) poll(20_000).clear();
    expect(socket.listenerCount("close")).toBe(1);
    socket.emit("close");
    expect(polls.map(({ signal }) => signal.aborted)).toEqual([false, ...Array<boolean>(29).fill(true)]);
    for (const each of polls) each.clear();
  });
});
