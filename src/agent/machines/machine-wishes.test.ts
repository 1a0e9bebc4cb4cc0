import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import type { MachineAction } from "../../contract/machines/machines.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { context, DEPLOYMENT, kubeError, NAMESPACE } from "../testing/sample.ts";
import { MachineWishes } from "./machine-wishes.ts";
import type { Hastening, NewDrain, WishNode } from "./wishes.ts";

class Crash extends Error {}

const wish = (action: MachineAction["action"], revision: number, more: Partial<MachineAction> = {}): MachineAction => ({
  ...{ deploymentId: DEPLOYMENT, clusterId: "cluster-1", machineId: "box", action, revision },
  ...{ requestedAt: "2026-01-01T12:00:00.000Z", deadlineAt: null, force: false, passedOn: false, ...more },
});
const at = (minute: number): string => `2026-01-01T13:${String(minute).padStart(2, "0")}:00.000Z`;

/** Platform and API server as far as wishes need them. */
class World {
  actions: MachineAction[] = [];
  accepted = true;
  isMember = true;
  node: WishNode | undefined = { metadata: { creationTimestamp: at(0) }, spec: { unschedulable: false } };
  grants: object[] = [];
  readonly objects = new Map<string, MachineDrain>();
  creations = 0;
  /** Whether the API server takes no drain. */
  isInvalid = false;
  /** How often something else became of wishes than before. */
  news = 0;
  #cache: MachineDrain[] = [];
  #effects = 0;
  #crashAt = Number.POSITIVE_INFINITY;
  #wishes!: MachineWishes;

  constructor() {
    this.restart();
  }

  restart(): void {
    this.#cache = [...this.objects.values()];
    this.#wishes = new MachineWishes({
      grantsNamespace: NAMESPACE,
      ports: {
        platform: { actions: async () => ({ actions: this.actions }) },
        managerId: async () => `mgr_${"m".repeat(28)}`,
        accepts: () => this.accepted,
        members: () => (this.isMember ? [{ machineId: "box", nodeName: "m-1.lan", join: undefined }] : []),
        node: () => this.node,
        drains: () => this.#cache,
        grants: () => this.grants as never,
        create: async (drain) => this.#effect(() => this.#create(drain)),
        hasten: async (drain, by) => this.#effect(() => this.#hasten(drain, by)),
        liveDrains: async () => [...this.objects.values()],
        answersChanged: () => {
          this.news += 1;
        },
        delete: async ({ metadata }) => this.#effect(() => this.objects.delete(metadata.name)),
      },
    });
  }

  sync(): void {
    this.#cache = [...this.objects.values()];
  }

  async reconcile(crashAt = Number.POSITIVE_INFINITY): Promise<void> {
    this.#crashAt = this.#effects + crashAt;
    try {
      await this.#wishes.reconcile(DEPLOYMENT, context);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.restart();
    } finally {
      this.#crashAt = Number.POSITIVE_INFINITY;
    }
  }

  async settle(...actions: MachineAction[]): Promise<void> {
    this.actions = actions;
    await this.reconcile();
    this.sync();
  }

  get answer() {
    return this.#wishes.answerOf(DEPLOYMENT, "box");
  }

  get specs() {
    return [...this.objects.values()].map(({ metadata, spec }) => ({ name: metadata.name, ...spec }));
  }

  becomes(name: string, state: "Drained" | "Failed", isRemoved = false): void {
    const drain = this.objects.get(name);
    const removed = {
      type: "Removed",
      status: "True" as const,
      reason: "NodeDeleted",
      message: "",
      lastTransitionTime: at(1),
    };
    const status = { state, ...(isRemoved && { conditions: [removed] }) };
    if (drain !== undefined) this.objects.set(name, { ...drain, status });
    this.sync();
  }

  nodeIs(minute: number, unschedulable: boolean): void {
    this.node = { metadata: { creationTimestamp: at(minute) }, spec: { unschedulable } };
  }

  person(): void {
    const metadata = { name: "mine", namespace: NAMESPACE, uid: "p", resourceVersion: "1", creationTimestamp: at(0) };
    const spec = { nodeName: "m-1.lan" };
    this.objects.set("mine", { apiVersion: "sallyport.dev/v1alpha1", kind: "MachineDrain", metadata, spec });
    this.sync();
  }

  /** Dies after the effect of this number: what it did is done, and it does not know. */
  #effect<T>(act: () => T): T {
    this.#effects += 1;
    const result = act();
    if (this.#effects > this.#crashAt) throw new Crash();
    return result;
  }

  #create(drain: NewDrain): void {
    const { name } = drain.metadata;
    if (this.isInvalid) throw kubeError(422, "Invalid", "not such a drain");
    if (this.objects.has(name)) throw kubeError(409, "AlreadyExists", "exists");
    this.creations += 1;
    const metadata = { ...drain.metadata, uid: `u${this.creations}`, resourceVersion: "1", creationTimestamp: at(0) };
    this.objects.set(name, { ...drain, metadata });
  }

  #hasten({ metadata }: MachineDrain, by: Hastening): void {
    const drain = this.objects.get(metadata.name);
    if (drain === undefined) throw kubeError(404, "NotFound", "gone");
    const was = drain.spec.deadlineAt;
    if (was !== undefined && by.deadlineAt !== undefined && by.deadlineAt > was) {
      throw kubeError(422, "Invalid", "a deadline only comes nearer");
    }
    this.objects.set(metadata.name, { ...drain, spec: { ...drain.spec, ...by } });
  }
}

