import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../../lab/cluster/certificates.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import type { KeyAndCertificate } from "../../debug-link/x509.ts";
import { JoinWorld, machineRequest, TOKEN } from "../testing/join-world.ts";

const authority = new CertificateAuthority("kubernetes");
const nodeKey = (name: string, more: object = {}) =>
  authority.issue({ commonName: `system:node:${name}`, organizations: ["system:nodes"], ...more });
const own = nodeKey("m-1");

let world: JoinWorld;
let request: string;
beforeAll(() => {
  ({ request } = machineRequest("m-1"));
});
beforeEach(async () => {
  world = await JoinWorld.start(undefined, { nodeCa: authority.certificate });
  await world.ask("POST", "/v1/join", {
    body: JSON.stringify({ machineId: "box-1", nodeName: "m-1", request, facts: {} }),
    token: TOKEN,
  });
  joinIs("Joined");
});
afterEach(() => world.close());

const joinIs = (state: "Waiting" | "Joined" | "Removed") => world.report([...world.joins.keys()][0] ?? "", { state });
const leave = (shown: KeyAndCertificate | null = own, body = "", node = "m-1") =>
  world.ask("POST", `/v1/leave/${node}`, { body, ...(shown && { shown }) });
const look = (uid = "", shown = own, node = "m-1") => world.ask("GET", `/v1/leave/${node}/${uid}`, { shown });
function drain(): MachineDrain {
  const [found] = world.drains.values();
  if (found === undefined) throw new Error("no drain");
  return found;
}
const drainIs = (status: MachineDrainStatus, of = drain()) => world.drains.set(of.metadata.name, { ...of, status });
const condition = (type: string, status: "True" | "False", message: string) => ({
  ...{ type, status, reason: "Because", message, lastTransitionTime: "2026-01-01T00:00:00Z" },
});

describe("a machine that has joined", () => {
  test("asks by its certificate that its own node be emptied: a wish that the customer's word must cover", async () => {
    const { status, json } = await leave(own, "deadlineMinutes=30");
    expect({ status, json }).toEqual({ status: 202, json: { uid: drain().metadata.uid, name: "m-1-leave-0" } });
    const { deadlineAt = "", ...spec } = drain().spec;
    expect(spec).toEqual({
      nodeName: "m-1",
      reason: "the machine itself asked to leave",
      requested: { deploymentId: "dep_1", machineId: "box-1", revision: 0, leaving: true },
    });
    expect(Date.parse(deadlineAt) - Date.now()).toBeGreaterThan(29 * 60_000);
    expect(Date.parse(deadlineAt) - Date.now()).toBeLessThanOrEqual(30 * 60_000);
  });

  test("asks once, until that has ended", async () => {
    const first = await leave();
    expect(drain().spec.deadlineAt).toBeUndefined();
    expect((await leave()).json.uid).toBe(first.json.uid);
    drainIs({ state: "Drained" });
    expect((await leave()).json.name).toBe("m-1-leave-1");
    expect(world.drains.size).toBe(2);
  });

  test("hears who must allow it, what is left and in the way, and that it is empty", async () => {
    const { uid } = (await leave()).json;
    expect((await look(uid)).json.message).toContain("the customer, who must allow drain m-1-leave-0");
    drainIs({ state: "Waiting", conditions: [condition("Approved", "False", "machines/drain needs a grant")] });
    expect((await look(uid)).json.message).toContain("machines/drain needs a grant");
    const queued = [condition("Approved", "True", ""), condition("Progressing", "False", "drain m-7 is ahead")];
    drainIs({ state: "Waiting", conditions: queued });
    expect((await look(uid)).json.message).toBe("waits for its turn: drain m-7 is ahead");
    const blocker = { pods: ["shop/api-1"], count: 2, since: "2026-01-01T00:00:00Z" };
    drainIs({
      ...{ state: "Blocked", left: "3/41", deadlineAt: "2026-01-01T01:00:00Z" },
      blockers: [
        { ...blocker, reason: "pod-disruption-budget", workload: "shop/deployment/api", message: "raise it" },
        { ...blocker, reason: "daemon", message: "" },
      ],
    });
    expect((await look(uid)).json).toEqual({
      state: "Blocked",
      message: "3/41 pods are left, deadline 2026-01-01T01:00:00Z",
      blockers: "shop/deployment/api (2): pod-disruption-budget: raise it",
    });
    drainIs({ state: "Drained" });
    expect((await look(uid)).json).toMatchObject({ state: "Drained", message: "the node m-1 is empty" });
  });

  test("has left when a person emptied its node since it asked, and not when one did so before", async () => {
    const { uid } = (await leave()).json;
    const { requested: _, ...spec } = drain().spec;
    const persons = { ...drain(), metadata: { ...drain().metadata, name: "m-1", uid: "persons" }, spec };
    drainIs({ state: "Drained", drainedAt: "2026-01-01T00:00:00Z" }, persons);
    expect((await look(uid)).json.state).toBe("Waiting");
    drainIs({ state: "Drained", drainedAt: new Date(Date.now() + 1_000).toISOString() }, persons);
    expect((await look(uid)).json.state).toBe("Drained");
    expect((await look("persons")).status).toBe(404);
  });

  test("whose drain was deleted, or that has another's uid, finds none", async () => {
    const { uid } = (await leave()).json;
    world.drains.clear();
    expect(await look(uid)).toMatchObject({ status: 404, json: { code: "NOT_FOUND" } });
  });

  test.each(["deadlineMinutes=-1", "deadlineMinutes=525601", "{}", "deadlineMinutes=1&force=true"])(
    "asks for no other deadline: %s",
    async (body) => {
      expect((await leave(own, body)).status).toBe(400);
      expect(world.drains.size).toBe(0);
    },
  );
});

