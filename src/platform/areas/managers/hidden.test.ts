import type { TObject, TSchema } from "typebox";
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../../contract/table.ts";
import { type Role, scopeOf } from "../../../contract/wire/roles.ts";
import type { Route } from "../../../contract/wire/route.ts";
import { HIDDEN_WORKSPACE } from "../../kernel/tenancy/hidden.ts";
import { type Answer, onEachDatabase, type World } from "../../testing/harness.ts";
import { sample, samplePath, sampleQuery } from "../../testing/sample.ts";
import { keysOfRoles, newSite } from "../deployments/testing/site.ts";

// Whatever can be read, as anybody, with and without the deployment that a manager runs as: nothing mentions it, and
// nothing has become more. Routes that are written later are asked too.

const READS: (readonly [string, Route])[] = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes)
    .filter(([, { repeat, success, longPoll }]) => repeat === "safe" && success === 200 && longPoll === undefined)
    .map(([name, route]): [string, Route] => [`${area}.${name}`, route]),
);

/** In the place of the deployment's id before it has one. */
const NOT_YET = `dep_${"0".repeat(28)}`;

/** What shows a key's own scope shows a setup token's: the group is what that token is for (§9). */
const OF_KEYS = ["apiKeys.list", "apiKeys.get"];

/** By its id: the manager, which works on it, and the admins, who are told the id. docs/management-api.md has it. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  "deployments.get": ["workspace.admin", "user", "own manager"],
  "sync.list": ["own manager"],
  "sync.context": ["own manager"],
};

interface Stage {
  readonly world: World;
  /** Bearer tokens by who they are. */
  readonly keys: ReadonlyMap<string, string>;
  readonly workspace: string;
  readonly project: string;
  readonly ids: { dep: string; dg: string; prj: string; readonly mgr: string };
  bootstrap(): Promise<void>;
}

async function newStage(world: World): Promise<Stage> {
  const site = await newSite(world);
  const deploymentId = await site.deploy("manager-like");
  const body = { name: "our manager", cloud: "aws", region: "eu-west-1" };
  const setup = (await world.call("POST", "/v1/managers", { key: site.admin, body })).body;
  const path = `/v1/managers/${setup.managerId}`;
  const keys = new Map<string, string>(await keysOfRoles(site, deploymentId));
  const user = await world.user();
  await site.workspace.member(user, "workspace.admin");
  keys.set("user", user.token);
  keys.set("setup token", setup.setupToken);
  const own = await site.workspace.key("manager.runtime", { type: "manager", managerId: setup.managerId });
  keys.set("own manager", own);
  const home = await world.platform.db
    .selectFrom("managers")
    .select(["internal_project_id as prj", "internal_group_id as dg"])
    .where("id", "=", setup.managerId)
    .executeTakeFirstOrThrow();
  const ids = { dep: NOT_YET, dg: home.dg ?? "", prj: home.prj ?? "", mgr: setup.managerId };
  return {
    world,
    keys,
    ids,
    workspace: site.workspace.name,
    project: site.project.name,
    async bootstrap() {
      ids.dep = (await world.call("POST", `${path}/bootstrap`, { key: setup.setupToken })).body.deploymentId;
      const state = (status: string) => ({ status, platform: "aws", protocolVersion: 1 });
      for (const status of ["initial-setup", "provisioning", "running", "refresh-failed"]) {
        const report = { deploymentId: ids.dep, state: state(status), ...seenBy(world.clock.wallNow()) };
        const answer = await world.call("POST", "/v1/sync/reconcile", { key: own, body: report });
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      }
    },
  };
}

/** All else that a report can say, for each list that shows such things. */
function seenBy(now: Date): object {
  const source = { controllerPlatform: "kubernetes", backend: "kubernetes", observedAt: now.toISOString() };
  const status = { health: "healthy", lifecycle: "running", partial: false, stale: false, collectionIssues: [] };
  const workload = { namespace: "shop", name: "api", replicas: { desired: 1, ready: 1 }, pods: [], events: [] };
  const data = { status, backend: "kubernetes", workloadKind: "deployment", ...workload };
  const observed = { health: "healthy", lifecycle: "running", partial: false, providerStale: false };
  return {
    resourceHeartbeats: [
      { ...source, resourceId: "api", resourceType: "container", data: { resourceType: "container", data }, raw: [] },
    ],
    observedInventoryBatches: [
      {
        ...source,
        sourceKind: "operator",
        inventoryScope: "shop",
        complete: true,
        resources: [{ ...observed, rawIdentity: "a", providerKind: "Deployment", displayName: "a" }],
      },
    ],
    progressEvents: [{ type: "DeployingStack", state: "started", at: now.toISOString(), data: { stackName: "s" } }],
  };
}

const ROLE_OF: Readonly<Record<string, Role>> = {
  user: "workspace.admin",
  "own manager": "manager.runtime",
  "setup token": "deployment-group.deployer",
};

/** Who of the cast the route lets in: of the keys that reach as far, the one with the widest role. */
function callers({ keys }: Stage, { roles }: Route): string[] {
  const admitted = [...keys.keys()].filter((who) => {
    if (roles === "any") return true;
    return typeof roles !== "string" && (roles as readonly string[]).includes(ROLE_OF[who] ?? who);
  });
  return [...new Map(admitted.map((who) => [who in ROLE_OF ? who : scopeOf(who as Role), who])).values()];
}

