import { describe, expect, it } from "vitest";
import { readJoinString } from "../../../contract/machines/join-string.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

const DOOR = { url: "https://join.customer.example:8443", pins: [`sha256//${"A".repeat(43)}=`] };
const keyOf = (digit: number): string => digit.toString(16).padStart(64, "0");

onEachDatabase("machines of a Kubernetes deployment", (world) => {
  interface Fleet {
    readonly site: Site;
    readonly id: string;
    readonly path: string;
  }
  const machines = (state: string, detail?: string) => ({ capabilities: [{ key: "machines", state, detail }] });
  async function fleet(): Promise<Fleet> {
    const site = await newSite(world);
    const id = await site.deploy("fleet");
    expect((await site.report(id, "running", machines("granted"))).status).toBe(200);
    return { site, id, path: `/v1/machines/deployments/${id}` };
  }
  const serve = ({ site, path }: Fleet, body: object = {}, key = site.manager.key): Promise<Answer> =>
    world.call("PUT", `${path}/join-server`, { key, body: { ...DOOR, ...body } });
  const mint = ({ site, path }: Fleet, body: object = {}): Promise<Answer> =>
    site.call("POST", `${path}/join-tokens`, { body });
  async function open(maxJoins = 10): Promise<Fleet & { joinToken: string }> {
    const made = await fleet();
    expect((await serve(made)).status).toBe(200);
    return { ...made, joinToken: (await mint(made, { maxJoins })).body.joinToken };
  }
  const join = (site: Site, joinToken: string, names: object): Promise<Answer> =>
    world.call("POST", "/v1/machines/joins", { key: site.manager.key, body: { joinToken, ...names } });
  const named = (machineId: string, nodeName: string, publicKey: string) => ({ machineId, nodeName, publicKey });
  const entry = (machineId: string, status = "ready", more: object = {}) => ({
    ...{ machineId, status, capacityGroup: "general", zone: "a", replicaCount: 3 },
    cpu: { allocated: 1, systemReserve: 0.1, total: 4 },
    memory: { allocated: 1, systemReserve: 0, total: 8 },
    ...{ drainBlockers: [], localOverrides: [], lastHeartbeat: world.clock.wallNow().toISOString() },
    ...more,
  });
  const report = ({ site, path }: Fleet, list: object[], more: object = {}): Promise<Answer> => {
    const observedAt = world.clock.wallNow().toISOString();
    const body = { observedAt, complete: true, machines: list, ...more };
    return world.call("POST", `${path}/inventory`, { key: site.manager.key, body });
  };
  const inventory = async ({ site, path }: Fleet) => (await site.call("GET", `${path}/inventory`)).body;
  const actions = async ({ site }: Fleet): Promise<string[]> => {
    const query = { managerId: site.manager.id };
    const { body } = await world.call("GET", "/v1/machines/actions", { key: site.manager.key, query });
    return body.actions.map(
      ({ action, revision, passedOn }: Record<string, unknown>) =>
        `${action} ${revision}${passedOn ? " passed on" : ""}`,
    );
  };
  const statuses = async (of: Fleet): Promise<string[]> =>
    (await inventory(of)).machines.map((each: Record<string, string>) => `${each.machineId} ${each.status}`);

  it("are there as soon as the cluster offers them, and else its reason is", async () => {
    const made = await fleet();
    expect((await inventory(made)).machines).toEqual([]);
    await made.site.report(made.id, "running", machines("denied", "machines are off in this cluster"));
    const { status, body } = await mint(made);
    expect([status, body.code]).toEqual([400, "MACHINES_DEPLOYMENT_UNAVAILABLE"]);
    expect(body.message).toBe("the deployment's cluster offers no machines: machines are off in this cluster");
    expect(body.hint).toContain("makes a MachinePool for this deployment");
    expect((await serve(made)).body.code).toBe("MACHINES_DEPLOYMENT_UNAVAILABLE");
  });

  describe("a join server", () => {
    it("is where tokens lead, with its first pin, until nothing was heard of it for three minutes", async () => {
      const made = await fleet();
      const none = await mint(made);
      expect([none.status, none.body.code]).toEqual([503, "MANAGER_NOT_READY"]);
      expect([none.body.message, none.headers.get("retry-after")]).toEqual([
        ...["no join server of the cluster has said where machines can knock", "60"],
      ]);
      expect((await inventory(made)).joinServer).toBeNull();
      const pins = [...DOOR.pins, `sha256//${"B".repeat(43)}=`];
      const told = await serve(made, { pins, apiServerVersion: "v1.36.3" });
      const { reportedAt } = told.body;
      expect([told.status, Date.parse(reportedAt) <= world.clock.wallNow().getTime()]).toEqual([200, true]);
      world.clock.advance(170_000);
      const server = { url: DOOR.url, pins, apiServerVersion: "v1.36.3", reportedAt, stale: false };
      expect((await inventory(made)).joinServer).toEqual(server);
      const { body } = await mint(made, { expiresInSeconds: 600 });
      expect(body).toMatchObject({ controlPlaneUrl: DOOR.url, controlPlanePin: DOOR.pins[0] });
      expect(readJoinString(body.joinString)).toEqual({
        ...{ token: body.joinToken, url: DOOR.url, clusterId: body.clusterId, pin: DOOR.pins[0] },
        exp: Math.floor(Date.parse(body.token.expiresAt) / 1000),
      });
      world.clock.advance(10_001);
      const rotated = await made.site.call("POST", `${made.path}/join-tokens/rotate`, { body: {} });
      expect([rotated.status, rotated.body.code]).toEqual([503, "MANAGER_NOT_READY"]);
      expect(rotated.body.message).toContain(reportedAt);
      // What was refused has revoked nothing.
      expect((await join(made.site, body.joinToken, named("m-1", "m-1", keyOf(1)))).status).toBe(200);
      expect((await inventory(made)).joinServer).toEqual({ ...server, stale: true });
    });

    it("of a manager that the deployment had before leads nowhere", async () => {
      const made = await fleet();
      await serve(made);
      const other = await made.site.workspace.manager();
      const moved = await made.site.call("PATCH", `/v1/deployments/${made.id}`, {
        key: made.site.admin,
        body: { managerId: other.id },
      });
      expect(moved.status, JSON.stringify(moved.body)).toBe(200);
      expect((await mint(made)).body.code).toBe("MANAGER_NOT_READY");
      expect((await inventory(made)).joinServer).toBeNull();
      expect((await serve(made)).body.code).toBe("NOT_FOUND");
      expect((await serve(made, {}, other.key)).status).toBe(200);
      expect((await mint(made)).status).toBe(200);
    });

    it.each<[string, object, string]>([
      ["plain HTTP", { url: "http://join.example.com" }, "body.url"],
      ["a path", { url: "https://join.example.com/v1" }, "body.url"],
      ["a shell's word", { url: "https://join.example.com:8443;reboot" }, "body.url"],
      ["a line break", { url: "https://join.example.com\n" }, "body.url"],
      ["a long address", { url: `https://${"a".repeat(250)}.example.com` }, "body.url"],
      ["no pin", { pins: [] }, "body.pins"],
      ["five pins", { pins: [0, 1, 2, 3, 4].map((each) => `sha256//${String(each).repeat(43)}=`) }, "body.pins"],
      ["a pin of another form", { pins: ["sha256//x"] }, "body.pins.0"],
      ["a version that is none", { apiServerVersion: "latest" }, "body.apiServerVersion"],
    ])("with %s is refused", async (_, body, path) => {
      const answer = await serve(await fleet(), body);
      expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_ERROR"]);
      expect(answer.body.context.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    });

    it("is told by the deployment's manager alone", async () => {
      const made = await fleet();
      const thief = await newSite(world);
      expect((await serve(made, { url: "https://thief.example" }, thief.manager.key)).body.code).toBe("NOT_FOUND");
      for (const key of [made.site.admin, made.site.member]) {
        expect((await serve(made, {}, key)).body.code).toBe("FORBIDDEN");
      }
      expect((await inventory(made)).joinServer).toBeNull();
    });
  });

  describe("a join", () => {
    it("needs a key and a node's name, and says so only to who has a token", async () => {
      const { site, joinToken } = await open();
      const wrong = `${joinToken.slice(0, -1)}${joinToken.endsWith("a") ? "b" : "a"}`;
      expect((await join(site, wrong, { machineId: "m-1" })).body.code).toBe("JOIN_TOKEN_INVALID");
      for (const [body, path] of [
        [{ machineId: "m-1", nodeName: "m-1" }, "body.publicKey"],
        [named("m-1", "m-1", "key-1"), "body.publicKey"],
        [named("m-1", "m-1", keyOf(0xa).toUpperCase()), "body.publicKey"],
        [{ machineId: "m-1", publicKey: keyOf(1) }, "body.nodeName"],
        [named("m-1", "M_1", keyOf(1)), "body.nodeName"],
      ] as const) {
        const answer = await join(site, joinToken, body);
        expect([answer.body.code, answer.body.context.issues[0].path]).toEqual(["VALIDATION_ERROR", path]);
      }
    });

    it("is free for the same machine, and takes no name that another has", async () => {
      const made = await open();
      const { site, joinToken } = made;
      const same = named("a", "m-1", keyOf(1));
      for (let again = 0; again < 3; again += 1) expect((await join(site, joinToken, same)).body.joinCount).toBe(1);
      await report(made, [entry("a"), entry("control-plane-1")]);
      for (const [what, names] of [
        ["the id with another key", named("a", "m-9", keyOf(9))],
        ["the node with another key", named("z", "m-1", keyOf(9))],
        ["all names with another key", { ...same, publicKey: keyOf(9) }],
        ["the key with another id", named("z", "m-1", keyOf(1))],
        ["the key with another node", named("a", "m-9", keyOf(1))],
        ["the key with other names", named("z", "m-9", keyOf(1))],
        ["an id that is a node's name", named("m-1", "m-9", keyOf(9))],
        ["a node that is there", named("z", "control-plane-1", keyOf(9))],
        ["the id of a node that is there", named("control-plane-1", "m-9", keyOf(9))],
      ] as const) {
        const answer = await join(site, joinToken, names);
        expect([answer.status, answer.body.code], what).toEqual([409, "MACHINE_ID_TAKEN"]);
      }
      expect((await join(site, joinToken, same)).body.joinCount).toBe(1);
      expect((await join(site, joinToken, named("b", "m-2", keyOf(2)))).body.joinCount).toBe(2);
    });

    it("that the cluster denied stays to be seen, and gives its names back to the next key", async () => {
      const made = await open();
      const { site, joinToken } = made;
      await join(site, joinToken, named("m-1", "m-1", keyOf(1)));
      expect((await join(site, joinToken, named("m-1", "m-1", keyOf(2)))).body.code).toBe("MACHINE_ID_TAKEN");
      const conditions = [{ type: "JoinApproved", status: "False", reason: "DeniedByPerson" }];
      const denied = entry("m-1", "removed", { joinState: "denied", conditions });
      await report(made, [denied]);
      const shown = { machineId: "m-1", status: "unreachable", joinState: "denied", conditions };
      expect((await inventory(made)).machines).toMatchObject([shown]);
      const observedAt = world.clock.wallNow().toISOString();
      world.clock.advance(1);
      expect((await join(site, joinToken, named("m-1", "m-1", keyOf(2)))).body.joinCount).toBe(2);
      const fresh = { machineId: "m-1", status: "joining", joinState: null, conditions: [] };
      expect((await inventory(made)).machines).toMatchObject([fresh]);
      // A list from before it joined is about the other machine.
      expect((await report(made, [denied], { observedAt })).body).toEqual({ accepted: 0, ignored: 1 });
      expect((await inventory(made)).machines).toMatchObject([fresh]);
      expect((await join(site, joinToken, named("m-1", "m-1", keyOf(3)))).body.code).toBe("MACHINE_ID_TAKEN");
    });

    it("that was denied can be removed from the list", async () => {
      const made = await open();
      await join(made.site, made.joinToken, named("m-1", "m-1", keyOf(1)));
      await report(made, [entry("m-1", "removed", { joinState: "denied" })]);
      world.clock.advance(180_000);
      const { status } = await made.site.call("DELETE", `${made.path}/machines/m-1`);
      expect([status, await statuses(made)]).toEqual([200, ["m-1 terminating"]]);
      await report(made, [entry("m-1", "removed", { joinState: "denied" })]);
      expect(await statuses(made)).toEqual([]);
    });

    it.each([
      ["under its own name again", named("m-1", "m-1", keyOf(2))],
      ["as another machine of that node's name", named("box", "m-1", keyOf(2))],
    ])("after a removal %s has wishes that are newer than all before", async (_, names) => {
      const made = await open();
      const wish = (method: string, rest = "") =>
        made.site.call(method, `${made.path}/machines/${names.machineId}${rest}`);
      await join(made.site, made.joinToken, named("m-1", "m-1", keyOf(1)));
      await made.site.call("POST", `${made.path}/machines/m-1/drain`);
      await report(made, [entry("m-1", "drained")]);
      expect((await made.site.call("DELETE", `${made.path}/machines/m-1`)).status).toBe(200);
      expect(await actions(made)).toEqual(["remove 2"]);
      world.clock.advance(1);
      await report(made, []);
      expect((await join(made.site, made.joinToken, names)).status).toBe(200);
      expect((await wish("POST", "/drain")).status).toBe(200);
      expect(await actions(made)).toEqual(["drain 3"]);
    });

    it("of a node that comes back by itself has wishes that are newer than all before", async () => {
      const made = await fleet();
      await report(made, [entry("m-1")]);
      await made.site.call("POST", `${made.path}/machines/m-1/drain`);
      await report(made, [entry("m-1", "drained")]);
      await made.site.call("DELETE", `${made.path}/machines/m-1`);
      world.clock.advance(1);
      await report(made, []);
      await report(made, [entry("m-1")]);
      await made.site.call("POST", `${made.path}/machines/m-1/drain`);
      expect(await actions(made)).toEqual(["drain 3"]);
    });

    it("of fifty machines for ten places lets exactly ten in", async () => {
      const made = await open(10);
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => knock(made, named(`m-${index}`, `m-${index}`, keyOf(index)))),
      );
      const counts = answers.flatMap(({ status, body }) => (status === 200 ? [body.joinCount] : []));
      expect(counts.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      const codes = new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.code));
      expect(codes).toEqual(new Set(["JOIN_TOKEN_EXHAUSTED"]));
      expect(await statuses(made)).toHaveLength(10);
    });

    it("of twenty machines for one node's name lets one in, and counts one", async () => {
      const made = await open(50);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => knock(made, named(`m-${index}`, "m-x", keyOf(index)))),
      );
      const told = answers.map(({ status, body }) => (status === 200 ? body.joinCount : body.code)).toSorted();
      expect(told).toEqual([1, ...Array.from({ length: 19 }, () => "MACHINE_ID_TAKEN")]);
      const { tokens } = (await made.site.call("GET", `${made.path}/join-tokens`)).body;
      expect(tokens).toMatchObject([{ joinCount: 1 }]);
    });

    /** Again after a lost race, as the join server does. */
    async function knock({ site, joinToken }: { site: Site; joinToken: string }, names: object): Promise<Answer> {
      for (;;) {
        const answer = await join(site, joinToken, names);
        if (answer.body.code !== "CONFLICT") return answer;
      }
    }

    it("with another workspace's token, or through another workspace's manager, is none", async () => {
      const [made, other] = [await open(), await open()];
      const names = named("m-1", "m-1", keyOf(1));
      expect((await join(other.site, made.joinToken, names)).body.code).toBe("JOIN_TOKEN_INVALID");
      expect((await join(made.site, other.joinToken, names)).body.code).toBe("JOIN_TOKEN_INVALID");
      expect((await report({ ...made, site: other.site }, [entry("x")])).body.code).toBe("NOT_FOUND");
      const wished = await other.site.call("POST", `${made.path}/machines/m-1/drain`, { body: {} });
      expect(wished.body.code).toBe("NOT_FOUND");
      expect(await statuses(made)).toEqual([]);
    });
  });

  it("a drain that the customer deletes ends, also when the agent forgot it, and is shown; the next one is new", async () => {
    const made = await fleet();
    const one = `${made.path}/machines/m-1`;
    const shown = async () => (await inventory(made)).machines[0];
    await report(made, [entry("m-1")]);
    await made.site.call("POST", `${one}/drain`, { body: {} });
    expect(await actions(made)).toEqual(["drain 1"]);
    const drainRequestedAt = world.clock.wallNow().toISOString();
    await report(made, [entry("m-1", "ready", { drainRequestedAt, wish: { revision: 1, state: "passed-on" } })]);
    expect(await actions(made)).toEqual(["drain 1 passed on"]);
    const work = async (cursor: string) => {
      const address = `/v1/managers/${made.site.manager.id}/work`;
      return (await world.call("GET", address, { key: made.site.manager.key, query: { cursor } })).body;
    };
    const { cursor } = await work("");
    await report(made, [entry("m-1", "ready", { wish: { revision: 1, state: "deleted" } })]);
    expect((await work(cursor)).topics).toEqual([{ topic: "machines", deploymentId: made.id }]);
    expect(await actions(made)).toEqual([]);
    expect(await shown()).toMatchObject({ status: "ready", drainRequestedAt: null });
    expect((await shown()).customerCancelledAt).toMatch(/^\d{4}-/);
    await made.site.call("POST", `${one}/drain`, { body: {} });
    expect((await shown()).customerCancelledAt).toBeNull();
    // The first drain's end is told once more, late.
    await report(made, [entry("m-1", "ready", { wish: { revision: 1, state: "deleted" } })]);
    expect(await actions(made)).toEqual(["drain 2"]);
  });

  it("a drain that only waits in the cluster is told to be cancelled until it is gone, and the manager is woken", async () => {
    const made = await fleet();
    const waiting = { drainRequestedAt: world.clock.wallNow().toISOString() };
    await report(made, [entry("m-1")]);
    await made.site.call("POST", `${made.path}/machines/m-1/drain`);
    await report(made, [entry("m-1", "ready", waiting)]);
    expect([await statuses(made), await actions(made)]).toEqual([["m-1 draining"], ["drain 1"]]);
    const { body } = await made.site.call("DELETE", `${made.path}/machines/m-1/drain`);
    expect([body.cancelled, await actions(made)]).toEqual([true, ["cancel-drain 2"]]);
    await report(made, [entry("m-1", "ready", waiting)]);
    expect([await statuses(made), await actions(made)]).toEqual([["m-1 ready"], ["cancel-drain 2"]]);
    await report(made, [entry("m-1")]);
    expect(await actions(made)).toEqual([]);
    // The manager had read the wish before it was cancelled.
    await report(made, [entry("m-1", "ready", waiting)]);
    expect(await actions(made)).toEqual(["cancel-drain 2"]);
  });

  describe("a list in parts", () => {
    it("tells who is missing once its last part is there", async () => {
      const made = await fleet();
      await report(made, [entry("a"), entry("b"), entry("c"), entry("gone")]);
      world.clock.advance(1000);
      const observedAt = world.clock.wallNow().toISOString();
      const part = (index: number, list: object[], id = "list-2") =>
        report(made, list, { observedAt, part: { index, of: 3, id } });
      expect((await part(2, [entry("c")])).body).toEqual({ accepted: 1, ignored: 0 });
      await part(0, [entry("a", "not-ready")]);
      await part(2, [entry("c")]);
      expect(await statuses(made)).toEqual(["a not-ready", "b ready", "c ready", "gone ready"]);
      await part(1, [entry("b")]);
      expect(await statuses(made)).toEqual(["a not-ready", "b ready", "c ready", "gone unreachable"]);
      // Another list begins anew, and one that is complete by itself ends it.
      await part(0, [entry("a")], "list-3");
      await part(1, [], "list-3");
      world.clock.advance(1000);
      await report(made, [entry("a"), entry("b")]);
      expect(await statuses(made)).toEqual(["a ready", "b ready", "c unreachable", "gone unreachable"]);
      expect((await part(2, [], "list-3")).body).toEqual({ accepted: 0, ignored: 0 });
      expect(await statuses(made)).toEqual(["a ready", "b ready", "c unreachable", "gone unreachable"]);
    });

    it.each([
      ["an index beyond its end", { index: 3, of: 3, id: "list" }],
      ["more parts than a cluster needs", { index: 0, of: 21, id: "list" }],
      ["an id that is no word", { index: 0, of: 1, id: "a b" }],
      ["a long id", { index: 0, of: 1, id: "a".repeat(65) }],
    ])("with %s is refused", async (_, part) => {
      expect((await report(await fleet(), [], { part })).body.code).toBe("VALIDATION_ERROR");
    });
  });

  it.each<[string, object]>([
    ["eleven conditions", { conditions: Array.from({ length: 11 }, () => ({ type: "Ready", status: "True" })) }],
    ["a condition in prose", { conditions: [{ type: "Ready", status: "True", reason: "all is well" }] }],
    ["a status that is none", { conditions: [{ type: "Ready", status: "Maybe" }] }],
    ["an unknown state", { joinState: "Lost" }],
    ["many blockers", { drainBlockers: Array.from({ length: 501 }, () => ({ reason: "daemon" })) }],
    [
      "a large document",
      { drainBlockers: Array.from({ length: 50 }, () => ({ reason: "daemon", workloadName: "x".repeat(500) })) },
    ],
  ])("a report with %s is refused", async (_, more) => {
    expect((await report(await fleet(), [entry("a", "ready", more)])).body.code).toBe("VALIDATION_ERROR");
  });
});
