import fc from "fast-check";
import { expect } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { MINUTE_MS, type ModelReal, ModelStep, type ModelTime, tellTheSame, Wait } from "../../testing/model-step.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

// The routes against a naive twin that keeps §10 and §18 in the plainest words: people, machines, their manager and time
// do random things in random order; after each step both must tell the same story, and what is refused leaves it as it was.

interface Token {
  readonly id: string;
  readonly secret: string;
  readonly max: number;
  readonly untilMs: number;
  joins: number;
  revokedMs: number | undefined;
}
interface Machine {
  status: "joining" | "ready" | "not-ready" | "draining" | "drained" | "unreachable" | "terminating" | "removed";
  heardMs: number;
  token: Token;
  readonly key: string;
  /** Wanted by people, until they cancel it. */
  drain: boolean;
  emptied: boolean;
}
interface Model extends ModelTime {
  /** Oldest first. */
  readonly tokens: Token[];
  readonly machines: Map<string, Machine>;
}
interface Real extends ModelReal<Model> {
  readonly site: Site;
  readonly path: string;
}

const NAMES = ["m1", "m2", "m3"] as const;

/** Silence of three minutes hides who is expected to speak. */
function shown({ status, heardMs }: Machine, { nowMs }: Model): Machine["status"] {
  const speaks = status === "joining" || status === "ready" || status === "not-ready" || status === "draining";
  return speaks && nowMs > heardMs + 3 * MINUTE_MS ? "unreachable" : status;
}

abstract class Step extends ModelStep<Model, Real> {}

async function agree(site: Site, path: string, model: Model): Promise<void> {
  const read = async (what: string) => (await site.call("GET", `${path}/${what}`)).body;
  const tokens = (await read("join-tokens")).tokens.reverse();
  expect(
    tokens.map(({ id, joinCount, revokedAt }: Record<string, unknown>) => [id, joinCount, revokedAt !== null]),
  ).toEqual(model.tokens.map((token) => [token.id, token.joins, token.revokedMs !== undefined]));
  const machines = (await read("inventory")).machines;
  const live = [...model.machines]
    .filter(([, { status }]) => status !== "removed")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  expect(machines.map(({ machineId, status }: Record<string, unknown>) => [machineId, status])).toEqual(
    live.map(([name, machine]) => [name, shown(machine, model)]),
  );
}

/** A new token; with a grace it takes the place of all before, which work until the grace ends. */
class Mint extends Step {
  readonly max: number;
  readonly graceMinutes: number | undefined;
  constructor(max: number, graceMinutes: number | undefined) {
    super();
    this.max = max;
    this.graceMinutes = graceMinutes;
  }
  toString = () => `${this.graceMinutes === undefined ? "mint" : "rotate"} ${this.max} ${this.graceMinutes}`;

  async act(model: Model, { world, site, path }: Real): Promise<Answer> {
    // Two of one millisecond have no order.
    world.clock.advance(2);
    const { max, graceMinutes } = this;
    const rotate = graceMinutes !== undefined && { graceSeconds: graceMinutes * 60 };
    const body = { maxJoins: max, expiresInSeconds: 600, ...rotate };
    const answer = await site.call("POST", `${path}/join-tokens${rotate ? "/rotate" : ""}`, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    const endMs = model.nowMs + (graceMinutes ?? 0) * MINUTE_MS;
    if (rotate) for (const token of model.tokens) token.revokedMs = Math.min(token.revokedMs ?? endMs, endMs);
    const { token, joinToken: secret } = answer.body;
    const untilMs = model.nowMs + 10 * MINUTE_MS;
    model.tokens.push({ id: token.id, secret, max, untilMs, joins: 0, revokedMs: undefined });
    return answer;
  }
}

class Revoke extends Step {
  readonly pick: number;
  constructor(pick: number) {
    super();
    this.pick = pick;
  }
  override check = ({ tokens }: Model): boolean => tokens.length > 0;
  toString = () => `revoke ${this.pick}`;

