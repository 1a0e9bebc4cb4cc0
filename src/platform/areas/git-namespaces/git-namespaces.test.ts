import { expect, it } from "vitest";
import type { GitRepository } from "../../../contract/projects/git-namespaces.ts";
import type { GitHost } from "../../ports/git-host.ts";
import { onEachDatabase } from "../../testing/harness.ts";

const OWN = { id: 7, name: "Ada", slug: "ada", installationId: null, type: "user" } as const;
const TEAM = { id: 3, name: "Acme", slug: "acme", installationId: 12, type: "team" } as const;

/** What it says is the test's, by the address of who asks. */
class Host implements GitHost {
  readonly said = new Map<string, readonly (typeof OWN | typeof TEAM)[]>();
  repositoriesOf: readonly GitRepository[] = [];
  readonly asked: unknown[] = [];

  async namespaces(email: string) {
    return this.said.get(email) ?? [];
  }

  async repositories(namespace: object, search: string | undefined) {
    this.asked.push({ ...namespace, search });
    return this.repositoriesOf;
  }
}

const host = new Host();
const sync = ["POST", "/v1/user/git-namespaces/sync"] as const;

onEachDatabase("git namespaces without a git host", (world) => {
  it("are none, and cannot be asked for", async () => {
    const { token: key } = await world.user();
    expect((await world.call("GET", "/v1/user/git-namespaces", { key })).body).toEqual({ items: [] });
    const synced = await world.call(...sync, { key, body: { provider: "git-host" } });
    expect([synced.status, synced.body.code]).toEqual([501, "GIT_HOST_NOT_CONFIGURED"]);
    expect(synced.body.hint).toContain("SALLYPORT_PLATFORM_GITHUB_APP_ID");
    const repositories = await world.call("GET", "/v1/user/git-namespaces/7/repositories", { key });
    expect([repositories.status, repositories.body.code]).toEqual([501, "GIT_HOST_NOT_CONFIGURED"]);
  });

  it("know one provider, and numbers only", async () => {
    const { token: key } = await world.user();
    for (const [method, path, more] of [
      [...sync, { body: { provider: "elsewhere" } }],
      ["GET", "/v1/user/git-namespaces", { query: { provider: "elsewhere" } }],
      ["GET", "/v1/user/git-namespaces/seven/repositories", {}],
    ] as const) {
      expect((await world.call(method, path, { key, ...more })).body.code, path).toBe("VALIDATION_ERROR");
    }
  });
});

onEachDatabase(
  "git namespaces",
  (world) => {
    it("are what the host said last, the personal one first, each since it was first seen", async () => {
      const { token: key, email } = await world.user();
      const synced = async () => (await world.call(...sync, { key, body: { provider: "git-host" } })).body.items;
      const list = async () => (await world.call("GET", "/v1/user/git-namespaces", { key })).body.items;
      host.said.set(email, [TEAM, OWN]);
      const first = await synced();
      expect(first).toMatchObject([
        { ...OWN, provider: "git-host" },
        { ...TEAM, provider: "git-host" },
      ]);
      expect(await list()).toEqual(first);
      const named = { key, body: { provider: "github" } };
      expect((await world.call(...sync, named)).body.items[0].provider).toBe("github");
      const query = { provider: "github" };
      const { items } = (await world.call("GET", "/v1/user/git-namespaces", { key, query })).body;
      expect(items[0].provider).toBe("github");
      world.clock.advance(60_000);
      host.said.set(email, [{ ...TEAM, name: "Acme Ltd" } as unknown as typeof TEAM]);
      expect(await synced()).toEqual([{ ...first[1], name: "Acme Ltd" }]);
      host.said.set(email, []);
      expect(await synced()).toEqual([]);
      expect(await list()).toEqual([]);
    });

    it("show their repositories, the last pushed to first, a hundred at most", async () => {
      const { token: key, email } = await world.user();
      host.said.set(email, [OWN, TEAM]);
      await world.call(...sync, { key, body: { provider: "git-host" } });
      const at = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString();
      const repository = (name: string, more: object = {}) => ({ name, private: true, defaultBranch: "main", ...more });
      host.repositoriesOf = [
        repository("empty"),
        ...Array.from({ length: 120 }, (_, day) => repository(`day-${day}`, { pushedAt: at(day) })),
      ];
      const { body } = await world.call("GET", "/v1/user/git-namespaces/3/repositories", {
        key,
        query: { search: "day" },
      });
      expect(body.items).toHaveLength(100);
      expect(body.items[0]).toEqual(repository("day-119", { pushedAt: at(119) }));
      expect(host.asked.at(-1)).toEqual({ slug: "acme", installationId: 12, search: "day" });
    });

    it("are nobody else's", async () => {
      const [owner, other] = [await world.user(), await world.user()];
      host.said.set(owner.email, [OWN]);
      await world.call(...sync, { key: owner.token, body: { provider: "git-host" } });
      const path = "/v1/user/git-namespaces/7/repositories";
      expect((await world.call("GET", path, { key: other.token })).body).toMatchObject({
        code: "NOT_FOUND",
        context: { resource: "git namespace" },
      });
      expect((await world.call("GET", path, { key: owner.token })).status).toBe(200);
    });
  },
  { gitHost: host },
);
