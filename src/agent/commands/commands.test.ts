import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import type { Logger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import type { Command } from "../../contract/operations/commands.ts";
import { objectName } from "../../crds/group.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import { Snapshot } from "../kernel/snapshot.ts";
import {
  commandRecord,
  context,
  DEPLOYMENT,
  kubeError,
  NAMESPACE,
  REQUEST,
  storedInvocation,
} from "../testing/sample.ts";
import type { NewInvocation } from "./command.ts";
import { type CommandPorts, Commands } from "./commands.ts";
import { type ListedCommand, readListedCommand } from "./listed-command.ts";

const IDS = ["A", "B", "C"].map((letter) => `cmd_${letter.repeat(28)}`);
/** The lines of one plan: each is made when the one before has succeeded. */
const PLAN = ["D", "E", "F"].map((letter) => `cmd_${letter.repeat(28)}`);
const ALL = [...IDS, ...PLAN];
const planned = (id: string | undefined): Command | undefined =>
  id === undefined ? undefined : commandRecord({ id, accessRequestId: REQUEST, planIndex: PLAN.indexOf(id) });

/** The process dies here: nothing of it may matter afterwards. */
class Crash extends Error {}

/** Platform, API server and operator as small models, and an agent that can die before or after any effect. */
class World {
  readonly records = new Map<string, Command>();
  full: string | undefined;
  readonly invocations = new Map<string, OperationInvocation>();
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly won = new Map<string, number>();
  readonly creations = new Map<string, number>();
  readonly triggeredKeys: string[] = [];
  readonly warned: string[] = [];
  /** Looks at the API server itself. */
  reads = 0;
  /** What the agent's cache holds: a copy that lags. */
  #cache = new Map<string, OperationInvocation>();
  #effects = 0;
  #crashAt = Number.POSITIVE_INFINITY;
  #after = false;
  #snapshot!: Snapshot<ListedCommand>;
  #commands!: Commands;

  constructor() {
    for (const id of IDS) this.records.set(id, commandRecord({ id }));
    this.#queue(PLAN[0]);
    this.restart();
  }

  /** A new process: its memory is empty. */
  restart(): void {
    this.#snapshot = new Snapshot<ListedCommand>(100, () => undefined);
    const metrics = { commandDispatched: () => undefined, commandEnded: () => undefined };
    const { clock } = this;
    this.#commands = new Commands({
      snapshot: this.#snapshot,
      ports: this.#ports(),
      grantsNamespace: NAMESPACE,
      clock,
      metrics,
      trigger: (id) => void this.triggeredKeys.push(id),
    });
    this.syncCache();
  }

  /** An answer of the platform with a command in it. */
  answer(item: unknown, plan = { deploymentId: DEPLOYMENT, requestId: REQUEST }): void {
    this.#commands.claimed(item, plan);
  }

  #queue(id: string | undefined): Command | undefined {
    const record = planned(id);
    if (record !== undefined) this.records.set(record.id, record);
    return record;
  }

  #claim({ id, state }: Command): boolean {
    const isPending = state === "PENDING";
    if (isPending) this.records.set(id, { ...record(this.records, id), state: "DISPATCHED" });
    if (isPending) this.won.set(id, (this.won.get(id) ?? 0) + 1);
    return isPending;
  }

  list(): void {
    const open = [...this.records.values()].filter(({ state }) => state === "PENDING" || state === "DISPATCHED");
    this.#snapshot.replace(
      DEPLOYMENT,
      open.map(readListedCommand).filter((each) => each !== undefined),
    );
  }

  syncCache(): void {
    this.#cache = new Map(this.invocations);
  }

  /** @param crashAt dies at this effect, counted from now. */
  async reconcile(id: string, crashAt = Number.POSITIVE_INFINITY, after = false): Promise<void> {
    [this.#crashAt, this.#after] = [this.#effects + crashAt, after];
    try {
      const warn: Logger["warn"] = (...words) => void this.warned.push(String(words.at(-1)));
      await this.#commands.reconcile(id, { ...context, log: { ...context.log, warn } });
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.restart();
    } finally {
      this.#crashAt = Number.POSITIVE_INFINITY;
    }
  }

  /** The operator ends one invocation that has not ended. */
  operate(state: "Succeeded" | "Failed" | "Held" | "Unknown"): void {
    const open = [...this.invocations].find(([, { status }]) => status?.state === undefined);
    if (open === undefined) return;
    this.invocations.set(open[0], {
      ...open[1],
      status: { state, finishedAt: "2026-01-01T12:00:05Z", result: { ran: open[1].spec.commandId } },
    });
  }

  #effect<T>(act: () => T): T {
    this.#effects += 1;
    const dies = this.#effects === this.#crashAt + 1;
    if (dies && !this.#after) throw new Crash();
    const result = act();
    if (dies) throw new Crash();
    return result;
  }

  #ports(): CommandPorts {
    return {
      accepts: () => true,
      cached: (name) => this.#cache.get(name),
      read: async (name) => {
        this.reads += 1;
        return this.invocations.get(name);
      },
      capacity: { fullBecause: () => this.full, made: () => undefined, unmade: () => undefined },
      create: async (invocation) =>
        this.#effect(() => {
          const { name } = invocation.metadata;
          if (this.invocations.has(name)) throw kubeError(409, "AlreadyExists", "exists");
          const made = storedInvocation(invocation);
          this.invocations.set(name, made);
          this.creations.set(name, (this.creations.get(name) ?? 0) + 1);
          return made;
        }),
      platform: {
        get: async ({ params: { id } }) => record(this.records, id),
        dispatch: async ({ params: { id } }) =>
          this.#effect(() => ({ updated: this.#claim(record(this.records, id)) })),
        complete: async ({ params: { id }, body: { claimAt, ...body } }) =>
          this.#effect(() => {
            const before = record(this.records, id);
            const updated = ["PENDING", "DISPATCHED"].includes(before.state);
            if (!updated) return { updated, claimed: [] };
            this.records.set(id, { ...before, state: body.state, result: body.result, error: body.error ?? null });
            const follows = PLAN.includes(id) && body.state === "SUCCEEDED";
            const next = follows ? this.#queue(PLAN[PLAN.indexOf(id) + 1]) : undefined;
            if (next === undefined || claimAt === undefined) return { updated, claimed: [] };
            this.#claim(next);
            return { updated, claimed: [record(this.records, next.id)] };
          }),
      },
    };
  }
}

