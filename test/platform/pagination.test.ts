import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/contract/table.ts";
import type { Route } from "../../src/contract/wire/route.ts";
import { newSite, type Site } from "../../src/platform/areas/deployments/testing/site.ts";
import {
  type Answer,
  OWN_PLATFORM,
  onEachDatabase,
  type TestUser,
  type World,
} from "../../src/platform/testing/harness.ts";
import { seeded } from "./random.ts";

// While a client reads a list page by page, other clients make and delete rows. No row that was there all the time may
// be missed, and none seen twice. Covers every paginated route of the table: a route without a line here fails.

/** A separate set of objects for each list. */
interface Shelf {
  readonly site: Site;
  readonly user: TestUser;
  readonly deploymentId: string;
  readonly key: string;
  call(method: string, path: string, body?: object, query?: Record<string, string>): Promise<Answer>;
}

interface List {
  path(shelf: Shelf): string;
  readonly query?: Readonly<Record<string, string>>;
  /** The reader's credential; default: an admin's key. */
  reader?(shelf: Shelf): string;
  /** A filter with which a cursor of another filter is refused. */
  readonly filter?: Readonly<Record<string, string>>;
  /** @returns the id of the row that is new in the list */
  create(shelf: Shelf, name: string): Promise<string>;
  /** Absent: rows of this kind cannot be deleted. */
  remove?(shelf: Shelf, id: string): Promise<Answer>;
}

const idOf = ({ body, status }: Answer): string => {
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body.id;
};
const deploy = (shelf: Shelf, name: string): Promise<string> => shelf.site.deploy(name);
/** Removes it from lists at once. */
const forget = ({ call }: Shelf, id: string): Promise<Answer> =>
  call("POST", `/v1/deployments/${id}/delete`, { action: "forget" });
const makeRelease = async ({ site, call }: Shelf): Promise<string> =>
  idOf(await call("POST", "/v1/releases", { project: site.project.id }));

const LISTS: Readonly<Record<string, List>> = {
  "accessRequests.list": {
    path: () => "/v1/access-requests",
    filter: { status: "pending-approval" },
    async create({ deploymentId, call }, name) {
      const commands = [{ command: "kubernetes/get-pods", summary: "look", params: { namespace: "web" } }];
      return idOf(
        await call("POST", "/v1/access-requests", { deploymentId, remediationPlanId: name, title: name, commands }),
      );
    },
  },
  "apiKeys.list": {
    path: () => "/v1/api-keys",
    filter: { project: "" },
    async create({ call }) {
      const scope = { type: "workspace", role: "workspace.viewer" };
      return (await call("POST", "/v1/api-keys", { description: null, scope })).body.keyInfo.id;
    },
    remove: ({ call }, id) => call("POST", "/v1/api-keys/batch-delete", { ids: [id] }),
  },
  "commands.list": {
    path: () => "/v1/commands",
    filter: { state: "PENDING" },
    async create({ site, deploymentId, call }) {
      const body = { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: "web" } };
      return (await call("POST", "/v1/operations/invoke", body, { project: site.project.id })).body.commandId;
    },
  },
  "debugSessions.list": {
    path: () => "/v1/debug-sessions",
    filter: { state: "pending" },
    async create({ site, deploymentId }) {
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      return idOf(
        await site.call("POST", "/v1/debug-sessions", { key: site.manager.key, body: { deploymentId, expiresAt } }),
      );
    },
  },
  "deploymentGroups.list": {
    path: () => "/v1/deployment-groups",
    filter: { search: "g" },
    create: async ({ site, call }, name) =>
      idOf(await call("POST", "/v1/deployment-groups", { name, project: site.project.id })),
    remove: ({ call }, id) => call("DELETE", `/v1/deployment-groups/${id}`),
  },
  "deployments.list": {
    path: () => "/v1/deployments",
    filter: { search: "g" },
    create: deploy,
    remove: forget,
  },
  "events.list": {
    path: () => "/v1/events",
    filter: { releaseId: `rel_${"0".repeat(28)}` },
    async create(shelf, name) {
      const deploymentId = await deploy(shelf, name);
      const { items } = (await shelf.call("GET", "/v1/events", undefined, { deploymentId, limit: "100" })).body;
      return items.find(({ data }: { data: { type: string } }) => data.type === "DeploymentCreated").id;
    },
  },
  "packages.list": {
    path: () => "/v1/packages",
    filter: { type: "helm" },
    async create({ site, call }) {
      await call("POST", "/v1/packages/rebuild", { project: site.project.id });
      const [newest] = (await call("GET", "/v1/packages", undefined, { limit: "1" })).body.items;
      return newest.id;
    },
  },
  "projects.list": {
    path: () => "/v1/projects",
    filter: { search: "g" },
    create: async ({ call }, name) => idOf(await call("POST", "/v1/projects", { name: `row-${name}` })),
    remove: ({ call }, id) => call("DELETE", `/v1/projects/${id}`),
  },
  "releases.list": {
    path: () => "/v1/releases",
    query: { allChannels: "true" },
    filter: { search: "1" },
    create: makeRelease,
  },
  "releases.deployments": {
    path: ({ key }) => `/v1/releases/${key}/deployments`,
    filter: { state: "pending" },
    create: deploy,
    remove: forget,
  },
  "workspaces.list": {
    path: () => "/v1/workspaces",
    filter: { search: "g" },
    reader: ({ user }) => user.token,
    create: async ({ site, user }, name) =>
      idOf(
        await site.call("POST", "/v1/user/workspaces", {
          key: user.token,
          body: { name: `of-${user.id.slice(4, 14)}-${name}` },
        }),
      ),
    remove: ({ site, user }, id) => site.call("DELETE", `/v1/workspaces/${id}`, { key: user.token }),
  },
};

