import fc from "fast-check";
import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { DEBUG_MODES } from "../../crds/operations/debug.ts";
import { refusal } from "../testing/fake-cluster.ts";
import { approvedGrant, DEPLOYMENT_ID, NAMESPACE } from "../testing/fixtures.ts";
import { SessionPlaces } from "./session-places.ts";
import { KEPT_MS, reconcileSession, type SessionPorts } from "./session-reconciler.ts";
import { SILENT_MS, TunnelSilence } from "./tunnel-silence.ts";

const KEY = "k".repeat(43);
const LINE = { command: "debug/logs", summary: "logs", params: { namespace: "shop", mode: "logs", clientKey: KEY } };

/** An API server's memory, of one session and its grant; `crash` decides at which request the process dies. */
class World {
  readonly clock = new FakeClock("2026-01-01T10:30:00Z");
  readonly log: string[] = [];
  readonly rights = new Set<string>();
  deleted = false;
  crash: (request: number) => "before" | "after" | undefined = () => undefined;
  /** As RBAC answers while the role is not there. */
  forbidden = false;
  /** As the operator's own look at its rights says. */
  lacking = false;
  /** The cache does not have the grant yet. */
  lagging = false;
  requests = 0;
  places = new SessionPlaces(() => [this.session]);
  readonly silence = new TunnelSilence(this.clock);
  grant: AccessGrant = approvedGrant({ commands: [LINE], risk: "read-only" });
  session: DebugSession = {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "DebugSession",
    metadata: {
      ...{ name: "dbg-1", namespace: NAMESPACE, uid: "cccccccc-0000-4000-8000-000000000001", resourceVersion: "1" },
      creationTimestamp: "2026-01-01T10:30:00Z",
    },
    spec: {
      ...{ sessionId: "dbg_1", deploymentId: DEPLOYMENT_ID, grantName: "req-1", mode: "logs", namespace: "shop" },
      ...{ owner: "jo", reason: "500s", clientKey: KEY, expiresAt: "2026-01-01T11:30:00Z" },
    },
  };

  async #request<T>(word: string, effect: () => T): Promise<T> {
    const when = this.crash(this.requests);
    this.requests += 1;
    if (when === "before") throw new Error("crash");
    const answer = effect();
    this.log.push(word);
    if (when === "after") throw new Error("crash");
    return answer;
  }

  get ports(): SessionPorts {
    const facts = () => ({
      grant: this.grant,
      policies: [],
      deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: ["shop"] } }],
    });
    return {
      clock: this.clock,
      fence: () => undefined,
      commands: BUILT_IN,
      session: () => (this.deleted ? undefined : this.session),
      cachedFacts: () => (this.lagging ? { ...facts(), grant: undefined } : facts()),
      liveFacts: async () => facts(),
      places: this.places,
      silence: this.silence,
      named: new Map(),
      limits: { modes: DEBUG_MODES, maxTtlMs: 3_600_000, maxConcurrent: 3, lendingMode: "operator" },
      obstacle: () => undefined,
      missing: () => (this.lacking ? "the operator may not bind it" : undefined),
      writeSession: (before, status) =>
        this.#request(status.state ?? "none", () => {
          if (before.metadata.resourceVersion !== this.session.metadata.resourceVersion) throw refusal(409, "Conflict");
          const resourceVersion = String(Number(before.metadata.resourceVersion) + 1);
          this.session = { ...before, metadata: { ...before.metadata, resourceVersion }, status };
          return this.session;
        }),
      writeGrant: (grant, status) =>
        this.#request("claim", () => {
          this.grant = { ...grant, status };
          return this.grant;
        }),
      deleteSession: () =>
        this.#request("delete", () => {
          this.deleted = true;
        }),
      access: {
        open: () =>
          this.#request("open", () => {
            if (this.forbidden) throw refusal(403, "Forbidden");
            this.rights.add("binding").add("account");
          }),
        close: () => this.#request("close", () => this.rights.clear()),
      },
      metrics: { opened: () => undefined, closed: () => undefined },
      publisher: { sessionBecame: (_, event) => void this.log.push(`event ${event}`) },
    };
  }

  get state(): string {
    return this.session.status?.state ?? "Pending";
  }

  /** Looks at the session again and again, as the queue does; a crash is a new process. */
  async until(done: () => boolean): Promise<void> {
    const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
    for (let turn = 0; turn < 200 && !done(); turn += 1) {
      const result = await reconcileSession("a/b", this.ports, context).catch((error: unknown) => {
        if (!(error instanceof Error && error.message === "crash")) throw error;
      });
      if (result) this.clock.advance(Math.min(result.requeueAfterMs, 60_000));
    }
  }

  say(spec: Partial<DebugSession["spec"]>): void {
    this.session = { ...this.session, spec: { ...this.session.spec, ...spec } };
  }
}

