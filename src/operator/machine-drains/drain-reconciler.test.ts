import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import type { OperationPolicySpec } from "../../crds/kinds/operation-policy.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { claimDigest } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import { grantLines } from "../grants/grant-lines.ts";
import { refusal } from "../testing/fake-cluster.ts";
import { approvedGrant, DEPLOYMENT_ID, NAMESPACE } from "../testing/fixtures.ts";
import { drainCommandId } from "./drain-gate.ts";
import { type DrainPorts, reconcileDrain } from "./drain-reconciler.ts";

const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
const plan = (command = "machines/drain", machineId = "m-1") => ({
  commands: [{ command, summary: "empty it", params: { machineId } }],
  risk: command === "machines/drain" ? ("mutating" as const) : ("destructive" as const),
});
const rule = (pattern: string, decision: "auto" | "manual" | "deny"): OperationPolicySpec => ({
  rules: [{ pattern, decision }],
});

/** An API server's memory, of drains and a grant; `crash` decides at which request the process dies. */
class World {
  readonly clock = new FakeClock("2026-01-01T10:30:00Z");
  readonly log: string[] = [];
  crash: (request: number) => "before" | "after" | undefined = () => undefined;
  requests = 0;
  obstacle: string | undefined;
  accepted = ["shop"];
  policies: { spec: OperationPolicySpec }[] = [];
  grants: AccessGrant[] = [];
  drains = new Map<string, MachineDrain>();

  constructor(requested: Partial<NonNullable<MachineDrain["spec"]["requested"]>> = {}) {
    this.add("a", requested);
  }

  add(name: string, requested: Partial<NonNullable<MachineDrain["spec"]["requested"]>> = {}): void {
    this.drains.set(name, {
      ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachineDrain" },
      metadata: {
        ...{ name, namespace: NAMESPACE, uid: `dddddddd-0000-4000-8000-00000000000${this.drains.size}` },
        ...{ resourceVersion: "1", creationTimestamp: "2026-01-01T10:30:00Z" },
      },
      spec: {
        nodeName: "m-1",
        requested: { deploymentId: DEPLOYMENT_ID, machineId: "m-1", revision: 3, ...requested },
      },
    });
  }

  async #request<T>(word: string, effect: () => T): Promise<T> {
    const when = this.crash(this.requests);
    this.requests += 1;
    if (when === "before") throw new Error("crash");
    const answer = effect();
    this.log.push(word);
    if (when === "after") throw new Error("crash");
    return answer;
  }

  get ports(): DrainPorts {
    return {
      clock: this.clock,
      fence: () => undefined,
      drain: (key) => this.drains.get(key),
      commands: BUILT_IN,
      facts: () => ({
        grants: this.grants,
        policies: this.policies,
        deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: this.accepted } }],
      }),
      obstacle: () => this.obstacle,
      named: new Map(),
      writeDrain: (before, status) =>
        this.#request(`say ${word(status)}`, () => {
          const { name } = before.metadata;
          if (before.metadata.resourceVersion !== this.drains.get(name)?.metadata.resourceVersion)
            throw refusal(409, "Conflict");
          const resourceVersion = String(Number(before.metadata.resourceVersion) + 1);
          const stored = { ...before, metadata: { ...before.metadata, resourceVersion }, status };
          this.drains.set(name, stored);
          return stored;
        }),
      writeGrant: (before, status) =>
        this.#request("claim", () => {
          const stored = this.grants.find(({ metadata }) => metadata.uid === before.metadata.uid);
          if (stored?.metadata.resourceVersion !== before.metadata.resourceVersion) throw refusal(409, "Conflict");
          const metadata = { ...before.metadata, resourceVersion: String(Number(before.metadata.resourceVersion) + 1) };
          this.grants = this.grants.map((each) => (each === stored ? { ...stored, metadata, status } : each));
          return stored;
        }),
    };
  }

  async look(name = "a") {
    return await reconcileDrain(name, this.ports, context);
  }

  said(name = "a"): string {
    return word(this.drains.get(name)?.status);
  }

  message(name = "a"): string | undefined {
    return this.drains.get(name)?.status?.conditions?.find(({ type }) => type === "Approved")?.message;
  }

  change(spec: Partial<AccessGrant["spec"]>): void {
    this.grants = this.grants.map((each) => ({ ...each, spec: { ...each.spec, ...spec } }));
  }

  becomes(status: MachineDrainStatus, name = "a"): void {
    const drain = this.drains.get(name);
    if (drain !== undefined) this.drains.set(name, { ...drain, status: { ...drain.status, ...status } });
  }
}

