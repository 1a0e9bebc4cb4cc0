import fc from "fast-check";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../../base/testing/runs.ts";
import { COMMAND_STATES, type CommandState } from "../../../contract/operations/commands.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { beat, newSite, type Site } from "../deployments/testing/site.ts";

onEachDatabase("commands", (world) => {
  const stack = (...ids: string[]) => ({
    stackState: {
      platform: "kubernetes",
      resourcePrefix: "shop",
      resources: {
        ...Object.fromEntries(ids.map((id) => [id, { type: "container", status: "running", config: {} }])),
        bucket: { type: "storage", status: "running", config: {} },
      },
    },
  });

  async function withDeployment(...resources: string[]): Promise<{ site: Site; deploymentId: string }> {
    const site = await newSite(world);
    const deploymentId = await site.deploy("shop");
    await site.report(deploymentId, "running", {}, stack(...resources));
    return { site, deploymentId };
  }
  const create = async (site: Site, deploymentId: string, more: object = {}) =>
    site.call("POST", "/v1/commands", { body: { deploymentId, name: "reload", ...more } });
  const asManager = (site: Site, method: string, path: string, body?: unknown) =>
    world.call(method, `/v1/commands/${path}`, { key: site.manager.key, ...(body !== undefined && { body }) });
  const inMinutes = (minutes: number) => new Date(world.clock.wallNow().getTime() + minutes * 60_000).toISOString();

  it("the only resource that takes commands is the target; several need a name; none is refused", async () => {
    const { site, deploymentId } = await withDeployment("api");
    expect((await create(site, deploymentId)).body.target).toEqual({ resourceId: "api", resourceType: "container" });
    await site.report(deploymentId, "running", {}, stack("api", "web"));
    expect((await create(site, deploymentId)).body.code).toBe("COMMAND_TARGET_AMBIGUOUS");
    expect((await create(site, deploymentId, { target: "web" })).status).toBe(201);
    expect((await create(site, deploymentId, { target: "bucket" })).body.code).toBe("NOT_FOUND");
    expect((await create(site, deploymentId, { target: "operator" })).body.code).toBe("RESERVED_TARGET");
    await site.report(deploymentId, "running", {}, stack());
    expect((await create(site, deploymentId)).body.code).toBe("NO_COMMAND_TARGETS");
  });

  it("a silent manager, too large params and a past deadline are refused", async () => {
    const { site, deploymentId } = await withDeployment("api");
    expect((await create(site, deploymentId, { params: "x".repeat(149_998) })).status).toBe(201);
    expect((await create(site, deploymentId, { params: "x".repeat(149_999) })).body.code).toBe("PARAMS_TOO_LARGE");
    expect((await create(site, deploymentId, { deadline: inMinutes(-1) })).body.code).toBe("VALIDATION_ERROR");
    expect((await create(site, deploymentId, { initialState: "PENDING_UPLOAD" })).body.code).toBe("FORBIDDEN");
    world.clock.advance(181_000);
    expect((await create(site, deploymentId)).body.code).toBe("MANAGER_UNAVAILABLE");
    await beat(world, site.manager);
    expect((await create(site, deploymentId)).status).toBe(201);
  });

  it("an idempotency key answers its repeats with the first command, for the same target and name, for a day", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const first = await create(site, deploymentId, { idempotencyKey: "k1" });
    const repeat = await create(site, deploymentId, { idempotencyKey: "k1" });
    const other = await create(site, deploymentId, { idempotencyKey: "k1", name: "other" });
    expect([first.status, repeat.status, other.status]).toEqual([201, 200, 201]);
    expect(repeat.body.id).toBe(first.body.id);
    world.clock.advance(86_400_000);
    await beat(world, site.manager);
    expect((await create(site, deploymentId, { idempotencyKey: "k1" })).status).toBe(201);
  });

  it("of fifty dispatchers at once one wins", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const { id } = (await create(site, deploymentId)).body;
    const dispatch = () => asManager(site, "POST", `${id}/dispatch`, { dispatchedAt: inMinutes(0) });
    const answers = await Promise.all(Array.from({ length: 50 }, dispatch));
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(answers.filter(({ body }) => body.updated)).toHaveLength(1);
  });

  it("of fifty ends at once the first one stays", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const { id } = (await create(site, deploymentId)).body;
    await asManager(site, "POST", `${id}/dispatch`, { dispatchedAt: inMinutes(0) });
    const complete = (index: number) =>
      asManager(site, "POST", `${id}/complete`, { state: "SUCCEEDED", completedAt: inMinutes(0), result: index });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => complete(index)));
    const winner = answers.findIndex(({ body }) => body.updated);
    expect(answers.filter(({ body }) => body.updated)).toHaveLength(1);
    const read = await site.call("GET", `/v1/commands/${id}`, { query: { include: "payload" } });
    expect(read.body).toMatchObject({ state: "SUCCEEDED", result: winner, params: null });
  });

  it("payloads are for those who could run the command", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const { id } = (await create(site, deploymentId, { params: { size: 3 } })).body;
    const scope = { type: "project", projectId: site.project.id } as const;
    const readers = [
      ["workspace.viewer", await site.workspace.key("workspace.viewer"), 403],
      ["project.viewer", await site.workspace.key("project.viewer", scope), 403],
      ["project.developer", await site.workspace.key("project.developer", scope), 200],
      ["workspace.member", site.member, 200],
      ["workspace.admin", site.admin, 200],
      ["manager.runtime", site.manager.key, 200],
    ] as const;
    for (const [role, key, status] of readers) {
      const plain = await world.call("GET", `/v1/commands/${id}`, { key });
      expect([role, plain.status, "params" in plain.body]).toEqual([role, 200, false]);
      const answer = await world.call("GET", `/v1/commands/${id}`, { key, query: { include: "payload" } });
      expect([role, answer.status, answer.body.params]).toEqual([
        role,
        status,
        status === 200 ? { size: 3 } : undefined,
      ]);
      if (status === 403) expect(answer.body.message).toContain("include=payload");
      const list = await world.call("GET", "/v1/commands", { key, query: { include: "payload" } });
      expect([role, list.status]).toEqual([role, status]);
    }
  });

  it("another manager's and another workspace's command looks absent, for reads and writes", async () => {
    const [{ site, deploymentId }, other] = [await withDeployment("api"), await newSite(world)];
    const { id } = (await create(site, deploymentId)).body;
    const dispatchedAt = inMinutes(0);
    for (const manager of [other.manager, await site.workspace.manager()]) {
      const key = manager.key;
      expect((await world.call("GET", `/v1/commands/${id}`, { key })).status).toBe(404);
      expect((await world.call("POST", `/v1/commands/${id}/dispatch`, { key, body: { dispatchedAt } })).status).toBe(
        404,
      );
      expect((await world.call("PATCH", `/v1/commands/${id}`, { key, body: { attempt: 2 } })).status).toBe(404);
      expect((await world.call("GET", "/v1/commands", { key })).body.items).toEqual([]);
      expect((await world.call("POST", "/v1/commands", { key, body: { deploymentId, name: "x" } })).status).toBe(404);
    }
    expect((await other.call("GET", `/v1/commands/${id}`)).status).toBe(404);
  });

  it("lists filter by the state as it is now and page in both orders", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const ids: string[] = [];
    for (const minutes of [5, 60, 60, 60])
      ids.push((await create(site, deploymentId, { deadline: inMinutes(minutes) })).body.id);
    const list = async (query: object) => {
      const { body } = await site.call("GET", "/v1/commands", { query: { deploymentId, ...query } });
      return { ids: body.items.map((item: { id: string }) => item.id), next: body.nextCursor };
    };
    expect((await list({ state: "PENDING" })).ids).toEqual(ids.toReversed());
    world.clock.advance(5 * 60_000);
    expect((await list({ state: "PENDING" })).ids).toEqual(ids.slice(1).toReversed());
    expect((await list({ state: "EXPIRED,FAILED" })).ids).toEqual(ids.slice(0, 1));
    const first = await list({ order: "asc", limit: 3 });
    expect(first.ids).toEqual(ids.slice(0, 3));
    expect((await list({ order: "asc", limit: 3, cursor: first.next })).ids).toEqual(ids.slice(3));
    const foreign = await site.call("GET", "/v1/commands", { query: { cursor: first.next } });
    expect(foreign.body.code).toBe("INVALID_CURSOR");
  });

  it("creation and giving back tell the manager", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const path = `/v1/managers/${site.manager.id}/work`;
    const since = (await world.call("GET", path, { key: site.manager.key })).body.cursor;
    const { id } = (await create(site, deploymentId)).body;
    const topics = async (cursor: string) =>
      (await world.call("GET", path, { key: site.manager.key, query: { cursor } })).body;
    const created = await topics(since);
    expect(created.topics).toEqual([{ topic: "commands", deploymentId }]);
    await asManager(site, "POST", `${id}/dispatch`, { dispatchedAt: inMinutes(0) });
    const back = await asManager(site, "PATCH", id, { state: "PENDING" });
    expect(back.body).toMatchObject({ state: "PENDING", dispatchedAt: null });
    expect((await topics(created.cursor)).topics).toEqual([{ topic: "commands", deploymentId }]);
  });

  it("a dispatched command may end for a minute after its deadline, but is not given back then", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const dispatched = async () => {
      const { id } = (await create(site, deploymentId, { deadline: inMinutes(5) })).body;
      await asManager(site, "POST", `${id}/dispatch`, { dispatchedAt: inMinutes(0) });
      return id;
    };
    const [inTime, late] = [await dispatched(), await dispatched()];
    const expired = async () =>
      (await site.call("GET", "/v1/commands", { query: { deploymentId, state: "EXPIRED" } })).body.items.length;
    world.clock.advance(5 * 60_000 + 30_000);
    expect((await asManager(site, "PATCH", inTime, { state: "PENDING" })).body.code).toBe("COMMAND_EXPIRED");
    expect(await expired()).toBe(0);
    const end = { state: "SUCCEEDED", completedAt: inMinutes(0) };
    expect((await asManager(site, "POST", `${inTime}/complete`, end)).body).toEqual({ updated: true });
    world.clock.advance(30_000);
    expect(await expired()).toBe(1);
    expect((await asManager(site, "POST", `${late}/complete`, end)).body).toEqual({ updated: false });
    expect((await asManager(site, "PATCH", late, { state: "SUCCEEDED" })).body.code).toBe("COMMAND_EXPIRED");
    expect((await asManager(site, "GET", late)).body.state).toBe("EXPIRED");
  });

  it("the sweep writes expiries down once, and forgets commands after ninety days", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const { id } = (await create(site, deploymentId, { deadline: inMinutes(5) })).body;
    const stored = () =>
      world.platform.db
        .selectFrom("commands")
        .select(["state", "completed_at", "deadline"])
        .where("id", "=", id)
        .execute();
    await world.platform.sweep();
    expect(await stored()).toMatchObject([{ state: "PENDING" }]);
    world.clock.advance(5 * 60_000);
    await world.platform.sweep();
    const [row] = await stored();
    expect(row).toMatchObject({ state: "EXPIRED", completed_at: row?.deadline });
    world.clock.advance(90 * 86_400_000);
    await world.platform.sweep();
    expect(await stored()).toEqual([]);
  });

  it("whatever runners and time do, states move by the table, and a refused move changes nothing", async () => {
    const { site, deploymentId } = await withDeployment("api");
    const state = fc.constantFrom<CommandState>(...COMMAND_STATES);
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ patch: state }) },
      { weight: 2, arbitrary: fc.record({ complete: fc.constantFrom("SUCCEEDED", "FAILED", "EXPIRED") }) },
      { weight: 2, arbitrary: fc.constant({ dispatch: true as const }) },
      { weight: 1, arbitrary: fc.constant({ attempt: true as const }) },
      { weight: 1, arbitrary: fc.record({ minutes: fc.constantFrom(0.5, 2, 5) }) },
    );
    const run = async (upload: boolean, steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) => {
      await beat(world, site.manager);
      const body = {
        deploymentId,
        name: "x",
        deadline: inMinutes(7.25),
        initialState: upload ? "PENDING_UPLOAD" : "PENDING",
      };
      const { id } = (await world.call("POST", "/v1/commands", { key: site.manager.key, body })).body;
      const model = new Model(upload ? "PENDING_UPLOAD" : "PENDING", 7.25);
      for (const each of steps) {
        if ("minutes" in each) {
          world.clock.advance(each.minutes * 60_000);
          model.wait(each.minutes);
        } else if ("patch" in each) {
          const answer = await asManager(site, "PATCH", id, { state: each.patch });
          expect(answer.status).toBe(model.patch(each.patch));
        } else if ("complete" in each) {
          const answer = await asManager(site, "POST", `${id}/complete`, {
            state: each.complete,
            completedAt: inMinutes(0),
          });
          expect(answer.body).toEqual({ updated: model.complete(each.complete as CommandState) });
        } else if ("dispatch" in each) {
          const answer = await asManager(site, "POST", `${id}/dispatch`, { dispatchedAt: inMinutes(0) });
          expect(answer.body).toEqual({ updated: model.dispatch() });
        } else {
          const answer = await asManager(site, "POST", `${id}/increment-attempt`);
          expect(answer.status).toBe(model.isOver ? 409 : 200);
        }
        expect((await asManager(site, "GET", id)).body.state).toBe(model.state);
      }
    };
    await fc.assert(fc.asyncProperty(fc.boolean(), fc.array(step, { maxLength: 12, size: "max" }), run), {
      numRuns: runs(40, FEWEST_WALKS),
    });
  });
});

