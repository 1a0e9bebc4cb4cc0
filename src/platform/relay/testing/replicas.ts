import { once } from "node:events";
import { createServer } from "node:net";
import type { Clock } from "../../../base/clock.ts";
import { type RunningPlatform, type StartOptions, startPlatform } from "../../server.ts";
import { call, type World } from "../../testing/harness.ts";
import type { TestPostgres } from "../../testing/postgres.ts";
import { TestClock } from "../../testing/test-clock.ts";

export interface Replicas {
  readonly platforms: readonly RunningPlatform[];
  /** Its calls go to the first of them. */
  readonly world: World;
}

/** As many platforms on one PostgreSQL, which reach one another unless `isApart`. */
export async function startReplicas(
  server: TestPostgres,
  count: number,
  { isApart = false, ...more }: Partial<StartOptions> & { readonly isApart?: boolean } = {},
): Promise<Replicas> {
  const clock = new TestClock();
  const start = async (): Promise<RunningPlatform> => {
    const port = await freePort();
    return startPlatform({
      database: { postgres: server.url },
      sealingKey: new Uint8Array(32),
      rateLimits: false,
      clock,
      port,
      ...(!isApart && { peerUrl: `http://127.0.0.1:${port}` }),
      ...more,
    });
  };
  const platforms = await Promise.all(Array.from({ length: count }, start));
  const [first] = platforms;
  if (first === undefined) throw new Error("no replicas");
  return { platforms, world: worldOf(first, clock) };
}

/** What sites need of a world, on a platform that the test started itself. */
export function worldOf(platform: RunningPlatform, clock: Clock): World {
  const { bootstrap, url } = platform;
  let count = 0;
  const workspace = async () => {
    count += 1;
    const name = `workspace-${new URL(url).port}-${count}`;
    const { id: workspaceId } = await bootstrap.workspace(name);
    const { key } = await bootstrap.key({ workspaceId, role: "workspace.admin", scope: { type: "workspace" } });
    return {
      ...{ id: workspaceId, name, key: async () => key },
      manager: () => bootstrap.manager({ workspaceId, name: `manager-${count}`, shared: true }),
    };
  };
  const made = { platform, clock, workspace, call: call.bind(undefined, url) };
  return made as unknown as World;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