function word(status: MachineDrainStatus | undefined): string {
  const condition = status?.conditions?.find(({ type }) => type === "Approved");
  return condition === undefined ? "nothing" : `${condition.status}/${condition.reason}`;
}

describe("what policies say", () => {
  test.each<readonly [string, OperationPolicySpec[], string]>([
    ["nothing", [], "False/NoGrant"],
    ["auto, by name", [rule("machines/drain", "auto")], "True/PolicyAuto"],
    ["auto for all machines", [rule("machines/*", "auto")], "False/NoGrant"],
    ["auto for all", [rule("*", "auto")], "False/NoGrant"],
    ["auto for the tier", [{ defaults: { mutating: "auto" } }], "False/NoGrant"],
    ["auto for removals alone", [rule("machines/remove", "auto")], "False/NoGrant"],
    ["auto, and another policy deny", [rule("machines/drain", "auto"), rule("*", "deny")], "False/PolicyDenied"],
    ["deny", [rule("machines/*", "deny")], "False/PolicyDenied"],
  ])("of a drain: %s", async (_, specs, said) => {
    const world = new World();
    world.policies = specs.map((spec) => ({ spec }));
    await world.look();
    expect(world.said()).toBe(said);
  });

  test("what a machine itself wants is judged as the platform's wish for it", async () => {
    const world = new World({ leaving: true });
    await world.look();
    expect(world.said()).toBe("False/NoGrant");
    world.grants = [approvedGrant(plan())];
    await world.look();
    expect(world.said()).toBe("True/GrantMatched");
  });

  test("a removal needs its own word", async () => {
    const world = new World({ remove: true });
    world.policies = [{ spec: rule("machines/drain", "auto") }];
    world.grants = [approvedGrant(plan())];
    await world.look();
    expect(world.said()).toBe("False/NoGrant");
    world.policies = [{ spec: rule("machines/remove", "auto") }];
    await world.look();
    expect(world.said()).toBe("True/PolicyAuto");
    world.policies = [];
    await world.look();
    expect(world.said()).toBe("False/NoGrant");
  });

  test("deny holds although a grant was approved, also once it has begun", async () => {
    const world = new World();
    world.grants = [approvedGrant(plan())];
    await world.look();
    world.becomes({ state: "Draining" });
    world.policies = [{ spec: rule("machines/drain", "deny") }];
    await world.look();
    expect(world.said()).toBe("False/PolicyDenied");
  });
});

describe("under a grant", () => {
  test("the line is used by this drain, and no second one", async () => {
    const world = new World();
    world.grants = [approvedGrant(plan())];
    expect(await world.look()).toEqual({ requeueAfterMs: 30 * 60_000 });
    expect(world.log).toEqual(["claim", "say True/GrantMatched"]);
    world.add("b");
    await world.look("b");
    expect(world.said("b")).toBe("False/NoGrant");
    expect(world.message("b")).toMatch(/has been used/);
  });

  test.each<readonly [string, AccessGrant[], RegExp]>([
    [
      "not approved",
      [{ ...approvedGrant(plan()), spec: { ...approvedGrant(plan()).spec, approvedForMinutes: undefined as never } }],
      /not approved/,
    ],
    ["for another machine", [approvedGrant(plan("machines/drain", "m-2"))], /needs an approved access grant/],
    [
      "for a removal",
      [approvedGrant({ ...plan("machines/remove"), approvedPlanHash: "x" })],
      /needs an approved access grant/,
    ],
    ["of another deployment", [approvedGrant({ ...plan(), deploymentId: "dpl_2" })], /needs an approved access grant/],
    ["whose hash is false", [approvedGrant({ ...plan(), planHash: `sha256:${"0".repeat(64)}` })], /not the hash/],
    ["that was revoked", [approvedGrant({ ...plan(), revokedReason: "no" })], /was revoked/],
  ])("that is %s it is not allowed", async (_, grants, message) => {
    const world = new World();
    world.grants = grants;
    await world.look();
    expect(world.said()).toMatch(/^False/);
    expect(world.message()).toMatch(message);
  });

  test("revoked before the drain begins, or while it goes on: the word is taken back", async () => {
    for (const state of [undefined, "Draining"] as const) {
      const world = new World();
      world.grants = [approvedGrant(plan())];
      await world.look();
      expect(world.said()).toBe("True/GrantMatched");
      if (state) world.becomes({ state });
      world.change({ revokedReason: "stop" });
      await world.look();
      expect([world.said(), world.message()]).toEqual(["False/NoGrant", "grant req-1 was revoked"]);
    }
  });

  test("whose window ends, a drain that waits its turn is not begun any more, and one that has begun goes on", async () => {
    for (const [state, said] of [
      ["Waiting", "False/NoGrant"],
      ["Blocked", "True/GrantMatched"],
    ] as const) {
      const world = new World();
      world.grants = [approvedGrant(plan())];
      await world.look();
      world.becomes({ state });
      world.clock.advance(31 * 60_000);
      await world.look();
      expect(world.said()).toBe(said);
    }
  });

  test("that the drain names counts before another", async () => {
    const world = new World({ grantName: "req-2" });
    const other = approvedGrant({ ...plan(), requestId: "req_2" });
    world.grants = [approvedGrant(plan()), { ...other, metadata: { ...other.metadata, uid: "u2" } }];
    await world.look();
    expect(world.message()).toBe("line 1 of grant req-2");
  });

  test("the grant's line tells how the drain ends", () => {
    const world = new World();
    const drain = world.drains.get("a");
    if (drain === undefined) throw new Error("the world has one");
    const claimed = {
      index: 0,
      state: "Starting" as const,
      commandId: drainCommandId(drain),
      digest: claimDigest(drain.metadata.uid),
    };
    const grant = approvedGrant(plan(), { commands: [claimed] });
    const facts = {
      grant,
      state: "Approved" as const,
      policy: mergePolicies([]),
      commands: BUILT_IN,
      invocationOf: () => undefined,
    };
    const line = (status?: MachineDrainStatus) =>
      grantLines({ ...facts, drainOf: () => status && { ...drain, status } })?.[0]?.state;
    const startedAt = "2026-01-01T10:31:00Z";
    expect([
      line({}),
      line({ state: "Draining", startedAt }),
      line({ state: "Drained", startedAt, drainedAt: startedAt }),
      line({ state: "Failed" }),
      line(),
    ]).toEqual(["Starting", "Running", "Succeeded", "NotStarted", "NotStarted"]);
  });
});

