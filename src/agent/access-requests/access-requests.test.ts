import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import type { DecisionReport, PendingRequest, ReportResult } from "../../contract/access-requests/access-relay.ts";
import { objectName } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { Snapshot } from "../kernel/snapshot.ts";
import { commandRecord, context, DEPLOYMENT, kubeError, NAMESPACE, pendingRequest, stored } from "../testing/sample.ts";
import type { NewGrant } from "./access-request.ts";
import { AccessRequests, type RequestPorts } from "./access-requests.ts";
import { type ListedRequest, readListedRequest } from "./pending-request.ts";

const IDS = ["a", "b"].map((letter) => `ar_${letter.repeat(28)}`);
class Crash extends Error {}

/** The platform's record of a request: where it is in §2.5. */
type Status = "queued" | "customer-approved" | "rejected" | "expired";

class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly requests = new Map<string, { request: PendingRequest; status: Status; materialized: boolean }>();
  readonly grants = new Map<string, AccessGrant>();
  readonly creations = new Map<string, number>();
  readonly events: string[] = [];
  readonly refused: string[] = [];
  /** What the answers to approvals handed over, and for which plan. */
  readonly claimed: unknown[] = [];
  reports = 0;
  away = false;
  refuseCreate: string | undefined;
  full: string | undefined;
  #cache = new Map<string, AccessGrant>();
  #effects = 0;
  #crashAt = Number.POSITIVE_INFINITY;
  #after = false;
  #snapshot!: Snapshot<ListedRequest>;
  #shell!: AccessRequests;

  constructor() {
    for (const id of IDS)
      this.requests.set(id, { request: pendingRequest({ id }), status: "queued", materialized: false });
    this.restart();
  }

  restart(): void {
    this.#snapshot = new Snapshot<ListedRequest>(100, () => undefined);
    const metrics = {
      requestRefused: (reason: string) => void this.refused.push(reason),
      reported: () => undefined,
      dropped: () => undefined,
      buffered: () => undefined,
    };
    const { clock } = this;
    this.#shell = new AccessRequests({
      snapshot: this.#snapshot,
      ports: this.#ports(),
      grantsNamespace: NAMESPACE,
      clock,
      metrics,
    });
    this.#cache = new Map(this.grants);
  }

  list(): void {
    if (this.away) return;
    const queued = [...this.requests.values()].filter(({ status }) => status === "queued");
    this.#snapshot.replace(
      DEPLOYMENT,
      queued.map(({ request }) => readListedRequest(request, DEPLOYMENT)).filter((each) => each !== undefined),
    );
  }

  /** The watch catches up: deletions are told as such. */
  sync(): void {
    for (const [name, grant] of this.#cache) if (!this.grants.has(name)) this.#shell.deleted(grant);
    this.#cache = new Map(this.grants);
  }

  async reconcile(id: string, crashAt = Number.POSITIVE_INFINITY, after = false): Promise<void> {
    [this.#crashAt, this.#after] = [this.#effects + crashAt, after];
    try {
      await this.#shell.reconcile(id, context);
    } catch (error) {
      if (error instanceof Crash) this.restart();
      else if (!(error instanceof ApiError)) throw error; // The controller comes again.
    } finally {
      this.#crashAt = Number.POSITIVE_INFINITY;
    }
  }

  /** A person and the operator in one: first decision wins. */
  decide(id: string, decision: "approve" | "deny" | "revoke"): void {
    const name = objectName(id);
    const grant = this.grants.get(name);
    if (grant === undefined) return;
    const state = grant.status?.state;
    const window = { approvedAt: "2026-01-01T12:00:00Z", approvedUntil: "2026-01-01T13:00:00Z" };
    if (state === undefined && decision === "approve")
      this.grants.set(
        name,
        stored(grant, { state: "Approved", ...window }, { approvedForMinutes: 60, decidedBy: "alice" }),
      );
    if (state === undefined && decision === "deny")
      this.grants.set(name, stored(grant, { state: "Denied" }, { deniedReason: "no", decidedBy: "alice" }));
    // Approved and revoked before the operator looked: no window was ever opened.
    if (state === undefined && decision === "revoke")
      this.grants.set(
        name,
        stored(grant, { state: "Revoked" }, { approvedForMinutes: 60, revokedReason: "over", revokedBy: "bob" }),
      );
    if (state === "Approved" && decision === "revoke")
      this.grants.set(
        name,
        stored(grant, { ...grant.status, state: "Revoked" }, { revokedReason: "over", revokedBy: "bob" }),
      );
  }

  #effect<T>(act: () => T): T {
    this.#effects += 1;
    const dies = this.#effects === this.#crashAt + 1;
    if (dies && !this.#after) throw new Crash();
    const result = act();
    if (dies) throw new Crash();
    return result;
  }

  #report(
    requestId: string,
    move: (from: Status) => Status | "duplicate" | undefined,
  ): { recorded: number; results: ReportResult[] } {
    this.reports += 1;
    if (this.away) throw new ApiError("NETWORK_ERROR", "away", { status: 0, retryable: true });
    const entry = this.requests.get(requestId);
    const next = entry === undefined ? undefined : move(entry.status);
    if (entry === undefined || next === undefined)
      return { recorded: 0, results: [{ requestId, outcome: "ignored", code: "INVALID_STATE_TRANSITION" }] };
    if (next === "duplicate") return { recorded: 0, results: [{ requestId, outcome: "duplicate" }] };
    entry.status = next;
    return { recorded: 1, results: [{ requestId, outcome: "recorded" }] };
  }

  #ports(): RequestPorts {
    const only = <T>(list: readonly T[]): T => {
      const [item] = list;
      if (item === undefined) throw new Error("an empty report");
      return item;
    };
    const ends: Record<DecisionReport["outcome"], (from: Status) => Status | "duplicate" | undefined> = {
      denied: (from) => (from === "queued" ? "rejected" : from === "rejected" ? "duplicate" : undefined),
      revoked: (from) => (from === "customer-approved" ? "rejected" : from === "rejected" ? "duplicate" : undefined),
      expired: (from) => (from === "queued" || from === "customer-approved" ? "expired" : undefined),
    };
    return {
      accepts: () => true,
      grant: (id) => this.#cache.get(objectName(id)),
      capacity: { fullBecause: () => this.full, made: () => undefined, unmade: () => undefined },
      createGrant: async (grant: NewGrant) =>
        this.#effect(() => {
          const { name } = grant.metadata;
          if (this.refuseCreate !== undefined) throw kubeError(422, "Invalid", this.refuseCreate);
          if (this.grants.has(name)) throw kubeError(409, "AlreadyExists", "exists");
          this.grants.set(name, stored(grant));
          this.creations.set(name, (this.creations.get(name) ?? 0) + 1);
        }),
      events: { record: ({ reason }) => void this.events.push(reason) },
      claimed: (items, plan) => void this.claimed.push({ items, ...plan }),
      platform: {
        materialized: async ({ body }) =>
          this.#effect(() => {
            const requestId = only(body.requestIds);
            const result = this.#report(requestId, (from) => (from === "queued" ? from : undefined));
            const entry = this.requests.get(requestId);
            if (entry !== undefined) entry.materialized = true;
            return result;
          }),
        approvals: async ({ body }) =>
          this.#effect(() => {
            const { requestId } = only(body.approvals);
            const answer = this.#report(requestId, (from) =>
              from === "queued" ? "customer-approved" : from === "customer-approved" ? "duplicate" : undefined,
            );
            const made = commandRecord({ accessRequestId: requestId, state: "DISPATCHED" });
            return { ...answer, claimed: answer.recorded > 0 && body.claimAt !== undefined ? [made] : [] };
          }),
        decisions: async ({ body }) =>
          this.#effect(() => {
            const decision = only(body.decisions);
            return this.#report(decision.requestId, ends[decision.outcome]);
          }),
        receipts: async ({ body }) => this.#effect(() => this.#report(only(body.receipts).requestId, (from) => from)),
      },
    };
  }
}

