import fc from "fast-check";
import { expect } from "vitest";
import { type Answer, onEachDatabase, type World } from "../../testing/harness.ts";
import { MINUTE_MS, type ModelReal, ModelStep, type ModelTime, tellTheSame, Wait } from "../../testing/model-step.ts";

// The routes against a naive twin that keeps §1.1 in the plainest words: an admin, whoever holds the keys, and time do
// random things in random order; after each step both must tell the same story, and what is refused must leave it as it was.

interface Twin {
  readonly id: string;
  readonly secret: string;
  enabled: boolean;
  revoked: boolean;
  /** Batch-deleted: nobody knows it any more. */
  gone: boolean;
  untilMs: number | undefined;
}
interface Model extends ModelTime {
  /** Oldest first. */
  readonly keys: Twin[];
}
interface Real extends ModelReal<Model> {
  readonly admin: string;
}

/** What the key is answered; undefined: it is let in. */
function refusal({ gone, revoked, enabled, untilMs }: Twin, { nowMs }: Model): string | undefined {
  if (gone) return "API_KEY_INVALID";
  if (revoked) return "API_KEY_REVOKED";
  if (!enabled) return "API_KEY_DISABLED";
  return untilMs !== undefined && nowMs >= untilMs ? "API_KEY_EXPIRED" : undefined;
}

abstract class Step extends ModelStep<Model, Real> {}

async function agree(world: World, admin: string, model: Model): Promise<void> {
  const { items } = (await world.call("GET", "/v1/api-keys", { key: admin, query: { limit: 100 } })).body;
  const known = new Set(model.keys.map(({ id }) => id));
  const told = items.filter(({ id }: { id: string }) => known.has(id)).reverse();
  expect(
    told.map((key: { id: string; enabled: boolean; revokedAt: string | null; expiresAt: string | null }) => {
      return [key.id, key.enabled, key.revokedAt !== null, key.expiresAt !== null];
    }),
  ).toEqual(
    model.keys
      .filter(({ gone }) => !gone)
      .map(({ id, enabled, revoked, untilMs }) => [id, enabled, revoked, untilMs !== undefined]),
  );
}

/** Minutes after which it expires; never when there are none. */
class Mint extends Step {
  readonly minutes: number | undefined;
  constructor(minutes: number | undefined) {
    super();
    this.minutes = minutes;
  }
  toString = () => `mint ${this.minutes}`;

  async act(model: Model, { world, admin }: Real): Promise<Answer> {
    // Two of one millisecond have no order.
    world.clock.advance(2);
    const scope = { type: "workspace", role: "workspace.viewer" };
    const expiresAt = instant(world, this.minutes);
    const answer = await world.call("POST", "/v1/api-keys", {
      key: admin,
      body: { description: null, scope, expiresAt },
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    const { apiKey: secret, keyInfo } = answer.body;
    const untilMs = this.minutes === undefined ? undefined : model.nowMs + this.minutes * MINUTE_MS;
    model.keys.push({ id: keyInfo.id, secret, enabled: true, revoked: false, gone: false, untilMs });
    return answer;
  }
}

function instant(world: World, minutes: number | undefined): string | null {
  return minutes === undefined ? null : new Date(world.clock.wallNow().getTime() + minutes * MINUTE_MS).toISOString();
}

/** What is done with one key, legal or not. */
class Do extends Step {
  readonly what: "use" | "enable" | "disable" | "prolong" | "revoke" | "delete";
  readonly pick: number;
  constructor(what: Do["what"], pick: number) {
    super();
    this.what = what;
    this.pick = pick;
  }
  override check = ({ keys }: Model): boolean => keys.length > 0;
  toString = () => `${this.what} ${this.pick}`;

  async act(model: Model, real: Real): Promise<Answer | undefined> {
    const twin = model.keys[this.pick % model.keys.length];
    if (twin === undefined) return undefined;
    const { world, admin } = real;
    const path = `/v1/api-keys/${twin.id}`;
    switch (this.what) {
      case "use": {
        const answer = await world.call("GET", "/v1/whoami", { key: twin.secret });
        const expected = refusal(twin, model);
        expect([answer.status, answer.body.code]).toEqual(expected === undefined ? [200, undefined] : [401, expected]);
        return answer;
      }
      case "delete": {
        const answer = await world.call("POST", "/v1/api-keys/batch-delete", { key: admin, body: { ids: [twin.id] } });
        expect(answer.body).toEqual({ deletedCount: twin.gone ? 0 : 1 });
        twin.gone = true;
        return answer;
      }
      case "revoke": {
        const answer = await world.call("DELETE", path, { key: admin });
        expect(answer.status).toBe(twin.gone ? 404 : 204);
        twin.revoked ||= !twin.gone;
        return answer;
      }
      default:
        return this.#change(twin, model, real, path);
    }
  }

  async #change(twin: Twin, model: Model, { world, admin }: Real, path: string): Promise<Answer> {
    const body = this.what === "prolong" ? { expiresAt: instant(world, 10) } : { enabled: this.what === "enable" };
    const answer = await world.call("PATCH", path, { key: admin, body });
    if (twin.gone) expect(answer.body.code).toBe("NOT_FOUND");
    else if (twin.revoked) expect([answer.status, answer.body.code]).toEqual([409, "INVALID_STATE_TRANSITION"]);
    else {
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      if (this.what === "prolong") twin.untilMs = model.nowMs + 10 * MINUTE_MS;
      else twin.enabled = this.what === "enable";
    }
    return answer;
  }
}

const what = fc.constantFrom<Do["what"][]>("use", "use", "enable", "disable", "prolong", "revoke", "delete");
const STEPS = [
  fc.constantFrom(undefined, 20).map((minutes) => new Mint(minutes)),
  fc.tuple(what, fc.nat({ max: 6 })).map((done) => new Do(...done)),
  fc.tuple(what, fc.nat({ max: 6 })).map((done) => new Do(...done)),
  fc.constantFrom(7, 13).map((minutes) => new Wait(minutes)),
];

const KNOWN: readonly (readonly [Step | Wait, string])[] = [
  [new Mint(20), "mint 201"],
  [new Do("use", 0), "use 200"],
  [new Do("disable", 0), "disable 200"],
  [new Do("use", 0), "use API_KEY_DISABLED"],
  [new Do("enable", 0), "enable 200"],
  [new Wait(33), ""],
  [new Do("use", 0), "use API_KEY_EXPIRED"],
  [new Do("prolong", 0), "prolong 200"],
  [new Do("revoke", 0), "revoke 204"],
  [new Do("use", 0), "use API_KEY_REVOKED"],
  [new Do("enable", 0), "enable INVALID_STATE_TRANSITION"],
  [new Do("delete", 0), "delete 200"],
  [new Do("use", 0), "use API_KEY_INVALID"],
  [new Do("enable", 0), "enable NOT_FOUND"],
];

onEachDatabase("the life of an API key", (world) => {
  const walk = async (steps: Iterable<fc.AsyncCommand<Model, Real>>, seen: Set<string>): Promise<void> => {
    const admin = await (await world.workspace()).key("workspace.admin");
    const real: Real = { world, admin, seen, agree: (model) => agree(world, admin, model) };
    await fc.asyncModelRun(() => ({ model: { nowMs: 0, keys: [] }, real }), steps);
  };
  tellTheSame({ walk, known: KNOWN, steps: STEPS });
});
