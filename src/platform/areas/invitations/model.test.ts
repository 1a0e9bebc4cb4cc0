import fc from "fast-check";
import { expect } from "vitest";
import type { InvitationStatus } from "../../../contract/workspaces/invitations.ts";
import type { WorkspaceRole } from "../../../contract/workspaces/workspaces.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { MINUTE_MS, type ModelReal, ModelStep, type ModelTime, tellTheSame, Wait } from "../../testing/model-step.ts";
import { newTeam, type Team, tokenOf } from "./testing/team.ts";

// The routes against a naive twin that keeps §3 in the plainest words: an admin, invited people and time do random
// things in random order; after each step both must tell the same story, and what is refused must leave it as it was.

interface Twin {
  readonly id: string;
  readonly token: string;
  readonly person: number;
  readonly role: WorkspaceRole;
  ended: "accepted" | "revoked" | undefined;
  untilMs: number;
  resentMs: number | undefined;
}
interface LinkTwin {
  readonly token: string;
  readonly role: WorkspaceRole;
  readonly untilMs: number;
  revoked: boolean;
  uses: number;
}
interface Model extends ModelTime {
  /** Oldest first. */
  readonly invitations: Twin[];
  readonly links: LinkTwin[];
  readonly members: Map<number, WorkspaceRole>;
}
interface Real extends ModelReal<Model> {
  readonly team: Team;
  readonly key: string;
  /** Addresses of the people who may come. */
  readonly people: readonly string[];
}

const DAY_MS = 86_400_000;
const ROLES = ["workspace.viewer", "workspace.member", "workspace.admin"] as const;

function statusOf({ ended, untilMs }: Pick<Twin, "ended" | "untilMs">, { nowMs }: Model): InvitationStatus {
  return ended ?? (nowMs >= untilMs ? "expired" : "pending");
}

function liveLink({ links, nowMs }: Model): LinkTwin | undefined {
  return links.find(({ revoked, untilMs }) => !revoked && nowMs < untilMs);
}

abstract class Step extends ModelStep<Model, Real> {}

async function agree({ team, key, people }: Pick<Real, "team" | "key" | "people">, model: Model): Promise<void> {
  const read = async (path: string) => (await team.call("GET", path, undefined, key)).body;
  const told = (await read("/invitations")).items.reverse();
  expect(told.map(({ id, role, status }: Record<string, string>) => [id, role, status])).toEqual(
    model.invitations.map((twin) => [twin.id, twin.role, statusOf(twin, model)]),
  );
  const live = liveLink(model);
  const link = await read("/invite-link");
  expect(link && [link.role, link.useCount, tokenOf(link)]).toEqual(live ? [live.role, live.uses, live.token] : null);
  const { items: members } = await read("/members");
  const roles = new Map(members.map(({ email, role }: Record<string, string>) => [email, role]));
  people.forEach((email, person) => {
    expect(roles.get(email), email).toBe(model.members.get(person));
  });
}

class Invite extends Step {
  readonly person: number;
  readonly role: WorkspaceRole;
  constructor(person: number, role: WorkspaceRole) {
    super();
    this.person = person;
    this.role = role;
  }
  toString = () => `invite ${this.person} ${this.role}`;

  async act(model: Model, { world, team, key, people }: Real): Promise<Answer> {
    // Two of one millisecond have no order.
    world.clock.advance(2);
    const { person, role } = this;
    const answer = await team.call("POST", "/invitations", { email: people[person]?.toUpperCase(), role }, key);
    if (model.members.has(person)) return this.refused(answer, 409, "ALREADY_MEMBER");
    if (model.invitations.some((twin) => twin.person === person && statusOf(twin, model) === "pending")) {
      return this.refused(answer, 409, "INVITATION_EXISTS");
    }
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    const { id } = answer.body;
    const untilMs = model.nowMs + 7 * DAY_MS;
    const token = tokenOf(answer.body);
    model.invitations.push({ id, token, person, role, ended: undefined, untilMs, resentMs: undefined });
    return answer;
  }
}

