import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import type { DebugSessionState } from "../../contract/debug-sessions/debug-sessions.ts";
import { objectName } from "../../crds/group.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { Snapshot } from "../kernel/snapshot.ts";
import { context, DEPLOYMENT, kubeError, NAMESPACE } from "../testing/sample.ts";
import type { NewSession } from "./debug-session.ts";
import { DebugSessions } from "./debug-sessions.ts";
import { type ListedSession, readListedSession } from "./listed-session.ts";

const ID = `dbg_${"a".repeat(28)}`;
class Crash extends Error {}

/** As the platform moves a session for a manager (§6). */
const MOVES: Readonly<Record<DebugSessionState, readonly DebugSessionState[]>> = {
  pending: ["running", "stopping", "failed"],
  running: ["stopping", "failed"],
  stopping: ["stopped", "failed"],
  stopped: [],
  expired: [],
  failed: [],
};
const apiError = (status: number, code: string): ApiError => new ApiError(code, code, { status, retryable: false });

class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  state: DebugSessionState = "pending";
  head: string | undefined;
  objects = new Map<string, DebugSession>();
  creations = 0;
  away = false;
  full: string | undefined;
  refuseCreate: string | undefined;
  error: unknown;
  #cache = new Map<string, DebugSession>();
  #effects = 0;
  #crashAt = Number.POSITIVE_INFINITY;
  #snapshot!: Snapshot<ListedSession>;
  #shell!: DebugSessions;

  constructor() {
    this.restart();
  }

  restart(): void {
    this.#snapshot = new Snapshot<ListedSession>(10, () => undefined);
    this.#cache = new Map(this.objects);
    this.#shell = new DebugSessions({
      snapshot: this.#snapshot,
      enabled: true,
      grantsNamespace: NAMESPACE,
      clock: this.clock,
      metrics: { sessionReported: () => undefined, dropped: () => undefined, buffered: () => undefined },
      ports: {
        accepts: () => true,
        session: (id) => this.#cache.get(objectName(id)),
        capacity: { fullBecause: () => this.full, made: () => undefined, unmade: () => undefined },
        create: async (session) => this.#effect(() => this.#create(session)),
        platform: { patch: async ({ body }) => this.#effect(() => this.#patch(body ?? {})) as never },
      },
    });
  }

  list(): void {
    const access = {
      ...{ mode: "logs", namespace: "shop", clientKey: "k".repeat(43), ports: null, selector: null },
      ...{ minutes: 30, reason: "500s since 14:02", accessRequestId: null },
    };
    const item = { id: ID, deploymentId: DEPLOYMENT, owner: "jo", expiresAt: "2026-01-01T13:00:00.000Z", access };
    const listed = this.state === "pending" ? [readListedSession(item, DEPLOYMENT)] : [];
    this.#snapshot.replace(DEPLOYMENT, listed as ListedSession[]);
  }

  sync(): void {
    for (const [name, session] of this.#cache) if (!this.objects.has(name)) this.#shell.deleted(session);
    this.#cache = new Map(this.objects);
  }

  async reconcile(crashAt = Number.POSITIVE_INFINITY): Promise<void> {
    this.#crashAt = this.#effects + crashAt;
    try {
      await this.#shell.reconcile(ID, context);
    } catch (error) {
      if (error instanceof Crash) this.restart();
      else if (!(error instanceof ApiError)) throw error;
    } finally {
      this.#crashAt = Number.POSITIVE_INFINITY;
    }
  }

  /** The operator, or the customer with kubectl. */
  becomes(state: "Open" | "Closed" | "deleted"): void {
    const name = objectName(ID);
    const session = this.objects.get(name);
    if (session === undefined || session.status?.state === "Closed") return;
    const audit = { records: 1, head: "b".repeat(64), at: "2026-01-01T12:00:00Z" };
    const closed = state === "Closed" ? { closed: { reason: "agent" as const, at: audit.at } } : {};
    if (state === "deleted") this.objects.delete(name);
    else this.objects.set(name, { ...session, status: { state, tunnel: { instance: "t", audit, ...closed } } });
  }

  /** Dies after the effect of this number: what it did is done, and it does not know. */
  #effect<T>(act: () => T): T {
    if (this.away) throw apiError(0, "NETWORK_ERROR");
    this.#effects += 1;
    const result = act();
    if (this.#effects > this.#crashAt) throw new Crash();
    return result;
  }

  #create(session: NewSession): void {
    if (this.refuseCreate !== undefined) throw kubeError(422, "Invalid", this.refuseCreate);
    const { name } = session.metadata;
    if (this.objects.has(name)) throw kubeError(409, "AlreadyExists", "exists");
    this.creations += 1;
    const metadata = { ...session.metadata, uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T12:00:00Z" };
    this.objects.set(name, { ...session, metadata });
  }

  #patch(body: { state?: DebugSessionState; auditHead?: string; error?: unknown }): object {
    const { state = this.state, auditHead, error } = body;
    if (state !== this.state && !MOVES[this.state].includes(state)) throw apiError(409, "INVALID_STATE_TRANSITION");
    this.state = state;
    this.head = auditHead ?? this.head;
    this.error ??= error;
    return {};
  }
}

async function settle(world: World): Promise<void> {
  world.away = false;
  for (let round = 0; round < 3; round += 1) {
    world.list();
    world.sync();
    await world.reconcile();
  }
}

describe("refused by the cluster", () => {
  test.each<readonly [string, (world: World) => void, string]>([
    [
      "in the API server's words",
      (world) => (world.refuseCreate = "namespace is\u0007 not there"),
      "namespace is not there",
    ],
    ["for want of room", (world) => (world.full = "at most 50 of this deployment may be open"), "at most 50"],
  ])("%s, and the engineer is told at once", async (_case, act, words) => {
    const world = new World();
    act(world);
    await settle(world);
    expect(world.state).toBe("failed");
    expect(world.error).toMatchObject({ code: "SESSION_REFUSED", message: expect.stringContaining(words) });
    expect(world.creations).toBe(0);
  });
});

test("a session that the relay has ended still gets the head of its audit", async () => {
  const world = new World();
  await settle(world);
  world.becomes("Closed");
  world.state = "expired";
  await settle(world);
  expect(world).toMatchObject({ state: "expired", head: "b".repeat(64) });
});

test("wherever the agent dies and whatever is away, there is one object, and its end is told", async () => {
  const event = fc.oneof(
    fc.constantFrom("list", "sync", "open", "close", "away", "back").map((name) => ({ name, at: 0 })),
    fc.record({ name: fc.constant("reconcile"), at: fc.nat(3) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 30 }),
      fc.constantFrom("Closed" as const, "deleted" as const),
      async (events, end) => {
        const world = new World();
        for (const { name, at } of events) {
          if (name === "list") world.list();
          else if (name === "sync") world.sync();
          else if (name === "open") world.becomes("Open");
          else if (name === "close") world.becomes("Closed");
          else if (name === "reconcile") await world.reconcile(at);
          else world.away = name === "away";
        }
        await settle(world);
        expect(world.creations).toBe(1);
        world.becomes(end);
        await settle(world);
        expect(world.state).toBe("stopped");
        expect(world.creations).toBe(1);
      },
    ),
    { numRuns: runs(200) },
  );
});