/** §16.3 written down again, in minutes. */
class Model {
  static readonly #moves: Readonly<Record<string, string>> = {
    PENDING_UPLOAD: "PENDING FAILED EXPIRED",
    PENDING: "DISPATCHED FAILED EXPIRED",
    DISPATCHED: "PENDING SUCCEEDED FAILED EXPIRED",
  };
  state: CommandState;
  #leftMinutes: number;

  constructor(state: CommandState, leftMinutes: number) {
    this.state = state;
    this.#leftMinutes = leftMinutes;
  }

  get isOver(): boolean {
    return Model.#moves[this.state] === undefined;
  }

  wait(minutes: number): void {
    this.#leftMinutes -= minutes;
    this.#judge();
  }

  patch(to: CommandState): number {
    const late = this.#leftMinutes <= 0;
    if (late && (this.state === "EXPIRED" || to === "PENDING")) return 410;
    return this.#move(to) ? 200 : 409;
  }

  complete(to: CommandState): boolean {
    return this.#move(to);
  }

  dispatch(): boolean {
    return this.state === "PENDING" && this.#move("DISPATCHED");
  }

  #move(to: CommandState): boolean {
    if (Model.#moves[this.state]?.split(" ").includes(to) !== true) return false;
    this.state = to;
    return true;
  }

  #judge(): void {
    const limit = this.state === "DISPATCHED" ? -1 : 0;
    if (!this.isOver && this.#leftMinutes <= limit) this.state = "EXPIRED";
  }
}