/** What is done to one invitation, legal or not. */
class Do extends Step {
  readonly what: "resend" | "revoke" | "accept";
  readonly pick: number;
  /** Who accepts; the invited one when there is no such person. */
  readonly by: number;
  constructor(what: Do["what"], pick: number, by: number) {
    super();
    this.what = what;
    this.pick = pick;
    this.by = by;
  }
  override check = ({ invitations }: Model): boolean => invitations.length > 0;
  toString = () => `${this.what} ${this.pick} ${this.by}`;

  act(model: Model, real: Real): Promise<Answer | undefined> {
    const twin = model.invitations[this.pick % model.invitations.length];
    if (twin === undefined) return Promise.resolve(undefined);
    return this[this.what](twin, statusOf(twin, model), model, real);
  }

  async resend(twin: Twin, status: InvitationStatus, model: Model, { team, key }: Real): Promise<Answer> {
    const answer = await team.call("POST", `/invitations/${twin.id}/resend`, undefined, key);
    if (status === "accepted" || status === "revoked") return this.refused(answer, 409, "INVALID_STATE_TRANSITION");
    if (twin.resentMs !== undefined && model.nowMs < twin.resentMs + MINUTE_MS) {
      return this.refused(answer, 429, "RATE_LIMITED");
    }
    expect([answer.status, answer.body.status, tokenOf(answer.body)]).toEqual([200, "pending", twin.token]);
    twin.untilMs = model.nowMs + 7 * DAY_MS;
    twin.resentMs = model.nowMs;
    return answer;
  }

  async revoke(twin: Twin, status: InvitationStatus, _: Model, { team, key }: Real): Promise<Answer> {
    const answer = await team.call("DELETE", `/invitations/${twin.id}`, undefined, key);
    if (status === "accepted") return this.refused(answer, 409, "INVALID_STATE_TRANSITION");
    expect(answer.status).toBe(204);
    twin.ended = "revoked";
    return answer;
  }

  async accept(twin: Twin, status: InvitationStatus, model: Model, { world, team, people }: Real): Promise<Answer> {
    const person = this.by < people.length ? this.by : twin.person;
    const user = await world.user({ email: people[person] ?? "" });
    const answer = await team.accept(user, twin.token);
    const shown = (await team.preview(user, twin.token)).body.state;
    if (person !== twin.person) return this.refused(answer, 403, "INVITATION_EMAIL_MISMATCH");
    if (status !== "pending") {
      expect([answer.body.context?.state, shown]).toEqual([status, status]);
      return this.refused(answer, 409, "INVITATION_UNAVAILABLE");
    }
    twin.ended = "accepted";
    expect(shown).toBe("accepted");
    return joined(answer, person, twin.role, model);
  }
}

/** In with that role, or there already with the role of before. */
function joined(answer: Answer, person: number, role: WorkspaceRole, { members }: Model): Answer {
  const before = members.get(person);
  const outcome = before === undefined ? "joined" : "already-member";
  expect([answer.status, answer.body]).toMatchObject([200, { outcome, role: before ?? role }]);
  members.set(person, before ?? role);
  return answer;
}

class PutLink extends Step {
  readonly role: WorkspaceRole;
  constructor(role: WorkspaceRole) {
    super();
    this.role = role;
  }
  toString = () => `put-link ${this.role}`;

  async act(model: Model, { team, key }: Real): Promise<Answer> {
    const answer = await team.call("PUT", "/invite-link", { role: this.role }, key);
    expect(answer.status).toBe(200);
    const live = liveLink(model);
    if (live?.role === this.role) return answer;
    if (live !== undefined) live.revoked = true;
    const untilMs = model.nowMs + 30 * DAY_MS;
    model.links.push({ token: tokenOf(answer.body), role: this.role, untilMs, revoked: false, uses: 0 });
    return answer;
  }
}

class DeleteLink extends Step {
  toString = () => "delete-link";
  async act(model: Model, { team, key }: Real): Promise<Answer> {
    const answer = await team.call("DELETE", "/invite-link", undefined, key);
    expect(answer.status).toBe(204);
    const live = liveLink(model);
    if (live !== undefined) live.revoked = true;
    return answer;
  }
}

class UseLink extends Step {
  readonly pick: number;
  readonly person: number;
  constructor(pick: number, person: number) {
    super();
    this.pick = pick;
    this.person = person;
  }
  override check = ({ links }: Model): boolean => links.length > 0;
  toString = () => `use-link ${this.pick} ${this.person}`;

