import { createHmac } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeObject } from "../../kube/objects/resource.ts";
import { NameSalt } from "./name-salt.ts";
import { HiddenNames } from "./names.ts";

const CONFLICT = { status: 409, reason: "Conflict" };
const SALT = Buffer.alloc(32, 7);

test("a name has the same other name each time, by its kind, and none that a person without the salt can check", () => {
  const names = new HiddenNames(SALT);
  const digits = createHmac("sha256", SALT).update("api-7d9c5-x2x4z").digest("hex").slice(0, 8);
  expect([names.pod("api-7d9c5-x2x4z"), names.pod("api-7d9c5-x2x4z")]).toEqual([`pod-${digits}`, `pod-${digits}`]);
  expect([names.node("n"), names.image("n")].map((each) => each.split("-")[0])).toEqual(["node", "image"]);
  expect(new HiddenNames(Buffer.alloc(32, 8)).pod("a")).not.toBe(names.pod("a"));
  expect(names.pod("")).toBe("");
});

/** The Secret as an API server keeps it. */
class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  data: Record<string, string> | undefined;
  refusal: Error | undefined;
  /** Another agent fills it between this one's read and write. */
  isRaced = false;
  writes = 0;
  news = 0;
  #version = 1;
  readonly #stop = new AbortController();

  agent(): NameSalt {
    return new NameSalt({
      client: {
        get: (async () => {
          if (this.refusal !== undefined) throw this.refusal;
          return { metadata: { resourceVersion: String(this.#version) }, ...(this.data && { data: this.data }) };
        }) as never,
        replace: (async (_: unknown, { metadata, data }: KubeObject & { readonly data: Record<string, string> }) => {
          if (this.isRaced) this.#store({ salt: SALT.toString("base64") });
          this.isRaced = false;
          if (metadata.resourceVersion !== String(this.#version)) throw new ApiError("changed", CONFLICT);
          this.#store(data);
        }) as never,
      },
      ...{ namespace: "sallyport-system", clock: this.clock, log: silentLogger },
      changed: () => {
        this.news += 1;
      },
    });
  }

  run(salt: NameSalt): Promise<void> {
    return salt.run(this.#stop.signal);
  }

  /** An agent has tried, and waits. */
  async paused(): Promise<void> {
    while (this.clock.pending === 0) await nextTurn();
  }

  #store(data: Record<string, string>): void {
    this.data = data;
    this.#version += 1;
    this.writes += 1;
  }
}

test("the first agent fills the Secret, the next reads it: both have the same names", async () => {
  const world = new World();
  const [first, second] = [world.agent(), world.agent()];
  expect(first.isStarting).toBe(true);
  await world.run(first);
  await world.run(second);
  expect([first.isStarting, world.writes, world.news]).toEqual([false, 1, 2]);
  expect(Buffer.from(world.data?.salt ?? "", "base64")).toHaveLength(32);
  expect(second.hidden.pod("a")).toBe(first.hidden.pod("a"));
});

test("of two agents that fill it at once, the one whose write is refused takes the other's", async () => {
  const world = new World();
  world.isRaced = true;
  const agent = world.agent();
  await world.run(agent);
  expect([world.writes, agent.hidden.pod("a")]).toEqual([1, new HiddenNames(SALT).pod("a")]);
});

test("without the right names are hidden all the same, and are read again each minute", async () => {
  const world = new World();
  world.data = { salt: SALT.toString("base64") };
  world.refusal = new ApiError("no", { status: 403, reason: "Forbidden" });
  const agent = world.agent();
  const done = world.run(agent);
  await world.paused();
  const before = agent.hidden;
  expect([agent.isStarting, world.news, before.pod("a") === new HiddenNames(SALT).pod("a")]).toEqual([false, 0, false]);
  world.refusal = undefined;
  world.clock.advance(60_000);
  await done;
  expect([world.news, agent.hidden.pod("a")]).toEqual([1, new HiddenNames(SALT).pod("a")]);
});

test("a salt that is too short is not used, and not written over", async () => {
  const world = new World();
  world.data = { salt: "c2hvcnQ=" };
  const agent = world.agent();
  const done = world.run(agent);
  await world.paused();
  expect(world.data).toEqual({ salt: "c2hvcnQ=" });
  world.data = { salt: SALT.toString("base64") };
  world.clock.advance(60_000);
  await done;
  expect(world.writes).toBe(0);
});