test("a drain of a person, one that is over, and one that goes away are left alone", async () => {
  for (const change of [
    (drain: MachineDrain) => ({ ...drain, spec: { nodeName: "m-1" } }),
    (drain: MachineDrain) => ({ ...drain, status: { state: "Drained" as const } }),
    (drain: MachineDrain) => ({ ...drain, metadata: { ...drain.metadata, deletionTimestamp: "2026-01-01T10:30:00Z" } }),
  ]) {
    const world = new World();
    world.policies = [{ spec: rule("machines/drain", "auto") }];
    const [drain] = world.drains.values();
    if (drain) world.drains.set("a", change(drain));
    await world.look();
    expect(world.log).toEqual([]);
  }
});

test("nothing is allowed of a deployment that the customer does not accept, nor while rights are missing", async () => {
  const world = new World();
  world.policies = [{ spec: rule("machines/drain", "auto") }];
  world.obstacle = "the operator may not list grants";
  expect(await world.look()).toEqual({ requeueAfterMs: 5_000 });
  expect([world.said(), world.message()]).toEqual(["False/NoGrant", "the operator may not list grants"]);
  world.obstacle = undefined;
  world.accepted = [];
  await world.look();
  expect(world.said()).toBe("False/DeploymentNotAccepted");
});

test("wherever the operator crashes, one line is used by one drain, and none is approved without its line", async () => {
  const crashes = fc.array(fc.constantFrom("before", "after", undefined), { minLength: 1, maxLength: 6 });
  const order = fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(crashes, order, async (when, names) => {
      const world = new World();
      world.add("b");
      world.grants = [approvedGrant(plan())];
      world.crash = (request) => when[request];
      // More looks at each than there are crashes.
      for (const name of [...names, ...Array.from({ length: 7 }, () => ["a", "b"]).flat()]) {
        await world.look(name).catch((error: unknown) => {
          if (!(error instanceof Error && error.message === "crash")) throw error;
        });
        const approved = [...world.drains.values()].filter(({ status }) => word(status) === "True/GrantMatched");
        const users = world.grants[0]?.status?.commands?.map(({ commandId }) => commandId) ?? [];
        expect(approved.map(drainCommandId).every((id) => users.includes(id))).toBe(true);
        expect(approved.length).toBeLessThanOrEqual(1);
      }
      expect([world.said("a"), world.said("b")].toSorted()).toEqual(["False/NoGrant", "True/GrantMatched"]);
    }),
    { numRuns: runs(200) },
  );
});
