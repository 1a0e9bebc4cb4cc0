import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../api-client/api-error.ts";
import type { Command } from "../contract/commands.ts";
import { objectName } from "../crds/group.ts";
import type { OperationInvocation } from "../crds/operation-invocation.ts";
import { FakeClock } from "../kube/testing/fake-clock.ts";
import { Board } from "./board.ts";
import { type CommandPorts, Commands } from "./commands.ts";
import { type ListedCommand, readListedCommand } from "./listed-command.ts";
import { commandRecord, context, DEPLOYMENT, kubeError, NAMESPACE, storedInvocation } from "./testing/sample.ts";

const IDS = ["A", "B", "C"].map((letter) => `cmd_${letter.repeat(28)}`);

/** The process dies here: nothing of it may matter afterwards. */
class Crash extends Error {}

/** Platform, API server and operator as small models, and an agent that can die before or after any effect. */
class World {
  readonly records = new Map<string, Command>();
  readonly invocations = new Map<string, OperationInvocation>();
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly won = new Map<string, number>();
  readonly creations = new Map<string, number>();
  /** What the agent's cache holds: a copy that lags. */
  #cache = new Map<string, OperationInvocation>();
  #effects = 0;
  #crashAt = Number.POSITIVE_INFINITY;
  #after = false;
  #board!: Board<ListedCommand>;
  #commands!: Commands;

  constructor() {
    for (const id of IDS) this.records.set(id, commandRecord({ id }));
    this.restart();
  }

  /** A new process: its memory is empty. */
  restart(): void {
    this.#board = new Board<ListedCommand>(100, () => undefined);
    const metrics = { commandDispatched: () => undefined, commandEnded: () => undefined };
    const { clock } = this;
    this.#commands = new Commands({
      board: this.#board,
      ports: this.#ports(),
      grantsNamespace: NAMESPACE,
      clock,
      metrics,
    });
    this.syncCache();
  }

  list(): void {
    const open = [...this.records.values()].filter(({ state }) => state === "PENDING" || state === "DISPATCHED");
    this.#board.replace(
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
      await this.#commands.reconcile(id, context);
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
    const record = (id: string): Command => {
      const found = this.records.get(id);
      if (found === undefined) throw new ApiError("NOT_FOUND", "no such command", { status: 404, retryable: false });
      return found;
    };
    return {
      cached: (name) => this.#cache.get(name),
      read: async (name) => this.invocations.get(name),
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
        get: async ({ params: { id } }) => record(id),
        dispatch: async ({ params: { id } }) =>
          this.#effect(() => {
            const updated = record(id).state === "PENDING";
            if (updated) this.records.set(id, { ...record(id), state: "DISPATCHED" });
            if (updated) this.won.set(id, (this.won.get(id) ?? 0) + 1);
            return { updated };
          }),
        complete: async ({ params: { id }, body }) =>
          this.#effect(() => {
            const updated = ["PENDING", "DISPATCHED"].includes(record(id).state);
            if (updated)
              this.records.set(id, {
                ...record(id),
                state: body.state,
                result: body.result,
                error: body.error ?? null,
              });
            return { updated };
          }),
      },
    };
  }
}

const id = fc.constantFrom(...IDS);
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

describe("commands", () => {
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
        for (let pass = 0; pass < 3; pass += 1) {
          world.list();
          for (const each of IDS) await world.reconcile(each);
          for (let n = 0; n < IDS.length; n += 1) world.operate("Succeeded");
          world.syncCache();
        }
        for (const each of IDS) {
          const ended = world.invocations.get(objectName(each))?.status?.state as keyof typeof ENDS;
          const { state, error } = world.records.get(each) ?? {};
          expect([state, error?.code]).toEqual(ENDS[ended]);
          expect(world.won.get(each)).toBe(1);
          if (world.records.get(each)?.state === "SUCCEEDED")
            expect(world.records.get(each)?.result).toEqual({ ran: each });
        }
        expect([...world.creations.values()].every((count) => count === 1)).toBe(true);
      }),
      { numRuns: 400 },
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

  test("one that the platform does not know any more is forgotten", async () => {
    const world = new World();
    world.list();
    world.records.clear();
    await world.reconcile(IDS[0] ?? "");
    expect(world.invocations.size).toBe(0);
  });
});