test("line, state, account, open; and back: closing, rights gone, closed", async () => {
  const world = new World();
  await world.until(() => world.state === "Open");
  expect(world.log).toEqual(["claim", "Opening", "open", "Open", "event Opened"]);
  expect(world.session.status).toMatchObject({ account: "debug-cccccccc0000", until: "2026-01-01T11:00:00Z" });
  world.log.length = 0;
  world.say({ endedReason: "enough" });
  await world.until(() => world.state === "Closed");
  expect(world.log).toEqual(["Closing", "close", "Closing", "Closed", "event Ended"]);
  expect(world.session.status).toMatchObject({ closeReason: "revoked" });
});

test("one look opens it: what it has written it does not wait to see in the cache", async () => {
  const world = new World();
  const before = world.session;
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
  await reconcileSession("a/b", { ...world.ports, session: () => before }, context);
  expect(world.log).toEqual(["claim", "Opening", "open", "Open", "event Opened"]);
});

test("a grant that the cache does not have yet ends nothing", async () => {
  const world = new World();
  world.lagging = true;
  await world.until(() => world.state === "Open" || world.state === "Closed");
  expect(world.state).toBe("Open");
});

test("wherever the process dies, and as often: one claim, no rights before Opening is stored, none after Closed", async () => {
  const crash = fc.constantFrom("before", "after", undefined, undefined, undefined);
  await fc.assert(
    fc.asyncProperty(fc.array(crash, { maxLength: 12 }), fc.nat(20), async (crashes, endsAt) => {
      const world = new World();
      world.crash = (request) => {
        if (request === endsAt) world.say({ endedReason: "enough" });
        if (world.rights.size > 0) expect(["Opening", "Open", "Closing"]).toContain(world.state);
        if (world.state === "Open") expect(world.rights.size).toBe(2);
        return crashes[request];
      };
      await world.until(() => world.state === "Open" || world.state === "Closed" || world.state === "Refused");
      world.say({ endedReason: "enough" });
      await world.until(() => world.state === "Closed" || world.state === "Refused");
      expect(["Closed", "Refused"]).toContain(world.state);
      expect([...world.rights]).toEqual([]);
      expect(world.log.filter((word) => word === "claim").length).toBeLessThanOrEqual(1);
    }),
    { numRuns: runs(300) },
  );
});

test("the tunnel has ten seconds for its last word, and none is waited for where there is no tunnel", async () => {
  const world = new World();
  await world.until(() => world.state === "Open");
  world.session = { ...world.session, status: { ...world.session.status, tunnel: { instance: "t-1" } } };
  world.say({ endedReason: "enough" });
  const before = world.clock.monotonicMs();
  await world.until(() => world.state === "Closed");
  expect(world.clock.monotonicMs() - before).toBeGreaterThanOrEqual(10_000);
  expect(world.clock.monotonicMs() - before).toBeLessThan(11_100);
});

test("a tunnel that does not write for 30 s is away until it writes again, and that costs one look and one write", async () => {
  const world = new World();
  await world.until(() => world.state === "Open");
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
  const look = () => reconcileSession("a/b", world.ports, context);
  const attached = () => world.session.status?.conditions?.find(({ type }) => type === "Attached");
  const says = (audit: number) => {
    const at = "2026-01-01T10:30:01Z";
    const tunnel = { instance: "t-1", epoch: 1, attachedAt: at, audit: { records: audit, head: "0".repeat(64), at } };
    world.session = { ...world.session, status: { ...world.session.status, tunnel } };
  };
  says(1);
  expect(await look()).toEqual({ requeueAfterMs: SILENT_MS });
  expect(attached()).toMatchObject({ status: "True", reason: "Attached" });
  world.clock.advance(10_000);
  says(2);
  expect(await look()).toEqual({ requeueAfterMs: SILENT_MS });
  world.clock.advance(SILENT_MS - 1);
  expect(await look()).toEqual({ requeueAfterMs: 1 });
  expect(attached()).toMatchObject({ status: "True" });
  world.clock.advance(1);
  const after = await look();
  expect(attached()).toMatchObject({ status: "False", reason: "TunnelAway" });
  // Until its end, which is known.
  expect(after?.requeueAfterMs).toBeGreaterThan(20 * 60_000);
  says(3);
  await look();
  expect(attached()).toMatchObject({ status: "True", reason: "Attached" });
});