const passedOn = (revision: number) => ({ wish: { revision, state: "passed-on" } });
const DELETED = { refusal: "DeletedByCustomer", wish: { revision: 3, state: "deleted" } };
const requested = { deploymentId: DEPLOYMENT, machineId: "box" };

describe("a wish", () => {
  test("to drain becomes one object, whatever is lost", async () => {
    const world = new World();
    world.actions = [wish("drain", 3, { deadlineAt: at(30) })];
    await world.reconcile(0);
    await world.reconcile();
    await world.reconcile();
    expect(world.specs).toEqual([
      {
        name: "m-1-lan-3",
        nodeName: "m-1.lan",
        deadlineAt: "2026-01-01T13:30:00Z",
        requested: { ...requested, revision: 3 },
      },
    ]);
  });

  test("that is sharper hastens the drain that is there", async () => {
    const world = new World();
    await world.settle(wish("drain", 3, { deadlineAt: at(30) }));
    await world.settle(wish("drain", 4, { deadlineAt: at(10), force: true }));
    await world.settle(wish("drain", 4, { deadlineAt: at(10), force: true }));
    expect(world.specs).toEqual([
      expect.objectContaining({ name: "m-1-lan-3", deadlineAt: "2026-01-01T13:10:00Z", force: true }),
    ]);
  });

  test.each([
    ["later", { deadlineAt: at(50) }],
    ["without a deadline", {}],
  ])("that is %s is another drain: the first was cancelled while the agent was away", async (_, milder) => {
    const world = new World();
    await world.settle(wish("drain", 3, { deadlineAt: at(30), force: true }));
    await world.settle(wish("drain", 5, milder));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-5"]);
  });

  test("to cancel deletes the platform's drains and none of a person, though the deployment is not accepted any more", async () => {
    const world = new World();
    world.person();
    await world.settle(wish("drain", 3));
    world.accepted = false;
    world.isMember = false;
    await world.settle(wish("cancel-drain", 4));
    expect(world.specs.map(({ name }) => name)).toEqual(["mine"]);
  });

  test("of any kind leaves alone the drain with which the machine itself asked to leave", async () => {
    const world = new World();
    const metadata = {
      name: "m-1-leave-0",
      namespace: NAMESPACE,
      uid: "l",
      resourceVersion: "1",
      creationTimestamp: at(0),
    };
    const spec = { nodeName: "m-1.lan", requested: { ...requested, revision: 0, leaving: true } };
    world.objects.set("m-1-leave-0", {
      ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachineDrain" },
      metadata,
      spec,
    });
    world.sync();
    await world.settle(wish("cancel-drain", 3));
    await world.settle(wish("drain", 4));
    await world.settle(wish("cancel-drain", 5));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-leave-0"]);
  });

  test("takes no drain of another node away, whose name is written alike", async () => {
    const world = new World();
    world.objects.set("m-1-lan-3", {
      ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachineDrain" },
      metadata: {
        ...{ name: "m-1-lan-3", namespace: NAMESPACE, uid: "o", resourceVersion: "1" },
        creationTimestamp: "2026-01-01T11:00:00Z",
      },
      spec: { nodeName: "m-1-lan", requested: { ...requested, machineId: "other", revision: 3 } },
      status: { state: "Drained", drainedAt: "2026-01-01T11:30:00Z" },
    });
    world.sync();
    await world.settle(wish("drain", 3));
    expect(world.specs).toEqual([expect.objectContaining({ name: "m-1-lan-3", nodeName: "m-1-lan" })]);
  });

  test("to remove is a drain of its own beside the one that emptied the node", async () => {
    const world = new World();
    await world.settle(wish("drain", 3));
    world.becomes("m-1-lan-3", "Drained");
    await world.settle(wish("remove", 4));
    await world.settle(wish("remove", 4));
    expect(world.specs.map(({ name, requested: { remove } = {} as never }) => [name, remove])).toEqual([
      ["m-1-lan-3", undefined],
      ["m-1-lan-4", true],
    ]);
  });

  test("that is older than the drain changes nothing", async () => {
    const world = new World();
    await world.settle(wish("drain", 5));
    await world.settle(wish("cancel-drain", 4));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-5"]);
  });

  test("after a drain that failed is a new drain", async () => {
    const world = new World();
    await world.settle(wish("drain", 3));
    world.becomes("m-1-lan-3", "Failed");
    await world.settle(wish("drain", 3));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-3"]);
    await world.settle(wish("drain", 4));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-4"]);
  });

  test("that is newer replaces a drain whose node takes pods again, and none of a node that is empty", async () => {
    const world = new World();
    await world.settle(wish("drain", 3));
    world.nodeIs(0, true);
    world.becomes("m-1-lan-3", "Drained");
    await world.settle(wish("drain", 5));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-3"]);
    world.nodeIs(0, false);
    await world.settle(wish("drain", 3));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-3"]);
    await world.settle(wish("drain", 5));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-5"]);
  });

  test.each([
    ["goes on from before", 5],
    // Of a platform that had counted anew, or of another machine under this node's name.
    ["begins anew", 3],
  ])("for a new node of a name that was removed is carried out, where its revision %s", async (_, revision) => {
    const world = new World();
    await world.settle(wish("drain", 3));
    world.nodeIs(0, true);
    world.becomes("m-1-lan-3", "Drained");
    await world.settle(wish("remove", 4));
    world.becomes("m-1-lan-4", "Drained", true);
    const before = ["m-1-lan-3", "m-1-lan-4"];
    expect(world.specs.map(({ name }) => name)).toEqual(before);
    world.nodeIs(5, false);
    await world.settle(wish("drain", revision));
    await world.settle(wish("drain", revision));
    const [drain, removal] = [`m-1-lan-${revision}`, `m-1-lan-${revision + 1}`];
    expect(world.creations).toBe(3);
    expect(world.specs.map(({ name }) => name)).toContain(drain);
    world.objects.set(drain, made(world, drain, at(6)));
    world.nodeIs(5, true);
    world.becomes(drain, "Drained");
    await world.settle(wish("remove", revision + 1));
    await world.settle(wish("remove", revision + 1));
    expect(world.creations).toBe(4);
    expect(world.objects.get(removal)?.spec.requested).toMatchObject({ remove: true, revision: revision + 1 });
    expect(world.objects.get(drain)?.spec.requested).toMatchObject({ revision });
  });

  function made(world: World, name: string, creationTimestamp: string): MachineDrain {
    const drain = world.objects.get(name);
    if (drain === undefined) throw new Error(`no drain ${name}`);
    return { ...drain, metadata: { ...drain.metadata, creationTimestamp } };
  }

  test("to remove again a machine that is asked for anew is a removal of its own", async () => {
    const world = new World();
    await world.settle(wish("remove", 4));
    world.becomes("m-1-lan-4", "Drained", true);
    await world.settle(wish("remove", 4));
    expect(world.creations).toBe(1);
    await world.settle(wish("remove", 5));
    expect(world.creations).toBe(2);
  });

  test("whose drain a person deletes is not made again; a newer one is", async () => {
    const world = new World();
    await world.settle(wish("drain", 3));
    world.objects.clear();
    world.sync();
    await world.settle(wish("drain", 3));
    await world.settle(wish("drain", 3));
    expect([world.specs, world.answer, world.news]).toEqual([[], DELETED, 2]);
    await world.settle(wish("drain", 4));
    expect([world.creations, world.answer, world.news]).toEqual([2, passedOn(4), 3]);
  });

  test("whose drain a person deletes is not made again by the next agent, as the platform knows that it was there", async () => {
    const world = new World();
    await world.settle(wish("drain", 3));
    expect(world.answer).toEqual(passedOn(3));
    world.objects.clear();
    world.restart();
    await world.settle(wish("drain", 3, { passedOn: true }));
    expect([world.specs, world.answer]).toEqual([[], DELETED]);
  });

  test.each([false, true])(
    "that hastened a drain which a person deletes is not made either (next agent: %s)",
    async (isNext) => {
      const world = new World();
      await world.settle(wish("drain", 3, { deadlineAt: at(30) }));
      await world.settle(wish("drain", 4, { deadlineAt: at(10) }));
      expect(world.answer).toEqual(passedOn(4));
      world.objects.clear();
      if (isNext) world.restart();
      else world.sync();
      await world.settle(wish("drain", 4, { deadlineAt: at(10), passedOn: isNext }));
      expect([world.specs, world.answer?.refusal]).toEqual([[], "DeletedByCustomer"]);
    },
  );

  test("to remove whose drain a person deletes is not made again, though the drain that emptied the node is there", async () => {
    const world = new World();
    await world.settle(wish("drain", 3));
    world.nodeIs(0, true);
    world.becomes("m-1-lan-3", "Drained");
    await world.settle(wish("remove", 4));
    world.objects.delete("m-1-lan-4");
    world.restart();
    await world.settle(wish("remove", 4, { passedOn: true }));
    expect(world.specs.map(({ name }) => name)).toEqual(["m-1-lan-3"]);
    expect(world.answer).toEqual({ ...DELETED, wish: { revision: 4, state: "deleted" } });
  });

  test("that was just made is not taken for deleted while the cache lags", async () => {
    const world = new World();
    world.actions = [wish("drain", 3)];
    await world.reconcile();
    await world.reconcile();
    expect([world.creations, world.answer]).toEqual([1, passedOn(3)]);
  });

  test("that the API server refuses was never there", async () => {
    const world = new World();
    world.isInvalid = true;
    await world.settle(wish("drain", 3));
    expect(world.answer).toBeUndefined();
    await world.settle(wish("drain", 3));
    expect(world.answer).toBeUndefined();
  });

  test.each<readonly [string, (world: World) => void]>([
    [
      "of a deployment that is not accepted",
      (world) => {
        world.accepted = false;
      },
    ],
    [
      "for a machine outside of the pool",
      (world) => {
        world.isMember = false;
      },
    ],
    [
      "of another deployment",
      (world) => {
        world.actions = [wish("drain", 3, { deploymentId: `dep_${"x".repeat(28)}` })];
      },
    ],
    [
      "that cannot be read",
      (world) => {
        world.actions = [wish("drain", -1)];
      },
    ],
  ])("%s is not passed on", async (_, change) => {
    const world = new World();
    world.actions = [wish("drain", 3)];
    change(world);
    await world.reconcile();
    expect(world.specs).toEqual([]);
  });

  const grant = (name: string, spec: object = {}, commands: readonly object[] = []) => ({
    metadata: { name, creationTimestamp: at(0) },
    spec: {
      ...{ deploymentId: DEPLOYMENT, approvedForMinutes: 60 },
      commands: [{ command: "machines/drain", params: { machineId: "box" } }],
      ...spec,
    },
    status: { commands },
  });

  test.each<readonly [string, object, string | undefined]>([
    ["approved", grant("g"), "g"],
    ["revoked", grant("g", { revokedReason: "no" }), undefined],
    ["not approved", grant("g", { approvedForMinutes: undefined }), undefined],
    ["of another deployment", grant("g", { deploymentId: "dep_x" }), undefined],
    [
      "for another machine",
      grant("g", { commands: [{ command: "machines/drain", params: { machineId: "m" } }] }),
      undefined,
    ],
    [
      "for a removal",
      grant("g", { commands: [{ command: "machines/remove", params: { machineId: "box" } }] }),
      undefined,
    ],
    ["used up", grant("g", {}, [{ index: 0, state: "Starting", commandId: "c" }]), undefined],
  ])("names the grant whose plan has its line: one that is %s", async (_, each, named) => {
    const world = new World();
    world.grants = [each];
    await world.settle(wish("drain", 3));
    expect(world.specs[0]?.requested?.grantName).toBe(named);
  });
});