  async act(model: Model, { site, path }: Real): Promise<Answer> {
    const token = model.tokens[this.pick % model.tokens.length] as Token;
    const answer = await site.call("DELETE", `${path}/join-tokens/${token.id}`);
    expect([answer.status, answer.body.revoked]).toEqual([200, true]);
    token.revokedMs = Math.min(token.revokedMs ?? model.nowMs, model.nowMs);
    return answer;
  }
}

class Join extends Step {
  readonly pick: number;
  readonly name: string;
  readonly key: string;
  constructor(pick: number, name: string, key: string) {
    super();
    this.pick = pick;
    this.name = name;
    this.key = key;
  }
  override check = ({ tokens }: Model): boolean => tokens.length > 0;
  toString = () => `join ${this.pick} ${this.name} ${this.key}`;

  async act(model: Model, { world, site }: Real): Promise<Answer> {
    const token = model.tokens[this.pick % model.tokens.length] as Token;
    const { name: machineId, key: publicKey } = this;
    const body = { joinToken: token.secret, machineId, publicKey };
    const answer = await world.call("POST", "/v1/machines/joins", { key: site.manager.key, body });
    const found = model.machines.get(machineId);
    const live = found?.status === "removed" ? undefined : found;
    if (token.revokedMs !== undefined && model.nowMs >= token.revokedMs) {
      return this.refused(answer, 401, "JOIN_TOKEN_REVOKED");
    }
    if (model.nowMs >= token.untilMs) return this.refused(answer, 401, "JOIN_TOKEN_EXPIRED");
    if (live !== undefined && live.key !== publicKey) return this.refused(answer, 409, "MACHINE_ID_TAKEN");
    if (live?.token !== token) {
      if (token.joins >= token.max) return this.refused(answer, 409, "JOIN_TOKEN_EXHAUSTED");
      token.joins += 1;
      if (live !== undefined) live.token = token;
      else {
        const fresh = { status: "joining", heardMs: model.nowMs, token, key: publicKey } as const;
        model.machines.set(machineId, { ...fresh, drain: false, emptied: false });
      }
    }
    expect([answer.status, answer.body.joinCount], JSON.stringify(answer.body)).toEqual([200, token.joins]);
    return answer;
  }
}

/** The manager lists all that there are but those that leave; with `emptied`, those being drained are empty. */
class Report extends Step {
  readonly emptied: boolean;
  constructor(emptied: boolean) {
    super();
    this.emptied = emptied;
  }
  toString = () => `report ${this.emptied}`;

  async act(model: Model, { world, site, path }: Real): Promise<Answer> {
    world.clock.advance(2);
    const now = world.clock.wallNow().toISOString();
    const staying = [...model.machines].filter(([, { status }]) => status !== "removed" && status !== "terminating");
    const machines = staying.map(([machineId, { drain }]) => ({
      ...{ machineId, status: this.emptied && drain ? "drained" : "ready", capacityGroup: "general", zone: "a" },
      cpu: { allocated: 1, systemReserve: 0.1, total: 4 },
      memory: { allocated: 1, systemReserve: 0, total: 8 },
      ...{ replicaCount: 3, drainBlockers: [], localOverrides: [], lastHeartbeat: now },
    }));
    const body = { observedAt: now, complete: true, machines };
    const answer = await world.call("POST", `${path}/inventory`, { key: site.manager.key, body });
    expect([answer.status, answer.body.accepted], JSON.stringify(answer.body)).toEqual([200, machines.length]);
    for (const [, machine] of staying) {
      machine.heardMs = model.nowMs;
      machine.emptied ||= this.emptied && machine.drain;
      machine.status = machine.drain ? (machine.emptied ? "drained" : "draining") : "ready";
    }
    for (const machine of model.machines.values()) if (machine.status === "terminating") machine.status = "removed";
    return answer;
  }
}

/** What people wish of one machine, legal or not. */
class Wish extends Step {
  readonly what: "drain" | "cancel" | "remove";
  readonly name: string;
  constructor(what: Wish["what"], name: string) {
    super();
    this.what = what;
    this.name = name;
  }
  toString = () => `${this.what} ${this.name}`;

