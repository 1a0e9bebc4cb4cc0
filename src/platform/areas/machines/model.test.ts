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
  readonly node: string;
  /** The cluster denied it. */
  refused: boolean;
  /** Wanted by people, until they cancel it. */
  drain: boolean;
  emptied: boolean;
}
interface Model extends ModelTime {
  /** Oldest first. */
  readonly tokens: Token[];
  /** When the join server was heard of. */
  servedMs: number | undefined;
  readonly machines: Map<string, Machine>;
}
interface Real extends ModelReal<Model> {
  readonly site: Site;
  readonly path: string;
}

const NAMES = ["m1", "m2", "m3"] as const;
const KEYS = NAMES.map((_, index) => String(index).repeat(64));
const PIN = `sha256//${"A".repeat(43)}=`;

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

/** The join server says where it is. */
class Serve extends Step {
  toString = () => "serve";

  async act(model: Model, { world, site, path }: Real): Promise<Answer> {
    const body = { url: "https://join.example.com", pins: [PIN] };
    const answer = await world.call("PUT", `${path}/join-server`, { key: site.manager.key, body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    model.servedMs = model.nowMs;
    return answer;
  }
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
    if (model.servedMs === undefined || model.nowMs > model.servedMs + 3 * MINUTE_MS) {
      return this.refused(answer, 503, "MANAGER_NOT_READY");
    }
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
  readonly node: string;
  readonly key: string;
  constructor(pick: number, name: string, node: string, key: string) {
    super();
    this.pick = pick;
    this.name = name;
    this.node = node;
    this.key = key;
  }
  override check = ({ tokens }: Model): boolean => tokens.length > 0;
  toString = () => `join ${this.pick} ${this.name} as ${this.node} with ${this.key.slice(0, 4)}`;

  async act(model: Model, { world, site }: Real): Promise<Answer> {
    const token = model.tokens[this.pick % model.tokens.length] as Token;
    const { name: machineId, node: nodeName, key: publicKey } = this;
    const body = { joinToken: token.secret, machineId, nodeName, publicKey };
    const answer = await world.call("POST", "/v1/machines/joins", { key: site.manager.key, body });
    if (token.revokedMs !== undefined && model.nowMs >= token.revokedMs) {
      return this.refused(answer, 401, "JOIN_TOKEN_REVOKED");
    }
    if (model.nowMs >= token.untilMs) return this.refused(answer, 401, "JOIN_TOKEN_EXPIRED");
    const live = [...model.machines].filter(([, { status }]) => status !== "removed");
    const rivals = live.filter(([id, { node, key }]) => {
      const names = [id, node];
      const same = id === machineId && node === nodeName && key === publicKey;
      return !same && (names.includes(machineId) || names.includes(nodeName) || key === publicKey);
    });
    if (rivals.some(([, { key, refused }]) => key === publicKey || !refused)) {
      return this.refused(answer, 409, "MACHINE_ID_TAKEN");
    }
    const mine = live.find((each) => each[0] === machineId && !rivals.includes(each))?.[1];
    if (mine?.token !== token) {
      if (token.joins >= token.max) return this.refused(answer, 409, "JOIN_TOKEN_EXHAUSTED");
      token.joins += 1;
      for (const [, rival] of rivals) rival.status = "removed";
      if (mine !== undefined) mine.token = token;
      else {
        const fresh = { status: "joining", heardMs: model.nowMs, token, key: publicKey, node: nodeName } as const;
        model.machines.set(machineId, { ...fresh, drain: false, emptied: false, refused: false });
      }
    }
    expect([answer.status, answer.body.joinCount], JSON.stringify(answer.body)).toEqual([200, token.joins]);
    return answer;
  }
}

const entryOf = (machineId: string, status: string, now: string, more: object = {}) => ({
  ...{ machineId, status, capacityGroup: "general", zone: "a" },
  cpu: { allocated: 1, systemReserve: 0.1, total: 4 },
  memory: { allocated: 1, systemReserve: 0, total: 8 },
  ...{ replicaCount: 3, drainBlockers: [], localOverrides: [], lastHeartbeat: now },
  ...more,
});

/** The cluster lets a machine that waits not in, and its manager says so of that one alone, as the agent does. */
class Deny extends Step {
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
  override check = ({ machines }: Model): boolean => machines.get(this.name)?.status === "joining";
  toString = () => `deny ${this.name}`;

  async act(model: Model, { world, site, path }: Real): Promise<Answer> {
    // A join of the same millisecond would be as old as the one that it replaces.
    world.clock.advance(2);
    const now = world.clock.wallNow().toISOString();
    const body = {
      observedAt: now,
      complete: false,
      machines: [entryOf(this.name, "removed", now, { joinState: "denied" })],
    };
    const answer = await world.call("POST", `${path}/inventory`, { key: site.manager.key, body });
    expect([answer.status, answer.body.accepted], JSON.stringify(answer.body)).toEqual([200, 1]);
    const machine = model.machines.get(this.name) as Machine;
    machine.refused = true;
    machine.status = "unreachable";
    machine.heardMs = model.nowMs;
    return answer;
  }
}

/**
 * The manager lists all that there are but those that leave, in one report or in several; with `emptied`, those being
 * drained are empty.
 */
class Report extends Step {
  readonly emptied: boolean;
  readonly parts: number;
  constructor(emptied: boolean, parts: number) {
    super();
    this.emptied = emptied;
    this.parts = parts;
  }
  toString = () => `report ${this.emptied} ${this.parts}`;

  async act(model: Model, { world, site, path }: Real): Promise<Answer> {
    world.clock.advance(2);
    const now = world.clock.wallNow().toISOString();
    const staying = [...model.machines].filter(([, { status }]) => status !== "removed" && status !== "terminating");
    const list = staying.map(([id, { drain }]) => entryOf(id, this.emptied && drain ? "drained" : "ready", now));
    const tell = (machines: object[], more: object): Promise<Answer> => {
      const body = { observedAt: now, complete: true, machines, ...more };
      return world.call("POST", `${path}/inventory`, { key: site.manager.key, body });
    };
    let answer = await tell(this.parts > 1 ? [] : list, this.parts > 1 ? { part: this.part(0, now) } : {});
    for (let index = 1; index < this.parts; index += 1) {
      const share = list.filter((_, place) => place % (this.parts - 1) === index - 1);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      answer = await tell(share, { part: this.part(index, now) });
      expect(answer.body.accepted).toBe(share.length);
    }
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    for (const [, machine] of staying) {
      machine.heardMs = model.nowMs;
      machine.refused = false;
      machine.emptied ||= this.emptied && machine.drain;
      machine.status = machine.drain ? (machine.emptied ? "drained" : "draining") : "ready";
    }
    for (const machine of model.machines.values()) if (machine.status === "terminating") machine.status = "removed";
    return answer;
  }

  private part(index: number, now: string) {
    return { index, of: this.parts, id: `list-${Date.parse(now)}` };
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
      const isGone = status === "unreachable" && model.nowMs >= machine.heardMs + 3 * MINUTE_MS;
      if (!leaves && status !== "drained" && !isGone) {
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
const key = fc.constantFrom(...KEYS);
const own = fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: NAMES.length - 1 }));
const wish = fc.tuple(fc.constantFrom("drain" as const, "cancel" as const, "remove" as const), name);
const STEPS = [
  fc.tuple(fc.constantFrom(1, 2), fc.constantFrom(undefined, undefined, 0, 5)).map((made) => new Mint(...made)),
  fc.nat({ max: 5 }).map((pick) => new Revoke(pick)),
  fc.constant(new Serve()),
  fc.tuple(fc.nat({ max: 5 }), name, name, key).map((made) => new Join(...made)),
  own.map(([pick, index]) => new Join(pick, NAMES[index] as string, NAMES[index] as string, KEYS[index] as string)),
  own.map(([pick, index]) => new Join(pick, NAMES[index] as string, NAMES[index] as string, KEYS[index] as string)),
  name.map((denied) => new Deny(denied)),
  fc.tuple(fc.boolean(), fc.constantFrom(1, 1, 2, 3)).map((made) => new Report(...made)),
  wish.map((wished) => new Wish(...wished)),
  wish.map((wished) => new Wish(...wished)),
  fc.constantFrom(2, 4).map((minutes) => new Wait(minutes)),
];

const [KEY_A = "", KEY_B = "", KEY_C = ""] = KEYS;
const KNOWN: readonly (readonly [Step | Wait, string])[] = [
  [new Mint(1, undefined), "mint MANAGER_NOT_READY"],
  [new Serve(), "serve 200"],
  [new Mint(1, undefined), "mint 200"],
  [new Wish("drain", "m1"), "drain NOT_FOUND"],
  [new Join(0, "m1", "m1", KEY_A), "join 200"],
  [new Join(0, "m1", "m1", KEY_B), "join MACHINE_ID_TAKEN"],
  [new Join(0, "m2", "m1", KEY_B), ""],
  [new Join(0, "m2", "m2", KEY_A), ""],
  [new Join(0, "m2", "m2", KEY_B), "join JOIN_TOKEN_EXHAUSTED"],
  [new Wish("remove", "m1"), "remove MACHINE_NOT_DRAINED"],
  [new Wish("drain", "m1"), "drain 200"],
  [new Report(true, 3), "report 200"],
  [new Wish("cancel", "m1"), "cancel 200"],
  [new Wait(4), ""],
  [new Mint(1, undefined), ""],
  [new Serve(), ""],
  [new Wish("remove", "m1"), "remove 200"],
  [new Wish("drain", "m1"), "drain INVALID_STATE_TRANSITION"],
  [new Wish("cancel", "m1"), "cancel INVALID_STATE_TRANSITION"],
  [new Mint(2, 5), "rotate 200"],
  [new Join(1, "m3", "m3", KEY_C), ""],
  [new Deny("m3"), "deny 200"],
  [new Join(1, "m3", "m3", KEY_B), ""],
  [new Wait(4), ""],
  [new Wait(2), ""],
  [new Join(0, "m2", "m2", KEY_A), "join JOIN_TOKEN_REVOKED"],
  [new Wait(4), ""],
  [new Join(1, "m2", "m2", KEY_A), "join JOIN_TOKEN_EXPIRED"],
  [new Revoke(1), "revoke 200"],
];

onEachDatabase("the life of join tokens and machines", (world) => {
  const walk = async (steps: Iterable<fc.AsyncCommand<Model, Real>>, seen: Set<string>): Promise<void> => {
    const site = await newSite(world);
    const id = await site.deploy("fleet");
    const capabilities = [{ key: "machines", state: "granted" }];
    expect((await site.report(id, "running", { capabilities })).status).toBe(200);
    const path = `/v1/machines/deployments/${id}`;
    const real: Real = { world, site, path, seen, agree: (model) => agree(site, path, model) };
    await fc.asyncModelRun(
      () => ({ model: { nowMs: 0, tokens: [], servedMs: undefined, machines: new Map() }, real }),
      steps,
    );
  };
  tellTheSame({ walk, known: KNOWN, steps: STEPS });
});