const id = fc.constantFrom(...IDS);
const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("list" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("sync" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("reconcile" as const), id, crashAt: fc.nat(4), after: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("decide" as const),
      id,
      decision: fc.constantFrom("approve" as const, "deny" as const, "revoke" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("away" as const), away: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);

const EXPECTED = { Approved: "customer-approved", Denied: "rejected", Revoked: "rejected" } as const;

describe("access requests", () => {
  test("reach the cluster once and every decision reaches the platform, wherever the agent dies and the platform is away", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60, size: "max" }), async (events) => {
        const world = new World();
        for (const each of events) {
          if (each.do === "list") world.list();
          else if (each.do === "sync") world.sync();
          else if (each.do === "restart") world.restart();
          else if (each.do === "away") world.away = each.away;
          else if (each.do === "decide") world.decide(each.id, each.decision);
          else await world.reconcile(each.id, each.crashAt, each.after);
        }
        world.away = false;
        for (let pass = 0; pass < 3; pass += 1) {
          world.list();
          world.sync();
          for (const each of IDS) await world.reconcile(each);
        }
        for (const each of IDS) {
          const entry = world.requests.get(each);
          const state = world.grants.get(objectName(each))?.status?.state as keyof typeof EXPECTED | undefined;
          expect(world.creations.get(objectName(each))).toBe(1);
          expect(entry?.status).toBe(state === undefined ? "queued" : EXPECTED[state]);
          if (state === undefined) expect(entry?.materialized).toBe(true);
        }
      }),
      { numRuns: runs(400) },
    );
  });

  const [first = ""] = IDS;
  const settle = async (world: World): Promise<void> => {
    for (let pass = 0; pass < 3; pass += 1) {
      world.list();
      world.sync();
      await world.reconcile(first);
    }
  };

  test("without room a request waits at the platform, said once, and comes in when there is some", async () => {
    const world = new World();
    world.full = "at most 50 of this deployment may be open";
    await settle(world);
    expect([world.grants.size, world.requests.get(first)?.status]).toEqual([0, "queued"]);
    expect(world.events).toEqual(["TooManyOpen"]);
    world.full = undefined;
    await settle(world);
    expect([world.grants.size, world.requests.get(first)?.materialized]).toEqual([1, true]);
  });

  test("a grant deleted by the customer is reported as denied and not made again, though the platform was away in between", async () => {
    const world = new World();
    await settle(world);
    world.away = true;
    world.grants.clear();
    await settle(world);
    world.away = false;
    await settle(world);
    expect(world.requests.get(first)?.status).toBe("rejected");
    expect(world.grants.has(objectName(first))).toBe(false);
    expect(world.creations.get(objectName(first))).toBe(1);
  });

  test("a deleted grant is not made again from a list that was read before its end was told", async () => {
    const world = new World();
    await settle(world);
    world.grants.clear();
    world.sync();
    await world.reconcile(first);
    await world.reconcile(first);
    expect(world.grants.size).toBe(0);
    expect(world.requests.get(first)?.status).toBe("rejected");
  });

  test("an approval is told once with the wish for its command, which goes to whatever runs commands", async () => {
    const world = new World();
    await settle(world);
    world.decide(first, "approve");
    await settle(world);
    expect(world.claimed).toEqual([
      { items: [expect.objectContaining({ accessRequestId: first })], deploymentId: DEPLOYMENT, requestId: first },
    ]);
  });

  test("what the platform has answered is not said again", async () => {
    const world = new World();
    await settle(world);
    world.decide(first, "approve");
    await settle(world);
    const { reports } = world;
    await settle(world);
    expect(world.reports).toBe(reports);
  });

  test("what the API server refuses is denied with its words, made readable", async () => {
    const world = new World();
    world.refuseCreate = "spec.title: \u202eInvalid value";
    await settle(world);
    expect(world.requests.get(first)?.status).toBe("rejected");
    expect(world.refused).toEqual(["unfit"]);
    expect(world.events).toEqual(["RequestRefused"]);
  });

  test("another plan under the same id is an event, told once", async () => {
    const world = new World();
    await settle(world);
    const request = pendingRequest({ id: first, commands: [{ command: "kubernetes/delete-pod", summary: "all" }] });
    world.requests.set(first, { request, status: "queued", materialized: true });
    await settle(world);
    await settle(world);
    expect(world.events).toEqual(["PlanMismatch"]);
    expect(world.refused).toEqual(["plan_mismatch"]);
    expect(world.grants.get(objectName(first))?.spec.commands).toEqual(pendingRequest().commands);
  });
});