const PAGINATED = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes as Readonly<Record<string, Route>>)
    .filter(([, { paginated }]) => paginated)
    .map(([name]) => `${area}.${name}`),
);

const ROUNDS = Number(process.env.SALLYPORT_PAGINATION_ROUNDS ?? 1);

it("every paginated route is here", () => {
  expect(Object.keys(LISTS).toSorted()).toEqual(PAGINATED.toSorted());
});

onEachDatabase(
  "pages of",
  (world) => {
    describe.each(Object.entries(LISTS))("%s", (title, list) => {
      let shelf: Shelf;
      let key: string;

      beforeAll(async () => {
        shelf = await newShelf(world);
        key = list.reader?.(shelf) ?? shelf.site.admin;
      });

      const page = (query: Record<string, string>): Promise<Answer> =>
        world.call("GET", list.path(shelf), { key, query: { ...list.query, ...query } });

      it("miss no row and repeat none while rows come and go", { timeout: 120_000 }, async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const random = seeded(`${title} ${round}`);
          let made = 0;
          const create = (): Promise<string> => list.create(shelf, `g-${round}-${made++}`);
          const present: string[] = [];
          for (let i = 0; i < 14; i += 1) present.push(await create());
          const gone = new Set<string>();
          const seen: string[] = [];
          let cursor: string | undefined;
          do {
            const answer = await page({ limit: String(1 + random(4)), ...(cursor !== undefined && { cursor }) });
            expect(answer.status, JSON.stringify(answer.body)).toBe(200);
            for (const { id } of answer.body.items) seen.push(id);
            cursor = answer.body.nextCursor ?? undefined;
            if (random(2) === 0) await create();
            const target = present[random(present.length)] ?? "";
            if (list.remove !== undefined && random(2) === 0 && !gone.has(target)) {
              gone.add(target);
              expect((await list.remove(shelf, target)).status).toBeLessThan(300);
            }
          } while (cursor !== undefined);
          expect(new Set(seen).size, "a row was seen twice").toBe(seen.length);
          expect(
            present.filter((id) => !gone.has(id) && !seen.includes(id)),
            "rows that were missed",
          ).toEqual([]);
        }
      });

      it("are got with cursors that only the server can make, for this list only", async () => {
        for (let i = 0; i < 3; i += 1) await list.create(shelf, `c-${i}`);
        const { nextCursor } = (await page({ limit: "1" })).body;
        expect((await page({ limit: "2", cursor: nextCursor })).status).toBe(200);
        const code = async (cursor: string, more: Record<string, string> = {}) =>
          (await page({ cursor, ...more })).body.code;
        // Changes any one character.
        for (let at = 0; at < nextCursor.length; at += 1) {
          const other = nextCursor[at] === "A" ? "B" : "A";
          const changed = nextCursor.slice(0, at) + other + nextCursor.slice(at + 1);
          expect(await code(changed), `character ${at}`).toBe("INVALID_CURSOR");
        }
        for (const cut of [nextCursor.slice(0, -1), `${nextCursor}A`, `${nextCursor}=`, "A", `%${nextCursor}`])
          expect(await code(cut)).toBe("INVALID_CURSOR");
        const filter = list.filter?.project === "" ? { project: shelf.site.project.id } : (list.filter ?? {});
        expect(await code(nextCursor, filter)).toBe("INVALID_CURSOR");
        const elsewhere = title === "events.list" ? "/v1/projects" : "/v1/events";
        const foreign = await world.call("GET", elsewhere, { key: shelf.site.admin, query: { cursor: nextCursor } });
        expect(foreign.body.code).toBe("INVALID_CURSOR");
        const other = await newShelf(world);
        const theirs = await world.call("GET", list.path(other), {
          key: list.reader?.(other) ?? other.site.admin,
          query: { ...list.query, cursor: nextCursor },
        });
        expect(theirs.body.code).toBe("INVALID_CURSOR");
      });
    });
  },
  OWN_PLATFORM,
);

async function newShelf(world: World): Promise<Shelf> {
  const site = await newSite(world, 1000);
  const call: Shelf["call"] = (method, path, body, query = {}) =>
    world.call(method, path, { key: site.admin, query, ...(body !== undefined && { body }) });
  const project = `/v1/projects/${site.project.id}`;
  await call("PATCH", project, { packagesConfig: { helm: { enabled: true, chartName: "shop", description: "" } } });
  const deploymentId = await site.deploy("shelf");
  await call(
    "PUT",
    "/v1/operations/policy",
    { rules: [{ pattern: "*", decision: "auto" }] },
    { project: site.project.id },
  );
  const { id: key } = (await call("POST", "/v1/releases", { project: site.project.id })).body;
  return { site, user: await world.user(), deploymentId, key, call };
}
