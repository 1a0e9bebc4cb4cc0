import { describe, expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { refusal } from "./join-tokens.ts";

describe("a join token", () => {
  const at = (ms: number): Date => new Date(Date.UTC(2100, 0, 1) + ms);
  const live = { revoked_at: null, expires_at: null, max_joins: null, join_count: 0 };

  it.each([
    [{ ...live }, undefined],
    [{ ...live, expires_at: at(1) }, undefined],
    [{ ...live, expires_at: at(0) }, "JOIN_TOKEN_EXPIRED"],
    [{ ...live, revoked_at: at(1) }, undefined],
    [{ ...live, revoked_at: at(0) }, "JOIN_TOKEN_REVOKED"],
    [{ ...live, revoked_at: at(0), expires_at: at(0) }, "JOIN_TOKEN_REVOKED"],
    [{ ...live, max_joins: 2, join_count: 1 }, undefined],
    [{ ...live, max_joins: 2, join_count: 2 }, "JOIN_TOKEN_EXHAUSTED"],
    [{ ...live, expires_at: at(0), max_joins: 0, join_count: 0 }, "JOIN_TOKEN_EXPIRED"],
  ])("%j is %s", (token, expected) => {
    expect(refusal(token, at(0))).toBe(expected);
  });
});

onEachDatabase("machines", (world) => {
  /** A site with a running deployment that has machines. */
  async function fleet(more: object = { platform: "machines" }): Promise<{ site: Site; id: string; path: string }> {
    const site = await newSite(world);
    const id = await site.deploy("fleet", more);
    const answer = await site.report(id, "running", {}, more);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return { site, id, path: `/v1/machines/deployments/${id}` };
  }
  const token = async (site: Site, path: string, body: object = {}): Promise<Answer> => {
    const answer = await site.call("POST", `${path}/join-tokens`, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer;
  };
  const join = (site: Site, joinToken: string, machineId: string, publicKey = "key-1"): Promise<Answer> =>
    world.call("POST", "/v1/machines/joins", { key: site.manager.key, body: { joinToken, machineId, publicKey } });
  const entry = (machineId: string, status: string, more: object = {}) => ({
    ...{ machineId, status, capacityGroup: "general", zone: "a", replicaCount: 3 },
    cpu: { allocated: 1, systemReserve: 0.1, total: 4 },
    memory: { allocated: 1, systemReserve: 0, total: 8 },
    ...{ drainBlockers: [], localOverrides: [], lastHeartbeat: world.clock.wallNow().toISOString() },
    ...more,
  });
  const inventory = async (site: Site, path: string, machines: object[], more: object = {}): Promise<Answer> => {
    const body = { observedAt: world.clock.wallNow().toISOString(), complete: true, machines, ...more };
    return world.call("POST", `${path}/inventory`, { key: site.manager.key, body });
  };
  const statuses = async (site: Site, path: string): Promise<string[]> =>
    (await site.call("GET", `${path}/inventory`)).body.machines.map(
      ({ machineId, status }: { machineId: string; status: string }) => `${machineId} ${status}`,
    );
  const actions = async (site: Site): Promise<string[]> => {
    const query = { managerId: site.manager.id };
    const { body } = await world.call("GET", "/v1/machines/actions", { key: site.manager.key, query });
    return body.actions.map(({ machineId, action }: { machineId: string; action: string }) => `${action} ${machineId}`);
  };
  const codeOf = async (answer: Promise<Answer>): Promise<string> => (await answer).body.code;

  it("a token lets machines in until it is used up, and shows its secret once", async () => {
    const { site, id, path } = await fleet();
    const made = (await token(site, path, { maxJoins: 2 })).body;
    expect(made).toMatchObject({
      controlPlaneUrl: "https://manager.example.com",
      token: { maxJoins: 2, joinCount: 0 },
    });
    expect(made.joinToken).toMatch(/^spj_[0-9a-z]{16}\.[0-9A-Za-z]{32}$/);
    expect((await join(site, made.joinToken, "m1")).body).toEqual({
      ...{ deploymentId: id, clusterId: made.clusterId, tokenId: made.token.id, joinCount: 1 },
    });
    expect((await join(site, made.joinToken, "m1")).body.joinCount).toBe(1);
    expect(await codeOf(join(site, made.joinToken, "m1", "another"))).toBe("MACHINE_ID_TAKEN");
    expect((await join(site, made.joinToken, "m2")).body.joinCount).toBe(2);
    expect(await codeOf(join(site, made.joinToken, "m3"))).toBe("JOIN_TOKEN_EXHAUSTED");
    // Used up, but the machine was in.
    expect((await join(site, made.joinToken, "m2")).body.joinCount).toBe(2);
    const { tokens } = (await site.call("GET", `${path}/join-tokens`)).body;
    expect(tokens).toMatchObject([{ id: made.token.id, joinCount: 2 }]);
    expect(JSON.stringify(tokens)).not.toContain(made.joinToken.slice(-32));
    expect(await statuses(site, path)).toEqual(["m1 joining", "m2 joining"]);
  });

  it("a new token names the newest ready command-line package", async () => {
    const { site, path } = await fleet();
    expect((await token(site, path)).body).toMatchObject({ cliCommandName: null, cliInstallScriptUrl: null });
    const at = world.clock.wallNow();
    const built = (number: number, status: "ready" | "failed", name: string) => ({
      ...{
        id: `pkg_${String(number).padStart(28, "0")}`,
        workspace_id: site.workspace.id,
        project_id: site.project.id,
      },
      ...{ type: "cli", number, status, source_release_id: null, build_input_hash: "0", outputs: null, error: null },
      ...{ source_binary_sha256: null, retries: 0, locked_at: null, locked_by: null, lease_expires_at: null },
      ...{ build_phase: null, last_progress_at: null, event_id: null, created_at: at, updated_at: at },
      ...{
        completed_at: at,
        setup_fingerprints: {},
        config: { type: "cli", name, displayName: name, binaryTargets: [] },
      },
    });
    const rows = [built(1, "ready", "old"), built(2, "ready", "shopctl"), built(3, "failed", "broken")];
    await world.platform.db
      .insertInto("packages")
      .values(rows as never)
      .execute();
    expect((await token(site, path)).body.cliCommandName).toBe("shopctl");
  });

  it("of fifty machines at once no more than maxJoins come in", async () => {
    const { site, path } = await fleet();
    const { joinToken } = (await token(site, path, { maxJoins: 7 })).body;
    const knock = async (machineId: string): Promise<Answer> => {
      for (;;) {
        const answer = await join(site, joinToken, machineId);
        if (answer.body.code !== "CONFLICT") return answer;
      }
    };
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => knock(`m${index}`)));
    const counts = answers.flatMap(({ status, body }) => (status === 200 ? [body.joinCount] : []));
    expect(counts.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const refused = answers.filter(({ status }) => status !== 200).map(({ body }) => body.code);
    expect(new Set(refused)).toEqual(new Set(["JOIN_TOKEN_EXHAUSTED"]));
    expect(await statuses(site, path)).toHaveLength(7);
  });

  it("a bad token says only that, and the other ends say which", async () => {
    const { site, path } = await fleet();
    const other = await fleet();
    const { joinToken, token: record } = (await token(site, path, { expiresInSeconds: 60 })).body;
    const wrong = `${joinToken.slice(0, -1)}${joinToken.endsWith("a") ? "b" : "a"}`;
    for (const bad of ["nonsense", wrong, `spj_${"0".repeat(16)}.${"0".repeat(32)}`]) {
      expect(await codeOf(join(site, bad, "m1"))).toBe("JOIN_TOKEN_INVALID");
    }
    expect(await codeOf(join(other.site, joinToken, "m1"))).toBe("JOIN_TOKEN_INVALID");
    world.clock.advance(60_000);
    expect(await codeOf(join(site, joinToken, "m1"))).toBe("JOIN_TOKEN_EXPIRED");
    const revoke = () => site.call("DELETE", `${path}/join-tokens/${record.id}`);
    expect((await revoke()).body).toEqual({ tokenId: record.id, revoked: true });
    expect((await revoke()).body).toEqual({ tokenId: record.id, revoked: true });
    expect(await codeOf(join(site, joinToken, "m1"))).toBe("JOIN_TOKEN_REVOKED");
    expect(await codeOf(site.call("DELETE", `${path}/join-tokens/nothing`))).toBe("NOT_FOUND");
  });

  it("rotation ends the old tokens, after the grace that was asked for", async () => {
    const { site, path } = await fleet();
    const first = (await token(site, path)).body.joinToken;
    const rotate = (body: object) => site.call("POST", `${path}/join-tokens/rotate`, { body });
    const second = (await rotate({ graceSeconds: 100 })).body.joinToken;
    expect((await join(site, first, "m1")).status).toBe(200);
    world.clock.advance(100_000);
    expect(await codeOf(join(site, first, "m2"))).toBe("JOIN_TOKEN_REVOKED");
    expect((await join(site, second, "m2")).status).toBe(200);
    await rotate({});
    expect(await codeOf(join(site, second, "m3"))).toBe("JOIN_TOKEN_REVOKED");
  });

  it("a drain is asked for, told, reported and cancelled", async () => {
    const { site, path } = await fleet();
    const { joinToken } = (await token(site, path)).body;
    for (const machineId of ["m1", "m2"]) await join(site, joinToken, machineId);
    await inventory(site, path, [entry("m1", "ready"), entry("m2", "not-ready")]);
    expect(await statuses(site, path)).toEqual(["m1 ready", "m2 not-ready"]);
    const drain = (body: object = {}) => site.call("POST", `${path}/machines/m1/drain`, { body });
    expect((await drain({ deadlineSeconds: 60, force: true })).body).toEqual({ machineId: "m1", requested: true });
    expect(await statuses(site, path)).toEqual(["m1 draining", "m2 not-ready"]);
    expect(await actions(site)).toEqual(["drain m1"]);
    const blockers = [{ reason: "pod-disruption-budget", workloadName: "api", state: "blocked" }];
    await inventory(site, path, [entry("m1", "ready", { drainBlockers: blockers }), entry("m2", "ready")]);
    const [m1] = (await site.call("GET", `${path}/inventory`)).body.machines;
    expect(m1).toMatchObject({ status: "draining", drainForce: true, drainBlockers: blockers, stale: false });
    await inventory(site, path, [entry("m1", "drained"), entry("m2", "ready")]);
    expect([await statuses(site, path), await actions(site)]).toEqual([["m1 drained", "m2 ready"], []]);
    expect((await drain()).status).toBe(200);
    const cancel = () => site.call("DELETE", `${path}/machines/m1/drain`);
    expect((await cancel()).body).toEqual({ machineId: "m1", cancelled: true });
    expect(await actions(site)).toEqual(["cancel-drain m1"]);
    await inventory(site, path, [entry("m1", "ready"), entry("m2", "ready")]);
    expect([await statuses(site, path), await actions(site)]).toEqual([["m1 ready", "m2 ready"], []]);
    expect((await cancel()).body).toEqual({ machineId: "m1", cancelled: false });
    expect(await codeOf(site.call("POST", `${path}/machines/m9/drain`, { body: {} }))).toBe("NOT_FOUND");
  });

  it("a machine is removed when it is empty or gone, and its id may join again", async () => {
    const { site, path } = await fleet();
    const { joinToken } = (await token(site, path)).body;
    await join(site, joinToken, "m1");
    await inventory(site, path, [entry("m1", "ready")]);
    const remove = () => site.call("DELETE", `${path}/machines/m1`);
    expect((await remove()).body).toMatchObject({ code: "MACHINE_NOT_DRAINED", context: { status: "ready" } });
    world.clock.advance(180_001);
    expect(await statuses(site, path)).toEqual(["m1 unreachable"]);
    expect((await remove()).body).toEqual({ machineId: "m1", removed: true });
    expect((await remove()).body).toEqual({ machineId: "m1", removed: true });
    for (const method of ["POST", "DELETE"]) {
      expect(await codeOf(site.call(method, `${path}/machines/m1/drain`))).toBe("INVALID_STATE_TRANSITION");
    }
    expect([await statuses(site, path), await actions(site)]).toEqual([["m1 terminating"], ["remove m1"]]);
    await inventory(site, path, [entry("m1", "ready")]);
    expect(await statuses(site, path)).toEqual(["m1 terminating"]);
    await inventory(site, path, []);
    expect([await statuses(site, path), await actions(site)]).toEqual([[], []]);
    expect((await remove()).body).toEqual({ machineId: "m1", removed: true });
    expect((await join(site, joinToken, "m1", "new key")).body.joinCount).toBe(2);
    expect(await statuses(site, path)).toEqual(["m1 joining"]);
  });

  it("late inventories tell nothing, complete ones tell who is missing, and nobody appears who never joined", async () => {
    const { site, path } = await fleet();
    const { joinToken } = (await token(site, path)).body;
    for (const machineId of ["m1", "m2"]) await join(site, joinToken, machineId);
    expect((await inventory(site, path, [entry("m1", "ready"), entry("x", "ready")])).body).toEqual({
      ...{ accepted: 1, ignored: 1 },
    });
    expect(await statuses(site, path)).toEqual(["m1 ready", "m2 unreachable"]);
    const observedAt = new Date(world.clock.wallNow().getTime() - 60_000).toISOString();
    const late = await inventory(site, path, [entry("m1", "not-ready")], { observedAt });
    expect(late.body).toEqual({ accepted: 0, ignored: 1 });
    await inventory(site, path, [entry("m2", "ready")], { complete: false });
    expect(await statuses(site, path)).toEqual(["m1 ready", "m2 ready"]);
  });

  it("nodes of a cluster appear by themselves once it has granted machines", async () => {
    const { site, id, path } = await fleet({ platform: "kubernetes" });
    expect(await codeOf(inventory(site, path, [entry("node-1", "ready")]))).toBe("MACHINES_DEPLOYMENT_UNAVAILABLE");
    await site.report(id, "running", { capabilities: [{ key: "machines", state: "granted" }] });
    expect((await inventory(site, path, [entry("node-1", "ready")])).body).toEqual({ accepted: 1, ignored: 0 });
    expect(await statuses(site, path)).toEqual(["node-1 ready"]);
  });

  it("the manager is told of wishes, and a deleted deployment lets no machine in", async () => {
    const { site, id, path } = await fleet();
    const { joinToken } = (await token(site, path)).body;
    await join(site, joinToken, "m1");
    const work = async (cursor: string) =>
      (await world.call("GET", `/v1/managers/${site.manager.id}/work`, { key: site.manager.key, query: { cursor } }))
        .body;
    const { cursor } = await work("");
    await site.call("POST", `${path}/machines/m1/drain`, { body: {} });
    expect((await work(cursor)).topics).toEqual([{ topic: "machines", deploymentId: id }]);
    expect((await work("unknown")).topics).toContainEqual({ topic: "machines", deploymentId: id });
    await site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: "forget" } });
    expect(await codeOf(join(site, joinToken, "m2"))).toBe("JOIN_TOKEN_INVALID");
    expect(await codeOf(site.call("GET", `${path}/inventory`))).toBe("MACHINES_DEPLOYMENT_UNAVAILABLE");
    expect(await actions(site)).toEqual([]);
  });

  it("fifty live tokens are the most, and another manager's actions are not found", async () => {
    const { site, path } = await fleet();
    for (let count = 0; count < 50; count += 1) await token(site, path);
    expect(await codeOf(site.call("POST", `${path}/join-tokens`, { body: {} }))).toBe("VALIDATION_ERROR");
    const query = { managerId: (await site.workspace.manager()).id };
    expect(await codeOf(world.call("GET", "/v1/machines/actions", { key: site.manager.key, query }))).toBe("NOT_FOUND");
  });
});
