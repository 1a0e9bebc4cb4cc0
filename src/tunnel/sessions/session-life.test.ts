import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { runs } from "../../base/testing/runs.ts";
import { RELAY_CLOSE_CODES } from "../../contract/debug-sessions/debug-relay.ts";
import { verifyAudit } from "../../debug-link/audit-chain.ts";
import { say } from "../../debug-link/testing/fake-relay.ts";
import { refusal, SESSION_ID, SessionWorld } from "../testing/session-world.ts";
import { auditFile } from "./session-tools.ts";

const OTHER = { instance: "tunnel-2", epoch: 9, key: "o".repeat(43) };

/** What a session must have come to after the words that it was given, in any order. */
interface Model {
  isAttached: boolean;
  /** The first word counts. */
  reasons: readonly string[] | undefined;
  isTakenOver: boolean;
}

/** The session in a tunnel, and its place at the relay. */
class Life {
  readonly heard: string[] = [];
  readonly world: SessionWorld;
  #epoch = 0;
  #socket: WebSocket | undefined;

  constructor(world: SessionWorld) {
    this.world = world;
  }

  get socket(): WebSocket {
    if (this.#socket === undefined) throw new Error("the tunnel has not come to the relay");
    return this.#socket;
  }

  async meet(stepMs = 0): Promise<void> {
    let socket: WebSocket | undefined;
    void this.world.accept().then((each) => {
      socket = each;
    });
    await this.world.until(() => socket !== undefined, stepMs);
    this.#socket = socket;
    socket?.on("message", (data, isBinary) => {
      if (isBinary) return;
      this.heard.push(String(data));
      // As the relay does.
      if (String(data).includes("close")) say(this.socket, { type: "close", reason: "agent" });
    });
  }

  async attach(): Promise<void> {
    this.#epoch += 1;
    const told = this.heard.length;
    say(this.socket, { type: "peer", epoch: this.#epoch });
    await this.world.until(() => this.heard.length > told);
  }

  /** Time stands still while the disk works: the session gives its files five seconds. */
  async ended(): Promise<void> {
    await this.world.until(() => this.world.heads.length > 0);
    await this.world.until(() => this.world.tunnel?.closed !== undefined, 100);
  }
}

type Command = fc.AsyncCommand<Model, Life>;

const isServed = ({ reasons, isTakenOver }: Model): boolean => reasons === undefined && !isTakenOver;

/** An event that the session lives through. */
function met(name: string, run: (life: Life, model: Model) => Promise<void>): Command {
  return {
    check: isServed,
    async run(model, life) {
      await run(life, model);
      expect(life.world.tunnel?.closed).toBeUndefined();
    },
    toString: () => name,
  };
}

/** One that ends it. */
function ends(name: string, reasons: readonly string[], run: (life: Life) => void): Command {
  return {
    check: isServed,
    async run(model, life) {
      run(life);
      model.reasons = reasons;
      await life.ended();
    },
    toString: () => name,
  };
}

const COMMANDS: readonly Command[] = [
  met("attach", async (life, model) => {
    await life.attach();
    model.isAttached = true;
  }),
  met("gone", async (life, model) => {
    say(life.socket, { type: "gone" });
    model.isAttached = false;
  }),
  met("relay lost", async (life, model) => {
    life.socket.terminate();
    model.isAttached = false;
    await life.meet(100);
  }),
  met("a write fails", async ({ world }) => void world.faults.splice(0, 1, refusal(500, "InternalError"))),
  met("ten seconds", async ({ world }) => {
    let passed = 0;
    // A second with each turn: what is under way in the process goes on meanwhile.
    await world.until(() => passed++ >= 10, 1_000);
  }),
  ends("client closes", ["client"], (life) => say(life.socket, { type: "close", reason: "client" })),
  ends("platform kills", ["killed"], (life) => life.socket.close(RELAY_CLOSE_CODES.killed)),
  ends("customer's word", ["revoked"], ({ world }) => {
    world.stored = { ...world.stored, spec: { ...world.stored.spec, endedReason: "enough" } };
    world.informer.set(world.stored);
  }),
  ends("operator closes", ["expired"], ({ world }) => world.write({ state: "Closing", closeReason: "expired" })),
  ends("grant revoked", ["revoked"], ({ world }) => world.write({ state: "Closing", closeReason: "revoked" })),
  ends("half an hour", ["idle", "expired"], ({ world }) => world.clock.advance(31 * 60_000)),
  {
    check: isServed,
    async run(model, { world }) {
      model.isTakenOver = true;
      world.write({ tunnel: OTHER });
      await world.until(() => readdirSync(world.folder).some((name) => name.endsWith(".done")));
    },
    toString: () => "takeover",
  },
];

test("model: a session that is claimed ends once, by the first word, and is told everywhere; one that another took is not", async () => {
  const commands = fc.commands(
    COMMANDS.map((each) => fc.constant(each)),
    { maxCommands: 8 },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (steps) => {
      const world = await SessionWorld.start();
      const model: Model = { isAttached: false, reasons: undefined, isTakenOver: false };
      const life = new Life(world);
      try {
        await life.meet();
        await world.until(() => (world.tunnel?.audit?.records ?? 0) > 0);
        await fc.asyncModelRun(() => ({ model, real: life }), steps);
        // What has not ended ends with its tunnel.
        world.terminate();
        if (isServed(model)) await world.until(() => world.heads.length > 0);
        await world.stop();
        const told = life.heard.filter((each) => each.includes("close"));
        if (model.isTakenOver) {
          expect([world.tunnel, world.uploaded, world.heads, told]).toEqual([OTHER, [], [], []]);
          return;
        }
        expect(model.reasons ?? ["agent"]).toContain(world.tunnel?.closed?.reason);
        expect([world.uploaded, world.heads]).toEqual([[auditFile(SESSION_ID)], [world.tunnel?.audit?.head]]);
        const file = readFileSync(join(world.folder, auditFile(SESSION_ID)));
        expect(verifyAudit(file, world.heads[0]).problems).toEqual([]);
        expect(JSON.parse(file.toString().trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
          type: "close",
          reason: world.tunnel?.closed?.reason,
        });
        expect(told.length).toBeLessThanOrEqual(1);
        expect(world.clock.pending).toBe(0);
      } finally {
        await world.close();
      }
    }),
    { numRuns: runs(40) },
  );
}, 60_000);