test("however the agent crashes, the last wish holds: one drain at most, never one of a cancelled wish, and a person's stays", async () => {
  const step = fc.record({
    kind: fc.constantFrom("drain", "sooner", "cancel", "sync", "restart"),
    crashAt: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const world = new World();
      world.person();
      let revision = 0;
      let minute = 50;
      let isWanted = false;
      for (const { kind, crashAt } of steps) {
        if (kind === "sync") world.sync();
        else if (kind === "restart") world.restart();
        else {
          revision += 1;
          if (kind === "cancel") isWanted = false;
          else if (isWanted) minute = Math.max(minute - 5, 0);
          else {
            isWanted = true;
            minute = 50;
          }
          const deadlineAt = isWanted ? at(minute) : null;
          world.actions = [wish(isWanted ? "drain" : "cancel-drain", revision, { deadlineAt })];
        }
        await world.reconcile(crashAt);
      }
      for (let round = 0; round < 3; round += 1) {
        world.sync();
        await world.reconcile();
      }
      const drains = world.specs.filter(({ name }) => name !== "mine");
      expect(drains).toHaveLength(isWanted ? 1 : 0);
      if (isWanted) expect(Date.parse(drains[0]?.deadlineAt ?? "")).toBe(Date.parse(at(minute)));
      expect(world.objects.has("mine")).toBe(true);
    }),
    { numRuns: runs(200) },
  );
});

