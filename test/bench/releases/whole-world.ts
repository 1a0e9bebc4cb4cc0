import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import { DEFAULT_NAMES, objectName } from "../../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { type Rollout, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { RELEASE_ID_LABEL } from "../../../src/crds/release-names.ts";
import type { Informer } from "../../../src/kube/cache/informer.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { GRANTS, People, SHOP } from "../../world/people.ts";
import { inPod } from "../machines/in-pod.ts";
import { ask } from "../platform/ask.ts";
import { type Fleet, fleet } from "../platform/health.ts";
import { postgresServer } from "../running.ts";
import { watched } from "../watched.ts";
import { SlowLink } from "./slow-link.ts";
import { releaseCluster } from "./world.ts";

const CHANNEL = "production";
const POLL_MS = 100;
const LIMIT_MS = 300_000;

/** A deployment in a project of its own: promotions of one leave the others alone. */
export interface Follower {
  readonly name: string;
  readonly project: string;
  readonly id: string;
}

/** Platform, agent and operator as shipped, each in its own process, and a cluster between them. */
export interface WholeWorld {
  readonly cluster: Cluster;
  readonly auditFile: string;
  readonly fleet: Fleet;
  readonly call: ReturnType<typeof ask>;
  readonly followers: readonly Follower[];
  readonly rollouts: Informer<Rollout>;
  readonly settings: Informer<KubeObject>;
}

/** @param delayMs of what goes between agent and platform, each way */
export async function startWholeWorld(
  stack: AsyncDisposableStack,
  count: number,
  delayMs: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<WholeWorld> {
  const postgres = await postgresServer(stack);
  const { cluster, auditFile } = await releaseCluster(stack, false, say, signal);
  say(`releases: starting the platform with ${count} deployments, agent and operator`);
  const vendor = await fleet(stack, postgres.url, `releases-${count}`, false);
  const call = ask(vendor.port, vendor.key);
  const followers = await madeFollowers(call, vendor, count);
  const link = await SlowLink.open(vendor.port, delayMs);
  stack.defer(async () => link.close());
  const keyFile = join(cluster.dir, "runtime-key");
  await writeFile(keyFile, `${vendor.managerKey}\n`, { mode: 0o600 });
  const { agentAccount, operatorAccount } = DEFAULT_NAMES;
  const releases = { SALLYPORT_RELEASES_ENABLED: "true" };
  await inPod(stack, cluster, "operator", operatorAccount, releases, signal);
  await inPod(
    stack,
    cluster,
    "agent",
    agentAccount,
    {
      ...releases,
      SALLYPORT_PLATFORM_URL: link.url,
      SALLYPORT_RUNTIME_KEY_FILE: keyFile,
      SALLYPORT_NAMESPACES: SHOP,
    },
    signal,
  );
  const admin = await stack.use(new People(cluster)).admin();
  for (const { id } of followers) await accepted(admin, id, signal);
  const world = {
    ...{ cluster, auditFile, fleet: vendor, call, followers },
    rollouts: await watched<Rollout>(stack, admin, rollouts, GRANTS, signal),
    settings: await watched<KubeObject>(stack, admin, resources.configMaps, SHOP, signal),
  };
  for (const { id } of followers)
    await statusOf(
      world,
      id,
      ({ status, capabilities }) =>
        status === "running" &&
        (capabilities ?? []).some(({ key, state }) => key === "releases" && state === "granted"),
      signal,
    );
  return world;
}

async function madeFollowers(
  call: ReturnType<typeof ask>,
  { deploymentId }: Fleet,
  count: number,
): Promise<readonly Follower[]> {
  const { managerId } = (await call("GET", `/v1/deployments/${deploymentId}`)).body;
  const made: Follower[] = [];
  for (let index = 1; index <= count; index += 1) {
    const name = `shop-${index}`;
    const project: string = (await call("POST", "/v1/projects", { name })).body.id;
    const group = await call("POST", "/v1/deployment-groups", { name, project });
    const where = { platform: "kubernetes", project, deploymentGroupId: group.body.id, managerId };
    const { body } = await call("POST", "/v1/deployments", { name, ...where, operatorPermission: "manage" });
    made.push({ name, project, id: body.deployment.id });
  }
  return made;
}

/** The customer's word, as soon as the agent shows the deployment. */
async function accepted(admin: Client, id: string, signal: AbortSignal): Promise<void> {
  const key = { name: objectName(id), namespace: GRANTS };
  const endsMs = performance.now() + LIMIT_MS;
  while ((await admin.get<ManagedDeployment>(managedDeployments, key, signal)) === undefined) {
    if (performance.now() > endsMs) throw new Error(`the agent does not show ${id}`);
    await sleep(systemClock, POLL_MS, signal);
  }
  const body = { spec: { acceptedNamespaces: [SHOP] } };
  await admin.patch(managedDeployments, key, { type: "merge", body }, {}, signal);
}

interface Shown {
  readonly status: string;
  readonly currentReleaseId: string | null;
  readonly error?: { readonly code: string; readonly message: string } | null;
  readonly capabilities?: readonly { readonly key: string; readonly state: string }[] | null;
}

/** The deployment on the platform, once it is as wanted. */
export async function statusOf(
  { call }: Pick<WholeWorld, "call">,
  id: string,
  isWanted: (shown: Shown) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const endsMs = performance.now() + LIMIT_MS;
  for (;;) {
    const shown = (await call("GET", `/v1/deployments/${id}`)).body as Shown;
    if (isWanted(shown)) return;
    if (performance.now() > endsMs) throw new Error(`${id} is ${shown.status}: ${JSON.stringify(shown.error)}`);
    await sleep(systemClock, POLL_MS, signal);
  }
}

/** @returns its id */
export async function created(
  { call }: Pick<WholeWorld, "call">,
  { project }: Pick<Follower, "project">,
  version: string,
  resourcesOf: Readonly<Record<string, object>>,
): Promise<string> {
  const stack = { kubernetes: { id: "shop", resources: resourcesOf } };
  return (await call("POST", "/v1/releases", { project, version, stack })).body.id;
}

export async function promoted(
  { call }: Pick<WholeWorld, "call">,
  { project }: Pick<Follower, "project">,
  releaseId: string,
): Promise<void> {
  await call("POST", `/v1/release-channels/${CHANNEL}/promote?project=${project}`, { releaseId });
}

export function releaseOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[RELEASE_ID_LABEL];
}
