import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { newSite } from "../../areas/deployments/testing/site.ts";
import { startPlatform } from "../../server.ts";
import { inMemory } from "../../testing/empty-database.ts";
import { call, onEachDatabase, overSockets } from "../../testing/harness.ts";
import { TestClock } from "../../testing/test-clock.ts";

onEachDatabase("the kernel", (within) => {
  const world = overSockets(within);

  describe("the order of checks", () => {
    it("an unknown path is 404 before the credential is looked at", async () => {
      const answer = await world.call("GET", "/v1/nothing");
      expect([answer.status, answer.body.code]).toEqual([404, "ROUTE_NOT_FOUND"]);
    });

    it("a known path with another method says which methods it has", async () => {
      const answer = await world.call("PUT", "/v1/api-keys/x");
      expect([answer.status, answer.body.code]).toEqual([405, "METHOD_NOT_ALLOWED"]);
      expect(answer.headers.get("allow")?.split(", ").sort()).toEqual(["DELETE", "GET", "PATCH"]);
    });

    it.each([
      ["PATCH", "/v1/deployment-groups/by-name", "PUT"],
      ["GET", "/v1/access-requests/approvals", "POST"],
      ["DELETE", "/v1/machines/deployments/x/join-tokens/rotate", "POST"],
      ["QUERY", "/v1/packages/rebuild", "POST"],
    ])("%s %s is not taken for the template beside it", async (method, path, allow) => {
      const answer = await world.call(method, path);
      expect([answer.status, answer.body.code]).toEqual([405, "METHOD_NOT_ALLOWED"]);
      expect(answer.headers.get("allow")).toBe(allow);
    });

    it("a path that cannot be decoded is a 400, not a 500", async () => {
      const { key } = await world.workspace();
      const answer = await world.call("GET", "/v1/events/%E0%A4%A", { key: await key("workspace.admin") });
      expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_ERROR"]);
    });

    it("a key on a route of people's is told how to sign in", async () => {
      const { key } = await world.workspace();
      const answer = await world.call("GET", "/v1/user/git-namespaces", { key: await key("workspace.admin") });
      expect(answer.body).toMatchObject({
        code: "FORBIDDEN",
        message: expect.stringContaining("`sallyport login` without --key"),
        context: { requiredRoles: ["user"] },
      });
    });

    it("the role is judged before the body is", async () => {
      const { key } = await world.workspace();
      const answer = await world.call("POST", "/v1/managers", { key: await key("workspace.viewer"), body: "{" });
      expect([answer.status, answer.body.code]).toEqual([403, "FORBIDDEN"]);
      expect(answer.body.context).toEqual({ requiredRoles: ["workspace.admin"] });
    });

    it("the workspace is judged before the role is", async () => {
      const { key } = await world.workspace();
      const viewer = await key("workspace.viewer");
      const named = (workspace: string) => world.call("POST", "/v1/managers", { key: viewer, query: { workspace } });
      expect((await named("no-such-workspace")).body.code).toBe("WORKSPACE_MISMATCH");
      expect((await named("WS")).body).toMatchObject({
        code: "VALIDATION_ERROR",
        context: { issues: [{ path: "query.workspace" }] },
      });
    });
  });

  describe("credentials", () => {
    const whoami = (authorization: string) => world.call("GET", "/v1/whoami", { headers: { authorization } });

    it.each([
      ["Basic eDp5", "UNAUTHENTICATED"],
      ["Bearer", "UNAUTHENTICATED"],
      ["Bearer nonsense", "API_KEY_INVALID"],
      [`Bearer sp_w_${"0".repeat(12)}_${"0".repeat(40)}`, "API_KEY_INVALID"],
    ])("%s is %s", async (authorization, code) => {
      expect((await whoami(authorization)).body.code).toBe(code);
    });

    it("a key with one character changed is unknown", async () => {
      const key = await (await world.workspace()).key("workspace.viewer");
      const changed = key.slice(0, -1) + (key.endsWith("a") ? "b" : "a");
      expect((await whoami(`Bearer ${changed}`)).body.code).toBe("API_KEY_INVALID");
    });

    it("a key stops at its expiry, to the millisecond", async () => {
      const workspace = await world.workspace();
      const expiresAt = new Date(world.clock.wallNow().getTime() + 60_000);
      const minted = await world.platform.bootstrap.key({
        workspaceId: workspace.id,
        role: "workspace.viewer",
        scope: { type: "workspace" },
        expiresAt,
      });
      expect((await whoami(`Bearer ${minted.key}`)).status).toBe(200);
      world.clock.advance(60_001);
      expect((await whoami(`Bearer ${minted.key}`)).body.code).toBe("API_KEY_EXPIRED");
    });

    it("says revoked before disabled before expired", async () => {
      const workspace = await world.workspace();
      const admin = await workspace.key("workspace.admin");
      const { id, key } = await world.platform.bootstrap.key({
        workspaceId: workspace.id,
        role: "workspace.viewer",
        scope: { type: "workspace" },
        expiresAt: new Date(world.clock.wallNow().getTime() + 1000),
      });
      world.clock.advance(2000);
      const code = async () => (await whoami(`Bearer ${key}`)).body.code;
      expect(await code()).toBe("API_KEY_EXPIRED");
      await world.call("PATCH", `/v1/api-keys/${id}`, { key: admin, body: { enabled: false } });
      expect(await code()).toBe("API_KEY_DISABLED");
      await world.call("DELETE", `/v1/api-keys/${id}`, { key: admin });
      expect(await code()).toBe("API_KEY_REVOKED");
    });

    it("no table holds a key or its secret", async () => {
      const key = await (await world.workspace()).key("workspace.viewer");
      const row = await world.platform.db
        .selectFrom("api_keys")
        .selectAll()
        .where("key_prefix", "=", key.slice(0, 12))
        .execute();
      expect(row.length).toBeGreaterThan(0);
      expect(JSON.stringify(row)).not.toContain(key.split("_")[3]);
    });

    it("writes lastUsedAt at most once a minute", async () => {
      const { key } = await world.workspace();
      const admin = await key("workspace.admin");
      const lastUsed = async () => (await world.call("GET", "/v1/api-keys", { key: admin })).body.items[0].lastUsedAt;
      const first = await lastUsed();
      // Real time goes on in this clock, and a loaded machine takes its time for a call.
      world.clock.advance(30_000);
      expect(await lastUsed()).toBe(first);
      world.clock.advance(30_000);
      expect(await lastUsed()).not.toBe(first);
    });
  });

  it("refuses a body beyond the limit", async () => {
    const { key } = await world.workspace();
    const body = JSON.stringify("x".repeat(1024 * 1024));
    const answer = await world.call("POST", "/v1/api-keys", { key: await key("workspace.admin"), body });
    expect([answer.status, answer.body.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
  });

  describe("request ids", () => {
    it("echoes a sound one and replaces any other", async () => {
      const ask = (id: string) => world.call("GET", "/v1/whoami", { headers: { "x-request-id": id } });
      expect((await ask("abc-12345")).headers.get("x-request-id")).toBe("abc-12345");
      const made = await ask("no spaces please");
      expect(made.headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/);
      expect(made.body.requestId).toBe(made.headers.get("x-request-id"));
    });
  });

  describe("queries", () => {
    it.each([
      ["limit=0", "query.limit"],
      ["limit=101", "query.limit"],
      ["limit=ten", "query.limit"],
      ["limit=1&limit=2", "query.limit"],
      ["include=nothing", "query.include.0"],
      ["include=releaseCreatedAt,nothing", "query.include.1"],
      ["deploymentId=dep_1", "query.deploymentId"],
    ])("?%s names %s", async (query, path) => {
      const { key } = await world.workspace();
      const answer = await world.call("GET", `/v1/events?${query}`, { key: await key("workspace.viewer") });
      expect(answer.body).toMatchObject({ code: "VALIDATION_ERROR", context: { issues: [{ path }] } });
    });

    it("takes arrays repeated or with commas, and ignores unknown parameters", async () => {
      const { key } = await world.workspace();
      const viewer = await key("workspace.viewer");
      for (const query of ["include=releaseCreatedAt&include=releaseCreatedAt", "include=releaseCreatedAt", "zz=1"]) {
        expect((await world.call("GET", `/v1/events?${query}`, { key: viewer })).status).toBe(200);
      }
    });
  });

  describe("pages", () => {
    it("walk every row once, newest first, and skip what came after the first page", async () => {
      const workspace = await world.workspace();
      const admin = await workspace.key("workspace.admin");
      for (let i = 0; i < 7; i += 1) await workspace.key("workspace.viewer");
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const query: Record<string, string | number> = { limit: 3, ...(cursor !== null && { cursor }) };
        const { body } = await world.call("GET", "/v1/api-keys", { key: admin, query });
        seen.push(...body.items.map((item: { id: string }) => item.id));
        cursor = body.nextCursor;
        if (seen.length === 3) await workspace.key("workspace.viewer");
      } while (cursor !== null);
      expect(seen).toHaveLength(8);
      expect(new Set(seen).size).toBe(8);
    });

    it("refuse a cursor of another list, other filters, another workspace, or nobody", async () => {
      const site = await newSite(world);
      const other = await world.workspace();
      await other.key("workspace.viewer");
      const otherAdmin = await other.key("workspace.admin");
      const first = await world.call("GET", "/v1/api-keys", { key: site.admin, query: { limit: 1 } });
      const cursor = first.body.nextCursor;
      const code = async (path: string, key: string, query: Record<string, string>) =>
        (await world.call("GET", path, { key, query })).body.code;
      expect(await code("/v1/api-keys", otherAdmin, { cursor })).toBe("INVALID_CURSOR");
      expect(await code("/v1/events", site.admin, { cursor })).toBe("INVALID_CURSOR");
      expect(await code("/v1/api-keys", site.admin, { cursor, project: site.project.id })).toBe("INVALID_CURSOR");
      for (const bad of ["x", "bnVsbA", "W10", `${cursor}x`.slice(4)]) {
        expect(await code("/v1/api-keys", site.admin, { cursor: bad })).toBe("INVALID_CURSOR");
      }
      expect(await code("/v1/api-keys", site.admin, { cursor, limit: "1" })).toBeUndefined();
    });
  });

  describe("Idempotency-Key", () => {
    const post = (key: string, idempotencyKey: string, name: string) =>
      world.call("POST", "/v1/projects", { key, body: { name }, headers: { "idempotency-key": idempotencyKey } });

    it("replays the first answer and does the work once", async () => {
      const { key } = await world.workspace();
      const member = await key("workspace.member");
      const first = await post(member, "one", "shop");
      const second = await post(member, "one", "shop");
      expect([first.status, second.status]).toEqual([201, 201]);
      expect(second.body).toEqual(first.body);
      expect(second.headers.get("idempotency-replayed")).toBe("true");
      expect((await world.call("GET", "/v1/projects", { key: member })).body.items).toHaveLength(1);
    });

    it("refuses the same key with another body", async () => {
      const { key } = await world.workspace();
      const member = await key("workspace.member");
      await post(member, "two", "shop-one");
      const { code, message } = (await post(member, "two", "shop-two")).body;
      expect([code, message]).toEqual(["IDEMPOTENCY_KEY_REUSED", expect.stringContaining("with another request")]);
    });

    it("replays a refusal too, under the new request's id", async () => {
      const { key } = await world.workspace();
      const member = await key("workspace.member");
      await post(member, "first", "shop");
      const refused = await post(member, "three", "shop");
      const replayed = await post(member, "three", "shop");
      expect([refused.body.code, replayed.body.code]).toEqual(["NAME_TAKEN", "NAME_TAKEN"]);
      expect(replayed.headers.get("idempotency-replayed")).toBe("true");
      expect(replayed.body.requestId).toBe(replayed.headers.get("x-request-id"));
    });

    it("belongs to its principal, and is forgotten after a day", async () => {
      const { key } = await world.workspace();
      const [one, two] = [await key("workspace.member"), await key("workspace.member")];
      await post(one, "four", "shop");
      expect((await post(two, "four", "shop")).body.code).toBe("NAME_TAKEN");
      world.clock.advance(24 * 3600_000 + 1);
      expect((await post(one, "four", "shop")).body.code).toBe("NAME_TAKEN");
      await world.platform.sweep();
    });

    it("ten at once do the work once", async () => {
      const { key } = await world.workspace();
      const member = await key("workspace.member");
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(member, "five", "shop")));
      for (const { status, body } of answers) expect([201, 409], JSON.stringify(body)).toContain(status);
      expect(answers.filter(({ status }) => status === 409).map(({ body }) => body.code)).not.toContain("NAME_TAKEN");
      expect((await world.call("GET", "/v1/projects", { key: member })).body.items).toHaveLength(1);
    });

    it.each(["", "é", "x".repeat(256)])("refuses the key %j", async (idempotencyKey) => {
      const { key } = await world.workspace();
      const headers = { "idempotency-key": Buffer.from(idempotencyKey).toString("latin1") };
      const answer = await world.call("POST", "/v1/projects", {
        key: await key("workspace.member"),
        body: { name: "shop" },
        headers,
      });
      expect(answer.body).toMatchObject({ context: { issues: [{ path: "header.idempotency-key" }] } });
    });
  });

  it("of racing creators of one name one wins, and the others are told why", async () => {
    const { key } = await world.workspace();
    const member = await key("workspace.member");
    const create = () => world.call("POST", "/v1/projects", { key: member, body: { name: "shop" } });
    const answers = await Promise.all(Array.from({ length: 8 }, create));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status, body } of answers) if (status !== 201) expect(["NAME_TAKEN", "CONFLICT"]).toContain(body.code);
  });

  describe("the work feed", () => {
    it("names a new deployment at once, and once", async () => {
      const site = await newSite(world);
      const path = `/v1/managers/${site.manager.id}/work`;
      const work = (query: Record<string, string | number>) =>
        world.call("GET", path, { key: site.manager.key, query });
      const { cursor } = (await work({})).body;
      const held = work({ cursor, wait: 30 });
      const deploymentId = await site.deploy("one");
      const { body } = await held;
      // One that ends by itself, after its 30 s, names nothing.
      expect(body.topics).toEqual([{ topic: "deployments", deploymentId }]);
      expect((await work({ cursor: body.cursor })).body.topics).toEqual([]);
    });

    it("tells no other manager, and takes no cursor of one", async () => {
      const site = await newSite(world);
      const other = await site.workspace.manager();
      await site.deploy("one");
      const own = await world.call("GET", `/v1/managers/${site.manager.id}/work`, { key: site.manager.key });
      const query = { cursor: own.body.cursor };
      const answer = await world.call("GET", `/v1/managers/${other.id}/work`, { key: other.key, query });
      expect(answer.body.topics).toEqual([]);
      const foreign = await world.call("GET", `/v1/managers/${site.manager.id}/work`, { key: other.key });
      expect(foreign.status).toBe(404);
    });

    it("misses nothing that is raised while it is read, and ends up empty", async () => {
      const site = await newSite(world);
      const path = `/v1/managers/${site.manager.id}/work`;
      const work = (query: Record<string, string | number>) =>
        world.call("GET", path, { key: site.manager.key, query });
      let { cursor } = (await work({})).body;
      const seen = new Set<string>();
      const deployed = Promise.all(Array.from({ length: 20 }, (_, i) => site.deploy(`d-${i}`)));
      for (;;) {
        const { body } = await work({ cursor, wait: 2 });
        cursor = body.cursor;
        for (const { deploymentId } of body.topics) seen.add(deploymentId);
        if (body.topics.length === 0) break;
      }
      expect([...seen].sort()).toEqual((await deployed).sort());
    });
  });

  describe("health", () => {
    it("is open to everybody", async () => {
      for (const path of ["/livez", "/readyz"]) {
        const response = await fetch(new URL(path, world.platform.url));
        expect([response.status, await response.text()]).toEqual([200, "ok"]);
      }
    });
  });
});