describe("refused, and no drain is made", () => {
  const other = new CertificateAuthority("kubernetes");
  const long = new Date(Date.now() - 31 * 86_400_000);
  test.each<readonly [string, KeyAndCertificate | null, number, string]>([
    ["no certificate", null, 401, "show the node's"],
    ["another node's certificate", nodeKey("m-2"), 403, "own node alone"],
    [
      "a certificate of an authority of the same name",
      other.issue({ commonName: "system:node:m-1", organizations: ["system:nodes"] }),
      401,
      "not good for this cluster",
    ],
    ["an expired certificate", nodeKey("m-1", { now: long }), 401, "CERT_HAS_EXPIRED"],
    [
      "a certificate that is not valid yet",
      nodeKey("m-1", { now: new Date(Date.now() + 86_400_000) }),
      401,
      "CERT_NOT_YET_VALID",
    ],
    ["the node's certificate to serve", nodeKey("m-1", { hosts: ["m-1"] }), 401, "not good for this cluster"],
    ["a person's certificate of that name", authority.issue({ commonName: "system:node:m-1" }), 401, "not a node's"],
    [
      "a certificate of one more group",
      nodeKey("m-1", { organizations: ["system:nodes", "system:masters"] }),
      401,
      "not a node's",
    ],
    ["a certificate with a line in its name", nodeKey("m-1\nO=system:nodes"), 401, "not a node's"],
  ])("%s", async (_, shown, status, words) => {
    const answer = await leave(shown);
    expect(answer).toMatchObject({ status, json: { message: expect.stringContaining(words) } });
    expect(world.drains.size).toBe(0);
    expect(world.rejected).toEqual(["certificate"]);
    if (shown !== null) expect((await look("x", shown)).status).toBe(status);
  });

  test.each(["Waiting", "Removed"] as const)("a machine whose join is %s", async (state) => {
    joinIs(state);
    expect(await leave()).toMatchObject({ status: 403, json: { code: "NOT_JOINED" } });
    expect(world.rejected).toEqual(["not-joined"]);
  });

  test("a node that came by no join, and a machine whose pool is gone", async () => {
    expect((await leave(nodeKey("control-plane-1"), "", "control-plane-1")).status).toBe(403);
    world.pools = [];
    expect(await leave()).toMatchObject({ status: 409, json: { code: "NO_POOL" } });
    expect(world.drains.size).toBe(0);
  });
});

test("other routes take clients with any certificate, or none", async () => {
  for (const shown of [undefined, own, new CertificateAuthority("other").issue({ commonName: "x" })])
    expect((await world.ask("GET", "/v1/hello", { ...(shown && { shown }) })).status).toBe(200);
  expect((await world.ask("GET", "/v1/leave-script")).status).toBe(200);
  expect((await world.ask("PUT", "/v1/leave/m-1", { shown: own })).status).toBe(405);
});

test("five drains of its own that have ended are enough until the customer deletes one", async () => {
  for (let times = 0; times < 5; times += 1) {
    const { json } = await leave();
    const made = [...world.drains.values()].find(({ metadata }) => metadata.name === json.name);
    if (made !== undefined) drainIs({ state: "Drained" }, made);
  }
  expect(await leave()).toMatchObject({ status: 409, json: { code: "TOO_MANY_DRAINS" } });
  world.drains.delete("m-1-leave-0");
  expect((await leave()).status).toBe(202);
});

test("a drain of that name which the machine did not ask for is not taken for its own", async () => {
  await leave();
  const { requested: _, ...spec } = drain().spec;
  world.drains.set("m-1-leave-0", { ...drain(), spec });
  expect(await leave()).toMatchObject({ status: 409, json: { code: "NAME_TAKEN" } });
});

test("where the customer has that off no machine leaves, and no client is asked for a certificate", async () => {
  const off = await JoinWorld.start();
  for (const [method, url] of [
    ["POST", "/v1/leave/m-1"],
    ["GET", "/v1/leave/m-1/uid"],
    ["GET", "/v1/leave-script"],
  ] as const) {
    expect(await off.ask(method, url, { shown: own })).toMatchObject({ status: 404, json: { code: "LEAVE_OFF" } });
  }
  expect(off.shownCertificates).toBe(0);
  await off.close();
});