type Query = Readonly<Record<string, string | readonly string[]>>;

/** Each way to narrow or widen the question that could lead to the hidden ones. */
function questions(route: Route, { ids, project }: Stage): Query[] {
  const known = (route.query as TObject | undefined)?.properties ?? {};
  const hidden: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
    project: [ids.prj],
    deploymentGroup: [ids.dg, "manager"],
    deploymentGroupId: [ids.dg],
    deploymentId: [ids.dep],
    managerId: [ids.mgr],
    search: [ids.dep, "manager"],
    name: ["manager"],
    status: "status" in known ? [everyWord(known.status)] : [],
    environment: ["aws"],
    platform: ["aws"],
  };
  const required = sampleQuery(route.query);
  const starts = "project" in known ? [required, { ...required, project }] : [required];
  const asked = Object.entries(hidden)
    .filter(([name]) => name in known)
    .flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
  const widest = "include" in known ? [{ include: everyWord(known.include) }] : [];
  return starts.flatMap((start) => [{}, ...widest, ...asked].map((one) => ({ ...start, ...one })));
}

function everyWord(schema: TSchema | undefined): readonly string[] {
  const words = new Set<string>();
  const walk = (each: unknown): void => {
    if (typeof each !== "object" || each === null) return;
    for (const [name, value] of Object.entries(each)) {
      if (name === "const" && typeof value === "string") words.add(value);
      if (name === "enum" && Array.isArray(value)) for (const word of value) words.add(String(word));
      walk(value);
    }
  };
  walk(schema);
  return [...words];
}

function ask({ world, keys, workspace }: Stage, route: Route, who: string, path: string, query: Query, more = {}) {
  const body = route.method === "POST" ? { ...(sample(route.body ?? {}) as object), ...more } : undefined;
  return world.call(route.method, path, {
    key: keys.get(who) ?? "",
    query: { ...query, ...(who === "user" && route.workspace === undefined && { workspace }) },
    ...(body !== undefined && { body }),
  });
}

/** Without what changes by itself. */
function lasting({ status, body }: Answer): string {
  const text = JSON.stringify(body, (name, value) =>
    /^(requestId|message|nextCursor)$/.test(name) ? undefined : value,
  );
  return `${status} ${text?.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "then")}`;
}

/** These tell of the manager and of its keys, which a setup changes. */
const CHANGES = [...OF_KEYS, "managers.list", "managers.get", "managerRuntime.token"];

onEachDatabase("the deployment that a manager runs as is hidden", (world) => {
  it("no answer mentions it, its group or its project, and none has become more by it", {
    timeout: 300_000,
  }, async () => {
    const stage = await newStage(world);
    const asked = async (): Promise<Map<string, string>> => {
      const told = new Map<string, string>();
      for (const [name, route] of READS) {
        for (const who of callers(stage, route)) {
          for (const [index, query] of questions(route, stage).entries()) {
            const answer = await ask(stage, route, who, samplePath(route), query);
            const about = `${name} as ${who} ${JSON.stringify(query)}`;
            expect(answer.status, about).toBeLessThan(500);
            if (answer.status < 300 && !OF_KEYS.includes(name)) expectSilence(answer, stage, who, about);
            if (!CHANGES.includes(name)) told.set(`${name} as ${who}, question ${index}`, lasting(answer));
          }
        }
      }
      return told;
    };
    const before = await asked();
    await stage.bootstrap();
    const after = await asked();
    // A question that named nothing before the deployment had its id names nothing now.
    expect(Object.fromEntries(after)).toEqual(Object.fromEntries(before));
    const managers = (await world.call("GET", "/v1/managers", { key: stage.keys.get("workspace.admin") ?? "" })).body;
    const own = managers.find(({ id }: { id: string }) => id === stage.ids.mgr);
    expect([own.managedDeploymentCount, own.defaultProjectCount]).toEqual([0, 0]);
  });

  describe("nothing is found by its ids", () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await newStage(world);
      await stage.bootstrap();
    }, 60_000);

    it.each(READS.filter(([, { path }]) => path.includes("{")))("%s", { timeout: 60_000 }, async (name, route) => {
      const { dep, dg, prj } = stage.ids;
      for (const who of callers(stage, route)) {
        for (const id of [dep, dg, prj, HIDDEN_WORKSPACE, "manager"]) {
          const path = samplePath(route, { id, idOrName: id, deploymentId: id, name: id });
          for (const query of questions(route, stage)) {
            const answer = await ask(stage, route, who, path, query);
            const about = `${name} ${path} as ${who} ${JSON.stringify(query)}: ${JSON.stringify(answer.body)}`;
            if (TOLD[name]?.includes(who) && id === dep) expect(answer.status, about).toBe(200);
            else if (answer.status < 300) expectSilence(answer, stage, who, about);
            expect(answer.status, about).toBeLessThan(500);
          }
        }
      }
    });
  });
});

function expectSilence({ body }: Answer, { ids }: Stage, who: string, about: string): void {
  const text = JSON.stringify(body) ?? "";
  // A setup token is a key of that group, and may say so of itself.
  const secret = who === "setup token" ? [ids.dep, HIDDEN_WORKSPACE] : [ids.dep, ids.dg, ids.prj, HIDDEN_WORKSPACE];
  for (const id of secret)
    if (id !== NOT_YET) expect(text.includes(id), `${about} mentions ${id}: ${text}`).toBe(false);
}
