import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Change, Listener } from "../../kube/cache/cache.ts";
import { Store } from "../../kube/cache/store.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type Node, nodeShape } from "../../kube/projection/shapes.ts";
import { PLAIN_NAMES } from "../names/names.ts";
import { ClusterNodes } from "./cluster-nodes.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const node = (version: string, ready: string): Node =>
  nodeShape.fromJson(
    {
      metadata: { name: "a", uid: "a", resourceVersion: version, creationTimestamp: "2026-01-01T00:00:00Z" },
      status: { conditions: [{ type: "Ready", status: ready }] },
    },
    new Interner(),
  );

class World {
  readonly list = {
    ...{ store: new Store<Node>(), synced: false, refusal: undefined as string | undefined },
    currentAtMs: undefined as number | undefined,
    onChange: (listener: Listener<Node>) => {
      this.tell = listener;
      return () => undefined;
    },
  };
  tell: (change: Change<Node>) => void = () => undefined;
  news = 0;
  mayRead = true;
  readonly clock = new FakeClock();
  readonly nodes = new ClusterNodes({
    list: this.list,
    mayRead: () => this.mayRead,
    ...{ names: PLAIN_NAMES, clock: this.clock },
    changed: () => {
      this.news += 1;
    },
  });
}

test("without the customer's word there is no heartbeat and nothing to wait for", () => {
  const nodes = new ClusterNodes({
    list: undefined,
    mayRead: () => true,
    ...{ names: PLAIN_NAMES, clock: new FakeClock() },
    changed: () => undefined,
  });
  expect([nodes.isStarting, nodes.isCurrent, nodes.heartbeat(NOW)]).toEqual([false, true, undefined]);
});

test("the first list is waited for, a refusal is not", () => {
  const world = new World();
  expect([world.nodes.isStarting, world.nodes.heartbeat(NOW)]).toEqual([true, undefined]);
  world.list.refusal = "no";
  expect(world.nodes.isStarting).toBe(false);
  expect(world.nodes.heartbeat(NOW)?.data.data.status).toMatchObject({ health: "unknown", stale: true });
  Object.assign(world.list, { refusal: undefined, synced: true, currentAtMs: 0 });
  world.list.store.set(node("1", "True"));
  expect(world.nodes.heartbeat(NOW)?.data.data.status.health).toBe("healthy");
  world.mayRead = false;
  expect(world.nodes.heartbeat(NOW)?.data.data.status.health).toBe("unknown");
});

test("nodes that the server has not confirmed for three minutes are not told as of now", () => {
  const world = new World();
  Object.assign(world.list, { synced: true, currentAtMs: 0 });
  world.list.store.set(node("1", "True"));
  world.clock.advance(180_000);
  expect(world.nodes.isCurrent).toBe(true);
  world.clock.advance(1);
  expect(world.nodes.isCurrent).toBe(false);
  const { status } = world.nodes.heartbeat(NOW)?.data.data ?? {};
  expect(status).toMatchObject({ health: "unknown", stale: true, collectionIssues: [{ reason: "api-unavailable" }] });
});

test("a node that was only written again is no news", () => {
  const world = new World();
  world.tell({ type: "updated", object: node("2", "True"), previous: node("1", "True") });
  expect(world.news).toBe(0);
  world.tell({ type: "updated", object: node("3", "False"), previous: node("2", "True") });
  world.tell({ type: "deleted", object: node("3", "False") });
  expect(world.news).toBe(2);
});