test("a session that ends without its tunnel's last word does not say that a client is attached", async () => {
  const world = new World();
  await world.until(() => world.state === "Open");
  const tunnel = { instance: "t-1", epoch: 1, attachedAt: "2026-01-01T10:30:01Z" };
  world.session = { ...world.session, status: { ...world.session.status, tunnel } };
  world.say({ endedReason: "enough" });
  await world.until(() => world.state === "Closed");
  const attached = world.session.status?.conditions?.find(({ type }) => type === "Attached");
  expect(attached).toMatchObject({ status: "False", reason: "TunnelAway" });
});

test("workers that judge five sessions side by side open as many as there may be, whatever the cache shows", async () => {
  const worlds = Array.from({ length: 5 }, (_, index) => {
    const world = new World();
    const uid = `dddddddd-0000-4000-8000-00000000000${index}`;
    world.session = { ...world.session, metadata: { ...world.session.metadata, uid } };
    return world;
  });
  // The cache does not show any step of them yet.
  const cached = worlds.map(({ session }) => session);
  const places = new SessionPlaces(() => cached);
  for (const world of worlds) world.places = places;
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
  await Promise.all(worlds.map(({ ports }) => reconcileSession("a/b", ports, context)));
  expect(worlds.map(({ state }) => state).sort()).toEqual(["Open", "Open", "Open", "Refused", "Refused"]);
  // Those that are over leave their places.
  worlds.forEach(({ session }, index) => {
    cached[index] = { ...session, status: { state: "Closed" } };
  });
  expect(places.others({ ...worlds[0]?.session } as DebugSession)).toBe(0);
});

test("a role that cannot be lent is tried again for a minute, then the session is refused and nothing stays", async () => {
  const world = new World();
  world.forbidden = true;
  await world.until(() => world.state === "Closed");
  expect(world.session.status).toMatchObject({ state: "Closed", closeReason: "refused" });
  expect(world.log).not.toContain("event Opened");
});

test("a session whose operator died after the claim waits for a place, and is told that the line is used when none comes", async () => {
  for (const comesFree of [true, false]) {
    const world = new World();
    world.crash = (request) => (request === 0 ? "after" : undefined);
    await world.until(() => world.log.length > 0);
    expect([world.log, world.state]).toEqual([["claim"], "Pending"]);
    const others = Array.from({ length: 3 }, (_, index) => ({
      ...world.session,
      metadata: { ...world.session.metadata, uid: `dddddddd-0000-4000-8000-00000000000${index}` },
      status: { state: "Open" as const },
    }));
    let places = [...others];
    world.places = new SessionPlaces(() => [world.session, ...places]);
    await world.until(() => world.session.status !== undefined);
    const said = () => world.session.status?.conditions?.find(({ type }) => type === "Authorized");
    expect(said()).toMatchObject({ status: "Unknown", reason: "TooMany" });
    if (comesFree) places = [];
    await world.until(() => world.state === "Open" || world.state === "Refused");
    expect(world.state).toBe(comesFree ? "Open" : "Refused");
    if (!comesFree)
      expect(said()).toMatchObject({
        reason: "LineUsed",
        message: "it could not be opened within a minute; line 1 of the plan is used up",
      });
  }
});

test("while the operator lacks a right no line is used up, and the session opens when the right is back", async () => {
  const world = new World();
  world.lacking = true;
  await world.until(() => world.log.length > 0);
  expect(world.log).toEqual(["Pending"]);
  const said = world.session.status?.conditions?.find(({ type }) => type === "Permitted");
  expect(said).toMatchObject({ status: "False", reason: "RuleMissing", message: "the operator may not bind it" });
  world.lacking = false;
  await world.until(() => world.state === "Open");
  expect(world.log).toEqual(["Pending", "claim", "Opening", "open", "Open", "event Opened"]);
});

test("it is deleted seven days after its end, and not before", async () => {
  const world = new World();
  world.say({ endedReason: "no" });
  await world.until(() => world.state === "Refused");
  const endedAt = world.clock.wallNow().getTime();
  world.clock.advance(KEPT_MS - 2_000 - (world.clock.wallNow().getTime() - endedAt));
  await world.until(() => world.deleted || world.clock.wallNow().getTime() - endedAt >= KEPT_MS - 1_000);
  expect(world.deleted).toBe(false);
  world.clock.advance(2_000);
  await world.until(() => world.deleted);
  expect(world.deleted).toBe(true);
});
