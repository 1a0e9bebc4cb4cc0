import { type Client, createClient } from "../../../src/api-client/client.ts";
import type { KubernetesStack } from "../../../src/contract/deployments/stack.ts";
import type { ResponseOf, Route, RouteTable } from "../../../src/contract/wire/route.ts";
import { newSite, type Site } from "../../../src/platform/areas/deployments/testing/site.ts";
import type { TestUser, World } from "../../../src/platform/testing/harness.ts";

/** One successful call for each route, by the typed client; the compiler finds a missing route. */
export type Stops<Area extends RouteTable> = {
  readonly [Name in keyof Area]: (stage: Stage) => Promise<ResponseOf<Area[Name] & Route>>;
};

/** A running platform and a client for each kind of caller. Each stop makes what it needs; stops share only these. */
export interface Stage {
  readonly world: World;
  readonly site: Site;
  readonly project: string;
  readonly group: string;
  readonly manager: string;
  readonly workspaceId: string;
  readonly admin: Client;
  /** The manager, with its runtime key. */
  readonly runtime: Client;
  readonly user: TestUser;
  /** The client of that user, who is a workspace.admin. */
  readonly person: Client;
  readonly signal: AbortSignal;
  /** A client with another credential; closed together with the stage. */
  as(credential: string): Client;
  /** A name that is not in use. */
  fresh(word: string): string;
  inAnHour(): string;
  close(): Promise<void>;
}

export const STACK: KubernetesStack = {
  id: "shop",
  inputs: [{ id: "size", kind: "integer", label: "Size", required: false, validation: { min: 1, max: 10 } }],
  permissions: { management: "auto", profiles: {} },
  resources: {
    web: {
      config: { id: "web", type: "container", image: "registry.example.com/web:1" },
      dependencies: [],
      lifecycle: "live",
    },
  },
};

/** Makes a release of the shared project for every platform that the stops deploy to, and promotes it to production. */
export async function released({ admin, project, fresh, signal }: Stage): Promise<string> {
  const stack = { kubernetes: STACK, aws: STACK, machines: STACK };
  const { id } = await admin.releases.create({ body: { project, version: fresh("1.0"), stack } }, signal);
  const args = { params: { name: "production" }, query: { project }, body: { releaseId: id } };
  await admin.releaseChannels.promote(args, signal);
  return id;
}

/** @param told called with each attempt of every client */
export async function newStage(
  world: World,
  told: (area: string, route: string, status: number) => void,
): Promise<Stage> {
  const site = await newSite(world);
  const user = await world.user();
  await site.workspace.member(user, "workspace.admin");
  const clients: Client[] = [];
  const as = (credential: string, workspace?: string): Client => {
    const client = createClient({
      baseUrl: world.platform.url,
      credential,
      retries: 0,
      ...(workspace === undefined ? {} : { workspace }),
      observe: ({ area, route, status }) => told(area, route, status),
    });
    clients.push(client);
    return client;
  };
  let made = 0;
  return {
    world,
    site,
    project: site.project.id,
    group: site.group.id,
    manager: site.manager.id,
    workspaceId: site.workspace.id,
    admin: as(site.admin),
    runtime: as(site.manager.key),
    user,
    person: as(user.token, site.workspace.name),
    signal: AbortSignal.timeout(300_000),
    as,
    fresh(word) {
      made += 1;
      return `${word}-${made}`;
    },
    inAnHour: () => new Date(world.clock.wallNow().getTime() + 3_600_000).toISOString(),
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  };
}