test("however the agent and reports are lost, a drain that a person deletes after the platform heard of it does not come back", async () => {
  const step = fc.record({
    kind: fc.constantFrom("again", "sooner", "report", "delete", "sync", "restart"),
    crashAt: fc.integer({ min: 0, max: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const world = new World();
      let revision = 1;
      let minute = 50;
      let isHeard = false;
      /** Which wish the person has ended. */
      let ended = 0;
      const reconcile = async (crashAt?: number): Promise<void> => {
        world.actions = [wish("drain", revision, { deadlineAt: at(minute), passedOn: isHeard })];
        await world.reconcile(crashAt);
      };
      for (const { kind, crashAt } of steps) {
        if (kind === "sync") world.sync();
        if (kind === "restart") world.restart();
        if (kind === "report" && world.answer?.wish?.revision === revision) isHeard = true;
        if (kind === "delete" && isHeard) {
          world.objects.clear();
          ended = revision;
        }
        if (kind === "sooner" || (kind === "again" && ended === revision)) {
          revision += 1;
          minute -= 1;
          isHeard = false;
        }
        await reconcile(crashAt);
        if (ended === revision) expect(world.specs).toEqual([]);
      }
      for (let round = 0; round < 3; round += 1) {
        world.sync();
        await reconcile();
      }
      expect(world.specs).toHaveLength(ended === revision ? 0 : 1);
      expect(world.answer?.wish?.state).toBe(ended === revision ? "deleted" : "passed-on");
    }),
    { numRuns: runs(300) },
  );
});