  async act(model: Model, { world, team, people }: Real): Promise<Answer | undefined> {
    const link = model.links[this.pick % model.links.length];
    if (link === undefined) return undefined;
    const user = await world.user({ email: people[this.person] ?? "" });
    const answer = await team.accept(user, link.token);
    const state = link.revoked ? "revoked" : model.nowMs >= link.untilMs ? "expired" : "active";
    expect((await team.preview(user, link.token)).body.state).toBe(state);
    if (state !== "active") return this.refused(answer, 409, "INVITATION_UNAVAILABLE");
    if (!model.members.has(this.person)) link.uses += 1;
    return joined(answer, this.person, link.role, model);
  }
}

class Leave extends Step {
  readonly person: number;
  constructor(person: number) {
    super();
    this.person = person;
  }
  override check = ({ members }: Model): boolean => members.has(this.person);
  toString = () => `leave ${this.person}`;

  async act(model: Model, { world, team, people }: Real): Promise<Answer> {
    const user = await world.user({ email: people[this.person] ?? "" });
    const answer = await team.call("DELETE", `/members/${user.id}`, undefined, user.token);
    expect(answer.status).toBe(204);
    model.members.delete(this.person);
    return answer;
  }
}

const PEOPLE = 3;
const person = fc.nat({ max: PEOPLE - 1 });
const pick = fc.nat({ max: 8 });
const role = fc.constantFrom(...ROLES);
const what = fc.constantFrom("resend" as const, "revoke" as const, "accept" as const);
const STEPS = [
  fc.tuple(person, role).map((made) => new Invite(...made)),
  fc.tuple(what, pick, fc.nat({ max: 2 * PEOPLE })).map((done) => new Do(...done)),
  fc.tuple(what, pick, fc.nat({ max: 2 * PEOPLE })).map((done) => new Do(...done)),
  role.map((each) => new PutLink(each)),
  fc.constant(new DeleteLink()),
  fc.tuple(pick, person).map((used) => new UseLink(...used)),
  person.map((each) => new Leave(each)),
  fc.constantFrom(2, 3 * 1440 + 7, 7 * 1440 + 11).map((minutes) => new Wait(minutes)),
];

const KNOWN: readonly (readonly [Step | Wait, string])[] = [
  [new Invite(0, "workspace.member"), "invite 201"],
  [new Invite(0, "workspace.viewer"), "invite INVITATION_EXISTS"],
  [new Do("accept", 0, 1), "accept INVITATION_EMAIL_MISMATCH"],
  [new Do("resend", 0, 0), "resend 200"],
  [new Do("resend", 0, 0), "resend RATE_LIMITED"],
  [new Do("accept", 0, 0), "accept 200"],
  [new Do("accept", 0, 0), "accept INVITATION_UNAVAILABLE"],
  [new Invite(0, "workspace.viewer"), "invite ALREADY_MEMBER"],
  [new Do("resend", 0, 0), "resend INVALID_STATE_TRANSITION"],
  [new Do("revoke", 0, 0), "revoke INVALID_STATE_TRANSITION"],
  [new PutLink("workspace.viewer"), "put-link 200"],
  [new UseLink(0, 1), "use-link 200"],
  [new DeleteLink(), "delete-link 204"],
  [new UseLink(0, 2), "use-link INVITATION_UNAVAILABLE"],
];

let made = 0;

onEachDatabase("the life of an invitation and of a link", (world) => {
  const walk = async (steps: Iterable<fc.AsyncCommand<Model, Real>>, seen: Set<string>): Promise<void> => {
    made += 1;
    const people = Array.from({ length: PEOPLE }, (_, index) => `person-${made}-${index}@example.com`);
    const team = await newTeam(world);
    const parts = { world, team, key: await team.workspace.key("workspace.admin"), people, seen };
    const real: Real = { ...parts, agree: (model) => agree(parts, model) };
    await fc.asyncModelRun(
      () => ({ model: { nowMs: 0, invitations: [], links: [], members: new Map() }, real }),
      steps,
    );
  };
  tellTheSame({ walk, known: KNOWN, steps: STEPS });
});