  async act(model: Model, { site, path }: Real): Promise<Answer> {
    const rest = this.what === "remove" ? "" : "/drain";
    const method = this.what === "drain" ? "POST" : "DELETE";
    const answer = await site.call(method, `${path}/machines/${this.name}${rest}`);
    const machine = model.machines.get(this.name);
    if (machine === undefined) return this.refused(answer, 404, "NOT_FOUND");
    const status = shown(machine, model);
    const leaves = status === "terminating" || status === "removed";
    if (this.what === "remove") {
      if (!leaves && status !== "drained" && status !== "unreachable") {
        return this.refused(answer, 409, "MACHINE_NOT_DRAINED");
      }
      expect([answer.status, answer.body.removed]).toEqual([200, true]);
      if (!leaves) machine.status = "terminating";
      return answer;
    }
    if (leaves) return this.refused(answer, 409, "INVALID_STATE_TRANSITION");
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    if (this.what === "drain") {
      machine.drain = true;
      if (status !== "drained") machine.status = "draining";
    } else {
      expect(answer.body.cancelled).toBe(machine.drain);
      if (machine.drain) machine.status = status === "unreachable" ? "unreachable" : "not-ready";
      machine.drain = false;
      machine.emptied = false;
    }
    return answer;
  }
}

const name = fc.constantFrom(...NAMES);
const wish = fc.tuple(fc.constantFrom("drain" as const, "cancel" as const, "remove" as const), name);
const STEPS = [
  fc.tuple(fc.constantFrom(1, 2), fc.constantFrom(undefined, undefined, 0, 5)).map((made) => new Mint(...made)),
  fc.nat({ max: 5 }).map((pick) => new Revoke(pick)),
  fc.tuple(fc.nat({ max: 5 }), name, fc.constantFrom("key-a", "key-a", "key-b")).map((made) => new Join(...made)),
  fc.tuple(fc.nat({ max: 5 }), name, fc.constant("key-a")).map((made) => new Join(...made)),
  fc.boolean().map((emptied) => new Report(emptied)),
  wish.map((wished) => new Wish(...wished)),
  wish.map((wished) => new Wish(...wished)),
  fc.constantFrom(2, 4).map((minutes) => new Wait(minutes)),
];

const KNOWN: readonly (readonly [Step | Wait, string])[] = [
  [new Mint(1, undefined), "mint 200"],
  [new Wish("drain", "m1"), "drain NOT_FOUND"],
  [new Join(0, "m1", "key-a"), "join 200"],
  [new Join(0, "m1", "key-b"), "join MACHINE_ID_TAKEN"],
  [new Join(0, "m2", "key-a"), "join JOIN_TOKEN_EXHAUSTED"],
  [new Wish("remove", "m1"), "remove MACHINE_NOT_DRAINED"],
  [new Wish("drain", "m1"), "drain 200"],
  [new Report(true), "report 200"],
  [new Wish("cancel", "m1"), "cancel 200"],
  [new Wait(4), ""],
  [new Wish("remove", "m1"), "remove 200"],
  [new Wish("drain", "m1"), "drain INVALID_STATE_TRANSITION"],
  [new Wish("cancel", "m1"), "cancel INVALID_STATE_TRANSITION"],
  [new Mint(1, 5), "rotate 200"],
  [new Wait(4), ""],
  [new Wait(2), ""],
  [new Join(0, "m2", "key-a"), "join JOIN_TOKEN_REVOKED"],
  [new Wait(4), ""],
  [new Join(1, "m2", "key-a"), "join JOIN_TOKEN_EXPIRED"],
  [new Revoke(1), "revoke 200"],
];

onEachDatabase("the life of join tokens and machines", (world) => {
  const walk = async (steps: Iterable<fc.AsyncCommand<Model, Real>>, seen: Set<string>): Promise<void> => {
    const site = await newSite(world);
    const id = await site.deploy("fleet", { platform: "machines" });
    expect((await site.report(id, "running", {}, { platform: "machines" })).status).toBe(200);
    const path = `/v1/machines/deployments/${id}`;
    const real: Real = { world, site, path, seen, agree: (model) => agree(site, path, model) };
    await fc.asyncModelRun(() => ({ model: { nowMs: 0, tokens: [], machines: new Map() }, real }), steps);
  };
  tellTheSame({ walk, known: KNOWN, steps: STEPS });
});
