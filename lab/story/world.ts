import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../src/base/clock.ts";
import { fileLogger } from "../../src/cli/services/process-logger.ts";
import { DEFAULT_NAMES, objectName } from "../../src/crds/group.ts";
import { managedDeployments } from "../../src/crds/kinds/managed-deployment.ts";
import { installation, openReleases } from "../../src/crds/manifests/installation.ts";
import { Client as KubeClient } from "../../src/kube/client/client.ts";
import { connect } from "../../src/kube/client/connection.ts";
import { type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import type { Program } from "../cluster/program.ts";
import { findPrograms, type Programs } from "../cluster/programs.ts";
import { reportEnd, startChildren } from "./children.ts";
import { customersManifests, WORKLOAD } from "./customer.ts";
import { useNamedCluster } from "./named-cluster.ts";
import type { Narrator } from "./narrator.ts";
import type { StoryOptions } from "./options.ts";
import { startOwnCluster } from "./own-cluster.ts";
import type { Target } from "./target.ts";
import { until } from "./until.ts";
import { startVendor, type Vendor } from "./vendor.ts";

/** Everything that `npm start` runs, on the vendor's and on the customer's side. */
export interface World {
  readonly vendor: Vendor;
  readonly target: Target;
  /** Reads the customer's API server as its admin, to check the story; takes no part in it. */
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly folder: string;
}

interface Beginning {
  readonly options: StoryOptions;
  readonly narrator: Narrator;
  readonly clock: Clock;
  /** Stops everything that was started. */
  readonly stack: AsyncDisposableStack;
  /** Aborted, with the reason, when a program that must run ends unexpectedly. */
  readonly broken: AbortController;
  /** Off only for benchmarks, which ask the platform more often than a person may. @default true */
  readonly rateLimits?: boolean;
}

/**
 * Starts all of it and reports each part when it is ready. Each part is on `stack` as soon as it is started, so that a
 * stop in the middle leaves nothing running.
 */
export async function startWorld(
  { options, narrator, clock, stack, broken, rateLimits = true }: Beginning,
  signal: AbortSignal,
): Promise<World> {
  const { folder } = options;
  const ownCluster = options.kubeconfig === undefined;
  const programs = await findPrograms(
    { controllers: ownCluster, kwok: ownCluster, say: (line) => narrator.progress(line) },
    signal,
  );
  await linkKubectl(folder, programs);
  const [vendor, target] = await bothOrNone(
    narrator.step("platform", "starting on an embedded database", async () => {
      const log = fileLogger("platform", join(folder, "logs", "platform.log"));
      const starting = startVendor(folder, { port: 0, rateLimits }, clock, log, signal);
      const value = await unlessStopped(starting, (late) => late.stop(), signal);
      stack.defer(() => value.stop());
      return { text: `serves ${value.url}, with a workspace, a project, a deployment and a manager`, value };
    }),
    narrator.step("cluster", "starting a control plane", async () => {
      const value =
        options.kubeconfig === undefined
          ? await startOwnCluster(folder, programs, signal)
          : await useNamedCluster(folder, options.kubeconfig, programs.kubectl, signal);
      stack.defer(() => value.stop());
      return { text: value.description, value };
    }),
  );
  const connection = await connect({
    kubeconfig: target.adminKubeconfig,
    userAgent: "sallyport-dev",
    // A proxy of this machine cannot reach our own cluster's loopback address.
    ...(ownCluster && { environment: {} }),
  });
  stack.defer(() => connection.close());
  const kube = new KubeClient(connection, { clock });
  const children = await narrator.step("cluster", "installing Sallyport and a workload", async () => {
    const { crds, rbac, policies } = installation(DEFAULT_NAMES, { stamps: target.stamps });
    await target.apply([...crds, ...rbac], signal);
    // Agent and operator load their code while the API server compiles the policies.
    const value = await startChildren(folder, vendor, target, stack);
    await target.apply([...policies, ...openReleases(DEFAULT_NAMES, { stamps: target.stamps })], signal);
    await target.apply(customersManifests(target, DEFAULT_NAMES), signal);
    await workloadReady(target, kube, clock, signal);
    const text =
      `has ${crds.length} new kinds, ${policies.length / 2} admission policies, and deployment ` +
      `${target.workloadNamespace}/${WORKLOAD.name} with ${WORKLOAD.replicas} ready pods`;
    return { text, value };
  });
  for (const program of [...children, ...target.programs]) reportEnd(program, broken, stack);
  const world: World = { vendor, target, kube, clock, folder };
  await connected(world, children, narrator, AbortSignal.any([signal, broken.signal]));
  return world;
}

async function workloadReady(target: Target, kube: KubeClient, clock: Clock, signal: AbortSignal): Promise<void> {
  await until(
    clock,
    { what: `ready workload of ${WORKLOAD.replicas} pods`, timeoutMs: 120_000 },
    async () => ((await readyReplicas(kube, target, signal)) === WORKLOAD.replicas ? true : undefined),
    signal,
  );
}

interface Deployment extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

/** The workload's ready pods, once the controllers have made all of them; undefined until then. */
export async function readyReplicas(
  kube: KubeClient,
  target: Target,
  signal: AbortSignal,
): Promise<number | undefined> {
  const key = { name: WORKLOAD.name, namespace: target.workloadNamespace };
  const found = await kube.get<Deployment>(resources.deployments, key, signal);
  return found?.status?.readyReplicas === found?.spec.replicas ? found?.spec.replicas : undefined;
}

/**
 * Waits until the operator is ready, and until the platform has heard from the agent and the agent shows the
 * deployment.
 */
async function connected(
  world: World,
  [agent, operator]: readonly Program[],
  narrator: Narrator,
  signal: AbortSignal,
): Promise<void> {
  const { vendor, kube, clock } = world;
  await Promise.all([
    narrator.step("operator", "starting", async () => {
      await operator?.whenReady(signal);
      return { text: "watches for grants and invocations; knows nothing of a platform", value: undefined };
    }),
    narrator.step("agent", "starting and finding the platform", async () => {
      await agent?.whenReady(signal);
      const key = { name: objectName(vendor.deploymentId), namespace: DEFAULT_NAMES.grantsNamespace };
      await until(
        clock,
        { what: "agent that shows the deployment", timeoutMs: 60_000 },
        async () => {
          const { status } = await vendor.engineer.managers.get({ params: { id: vendor.managerId } }, signal);
          return status === "healthy" ? await kube.get(managedDeployments, key, signal) : undefined;
        },
        signal,
      );
      return { text: "is connected to the platform, which lists one deployment", value: undefined };
    }),
  ]);
}

/** For people whose kubectl is missing or does not fit: the panel puts this folder on their PATH. */
async function linkKubectl(folder: string, programs: Programs): Promise<void> {
  await mkdir(join(folder, "bin"), { recursive: true });
  await symlink(programs.kubectl, join(folder, "bin", "kubectl"));
}

/** Waits for both even if one fails, so that nothing is still starting when the clean-up begins. */
async function bothOrNone<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return [await a, await b];
}

/**
 * For work that cannot be interrupted: the embedded database takes 10 s to set up on a busy machine, and a stop must
 * not wait for it. It lives in this process and ends with it.
 */
function unlessStopped<T>(starting: Promise<T>, stop: (late: T) => Promise<void>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abandon = (): void => {
      reject(signal.reason);
      // The run has stopped: a late failure, also of this stop, has no effect.
      starting.then(stop).catch(() => undefined);
    };
    if (signal.aborted) return abandon();
    signal.addEventListener("abort", abandon, { once: true });
    void starting.then(resolve, reject).finally(() => signal.removeEventListener("abort", abandon));
  });
}