function record(records: ReadonlyMap<string, Command>, id: string): Command {
  const found = records.get(id);
  if (found === undefined) throw new ApiError("NOT_FOUND", "no such command", { status: 404, retryable: false });
  return found;
}

const id = fc.constantFrom(...ALL);
const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("list" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("sync" as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("reconcile" as const), id, crashAt: fc.nat(4), after: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("operate" as const),
      state: fc.constantFrom("Succeeded" as const, "Failed" as const, "Held" as const, "Unknown" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);

/** What the platform must say for each end that the operator wrote. */
const ENDS = {
  Succeeded: ["SUCCEEDED", undefined],
  Failed: ["FAILED", "HANDLER_ERROR"],
  Held: ["FAILED", "COMMAND_HELD"],
  Unknown: ["FAILED", "OUTCOME_UNKNOWN"],
} as const;

/** What another command left under a name: two ids can meet in one. */
function foreign(id: string): OperationInvocation {
  const spec = {
    commandId: id,
    deploymentId: DEPLOYMENT,
    plugin: "other",
    operation: "other",
    tier: "read-only",
    attempt: 1,
  };
  const metadata = { name: objectName(id), namespace: NAMESPACE };
  return storedInvocation({
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "OperationInvocation",
    metadata,
    spec,
  } as NewInvocation);
}

describe("commands", () => {
  test("without room a command is neither claimed nor made, and both when there is some", async () => {
    const world = new World();
    const [id = ""] = IDS;
    world.full = "at most 200 may be open in this cluster";
    world.list();
    await world.reconcile(id);
    expect([world.invocations.size, world.records.get(id)?.state]).toEqual([0, "PENDING"]);
    world.full = undefined;
    await world.reconcile(id);
    expect([world.invocations.size, world.records.get(id)?.state]).toEqual([1, "DISPATCHED"]);
  });

  test("that there is no room is said once a deployment, until there is some again", async () => {
    const world = new World();
    const [id = "", other = ""] = IDS;
    world.list();
    for (const full of ["full", "full", undefined, "full again"]) {
      world.full = full;
      await world.reconcile(id);
      if (full !== undefined) await world.reconcile(other);
    }
    expect(world.warned).toEqual(["command waits: full", "command waits: full again"]);
  });

  test("are claimed once, made once and ended, wherever the agent dies and however stale its cache is", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60, size: "max" }), async (events) => {
        const world = new World();
        for (const each of events) {
          if (each.do === "list") world.list();
          else if (each.do === "sync") world.syncCache();
          else if (each.do === "restart") world.restart();
          else if (each.do === "operate") world.operate(each.state);
          else await world.reconcile(each.id, each.crashAt, each.after);
        }
        // Whatever happened, one quiet pass of each side brings everything to an end.
        for (let pass = 0; pass < 6; pass += 1) {
          world.list();
          for (const each of ALL) await world.reconcile(each);
          for (let n = 0; n < ALL.length; n += 1) world.operate("Succeeded");
          world.syncCache();
        }
        for (const each of ALL) {
          // A line after one that did not succeed was never made.
          if (!world.records.has(each)) continue;
          const ended = world.invocations.get(objectName(each))?.status?.state as keyof typeof ENDS;
          const { state, error } = world.records.get(each) ?? {};
          expect([state, error?.code]).toEqual(ENDS[ended]);
          expect(world.won.get(each)).toBe(1);
          if (world.records.get(each)?.state === "SUCCEEDED")
            expect(world.records.get(each)?.result).toEqual({ ran: each });
        }
        expect([...world.creations.values()].every((count) => count === 1)).toBe(true);
      }),
      { numRuns: runs(400) },
    );
  });

  test("an invocation that was deleted while the agent watched is not made again", async () => {
    const world = new World();
    world.list();
    await world.reconcile(IDS[0] ?? "");
    world.syncCache();
    world.invocations.clear();
    world.syncCache();
    await world.reconcile(IDS[0] ?? "");
    expect(world.records.get(IDS[0] ?? "")?.state).toBe("FAILED");
    expect(world.invocations.size).toBe(0);
  });

  test("the next line of a plan is made from the answer to the one before, without a look or a listing", async () => {
    const world = new World();
    const [first = "", second = ""] = PLAN;
    world.list();
    await world.reconcile(first);
    expect([...world.creations.keys()]).toEqual([objectName(first)]);
    world.operate("Succeeded");
    world.syncCache();
    await world.reconcile(first);
    expect(world.triggeredKeys).toEqual([second]);
    await world.reconcile(second);
    expect(world.creations.get(objectName(second))).toBe(1);
    expect(world.reads).toBe(0);
  });

  test("a claimed command whose name is taken is looked at, and not made again", async () => {
    const world = new World();
    const claimed = { ...commandRecord({ accessRequestId: REQUEST }), state: "DISPATCHED" };
    world.records.set(claimed.id, claimed as Command);
    world.invocations.set(objectName(claimed.id), foreign(claimed.id));
    world.answer([claimed]);
    await world.reconcile(claimed.id);
    expect(world.reads).toBe(1);
    expect(world.creations.size).toBe(0);
    expect(world.records.get(claimed.id)?.error?.code).toBe("COMMAND_HELD");
  });

  const claimed = { ...commandRecord({ accessRequestId: REQUEST }), state: "DISPATCHED" };
  test.each<readonly [string, unknown]>([
    ["nothing", undefined],
    ["no list", claimed],
    ["no command", ["rm -rf"]],
    ["one that is not claimed", [{ ...claimed, state: "PENDING" }]],
    ["one of another deployment", [{ ...claimed, deploymentId: `dep_${"x".repeat(28)}` }]],
    ["one of another request", [{ ...claimed, accessRequestId: `ar_${"x".repeat(28)}` }]],
    ["one of no request", [{ ...claimed, accessRequestId: null }]],
    ["one that cannot be run", [{ ...claimed, name: "no-operation" }]],
  ])("an answer with %s is left to the listing", async (_, items) => {
    const world = new World();
    world.answer(items);
    expect(world.triggeredKeys).toEqual([]);
    await world.reconcile(claimed.id);
    expect(world.creations.size).toBe(0);
  });

  test("one that the platform does not know any more is forgotten", async () => {
    const world = new World();
    world.list();
    world.records.clear();
    await world.reconcile(IDS[0] ?? "");
    expect(world.invocations.size).toBe(0);
  });
});