describe("limits and the end", () => {
  it("a caller over its rate is told when to come again, by its own bucket", async () => {
    const clock = new TestClock();
    clock.hold();
    const platform = await startPlatform({ database: await inMemory(), clock });
    try {
      const { id: workspaceId } = await platform.bootstrap.workspace("limited");
      const mint = () =>
        platform.bootstrap.key({ workspaceId, role: "workspace.viewer", scope: { type: "workspace" } });
      const [{ key }, { key: other }] = [await mint(), await mint()];
      const ask = (bearer: string) => call(platform.url, "GET", "/v1/whoami", { key: bearer });
      const first = await ask(key);
      expect(first.headers.get("ratelimit-limit")).toBe("100");
      expect(first.headers.get("ratelimit-remaining")).toBe("99");
      for (let i = 1; i < 100; i += 1) await ask(key);
      const last = await ask(key);
      expect(last.body.code).toBe("RATE_LIMITED");
      expect(last.headers.get("retry-after")).toBe("1");
      expect((await ask(other)).status).toBe(200);
      clock.advance(1000);
      expect((await ask(key)).status).toBe(200);

      const unknown = await ask("nonsense");
      expect([unknown.status, unknown.headers.get("ratelimit-limit")]).toEqual([401, "20"]);
      for (let i = 1; i < 20; i += 1) expect((await ask("nonsense")).status).toBe(401);
      expect((await ask("nonsense")).status).toBe(429);
    } finally {
      await platform.close();
    }
  });

  it("closing ends held polls with an empty answer and refuses what comes after", async () => {
    const platform = await startPlatform({ database: await inMemory() });
    const { id: workspaceId } = await platform.bootstrap.workspace("closing");
    const manager = await platform.bootstrap.manager({ workspaceId, name: "m" });
    const held = call(platform.url, "GET", `/v1/managers/${manager.id}/work`, {
      key: manager.key,
      query: { wait: 30 },
    });
    await answering(platform.url);
    await platform.close();
    // Whom the grace's end has cut off gets no answer.
    expect((await held).body.topics).toEqual([]);
    await expect(call(platform.url, "GET", "/livez")).rejects.toThrow();
  });

  it("a body that never ends does not hold the server's end", async () => {
    const platform = await startPlatform({ database: await inMemory() });
    const { id: workspaceId } = await platform.bootstrap.workspace("slow");
    const { key } = await platform.bootstrap.key({
      workspaceId,
      role: "workspace.admin",
      scope: { type: "workspace" },
    });
    const slow = request(new URL("/v1/api-keys", platform.url), {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": "100" },
    });
    const failed = new Promise((resolve) => slow.once("error", resolve));
    slow.write("{");
    await answering(platform.url);
    await platform.close();
    await failed;
  });
});

/** One round trip later, what was sent before has arrived. */
async function answering(url: string): Promise<void> {
  await (await fetch(new URL("/readyz", url))).text();
}
