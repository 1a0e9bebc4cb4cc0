import { type Rollout, rollouts } from "../../src/crds/kinds/rollout.ts";
import { type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import { argumentsOf, typed } from "./deciding.ts";
import { StepFailed } from "./narrator.ts";
import { GRANTS, type Scene } from "./scene.ts";
import { until, verify } from "./until.ts";

/** The third part of the story: the vendor releases a workload, and the customer lets it in. */

/**
 * What is released. Its second version asks for more than any node has, so that it never comes up; the time that it has for
 * it is waited for. The first one's is not: pods that were ready for ten seconds end its rollout.
 */
const APP = { name: "api", replicas: 2 } as const;
const VERSIONS = [
  { version: "1.0.0", cpu: "100m", progressDeadlineSeconds: 60 },
  { version: "1.1.0", cpu: "4000", progressDeadlineSeconds: 3 },
] as const;
type Version = (typeof VERSIONS)[number];

const IS_OVER = new Set(["Succeeded", "RolledBack", "Failed", "Denied", "Superseded", "Aborted"]);

/** A release is promoted, shown, approved, and runs; the next one does not come up and is taken back. */
export async function releasesComeAndGoBack(scene: Scene, signal: AbortSignal): Promise<void> {
  const [good, bad] = VERSIONS;
  const first = await engineerReleases(scene, good, signal);
  await customerLetsIn(scene, await operatorPlans(scene, good, signal), signal);
  await operatorCarriesOut(scene, "Succeeded", `installs ${APP.name} ${good.version}: it is healthy`, signal);
  await platformShowsRelease(scene, first, { status: "running" }, signal);
  await engineerReleases(scene, bad, signal);
  await customerLetsIn(scene, await operatorPlans(scene, bad, signal), signal);
  const text = `takes ${APP.name} ${bad.version} back, which does not come up: ${good.version} serves`;
  await operatorCarriesOut(scene, "RolledBack", text, signal);
  await platformShowsRelease(scene, first, { status: "update-failed", code: "ROLLED_BACK" }, signal);
}

function engineerReleases(scene: Scene, { version, cpu, ...update }: Version, signal: AbortSignal): Promise<string> {
  const { engineer, project } = scene.world.vendor;
  return scene.narrator.step("engineer", `releasing ${APP.name} ${version}`, async () => {
    const config = {
      ...{ id: APP.name, type: "container", image: `registry.example.com/${APP.name}:${version}` },
      ...{ replicas: APP.replicas, cpu, update },
    };
    const resource = { config, dependencies: [], lifecycle: "live" as const };
    const stack = { kubernetes: { id: "storefront", resources: { [APP.name]: resource } } };
    const { id } = await engineer.releases.create({ body: { project, version, stack } }, signal);
    await engineer.releaseChannels.promote(
      { params: { name: "production" }, query: { project }, body: { releaseId: id } },
      signal,
    );
    return { text: `releases ${APP.name} ${version} and promotes it to production`, value: id };
  });
}

/** @returns the line that lets it in, as the object in the cluster words it. */
function operatorPlans(scene: Scene, { version }: Version, signal: AbortSignal): Promise<string> {
  return scene.narrator.step("operator", "trying the release out, by dry runs", async () => {
    const { status } = await latest(scene, "plan", ({ status: seen }) => seen?.approvalLine !== undefined, signal);
    const { create = 0, change = 0, prune = 0 } = status?.plan ?? {};
    const text = `shows the customer what ${version} would do: creates ${create}, changes ${change}, deletes ${prune}`;
    return { text, value: status?.approvalLine ?? "" };
  });
}

async function customerLetsIn(scene: Scene, line: string, signal: AbortSignal): Promise<void> {
  const { narrator, world } = scene;
  const { user } = world.target.approver;
  narrator.blank();
  narrator.text(`The customer lets it in, by the digest of that plan. ${user} types (the story does it for them):`);
  narrator.command(line);
  await narrator.step("approver", "approving the rollout", async () => {
    await typed(scene, argumentsOf(line), signal);
    return { text: `${user} approves this plan, and no other`, value: undefined };
  });
}

function operatorCarriesOut(
  scene: Scene,
  state: "Succeeded" | "RolledBack",
  text: string,
  signal: AbortSignal,
): Promise<void> {
  return scene.narrator.step("operator", "rolling out, wave by wave", async () => {
    const { status } = await latest(scene, "end", ({ status: seen }) => IS_OVER.has(seen?.state ?? ""), signal);
    const why = status?.conditions?.filter(({ status: is }) => is === "False").map(({ message }) => message);
    verify(`the end of the rollout (${why?.join("; ")})`, status?.state, state);
    verify("the replicas that are ready", await readyOfApp(scene, signal), APP.replicas);
    return { text, value: undefined };
  });
}

function platformShowsRelease(
  scene: Scene,
  releaseId: string,
  wanted: { readonly status: string; readonly code?: string },
  signal: AbortSignal,
): Promise<void> {
  const { vendor, clock } = scene.world;
  return scene.narrator.step("platform", "hearing how it went", async () => {
    const found = await until(
      clock,
      { what: `deployment that is ${wanted.status} on the platform`, timeoutMs: 60_000 },
      async () => {
        const each = await vendor.engineer.deployments.get({ params: { id: vendor.deploymentId } }, signal);
        return each.status === wanted.status ? each : undefined;
      },
      signal,
    );
    verify("what runs, and why nothing else", [found.currentReleaseId, found.error?.code], [releaseId, wanted.code]);
    const text = wanted.code === undefined ? "it runs" : `${wanted.code}, and the version before it runs`;
    return { text: `has the deployment ${wanted.status}: ${text}`, value: undefined };
  });
}

/** The newest rollout, once it is as wanted. */
function latest(
  { world }: Scene,
  what: string,
  isThere: (rollout: Rollout) => boolean,
  signal: AbortSignal,
): Promise<Rollout> {
  const { kube, clock } = world;
  return until(
    clock,
    { what: `${what} of the rollout`, timeoutMs: 180_000 },
    async () => {
      const found: Rollout[] = [];
      for await (const each of kube.list<Rollout>(rollouts, { namespace: GRANTS }, signal)) found.push(each);
      const newest = found.toSorted((one, other) => timeOf(one) - timeOf(other)).at(-1);
      if (newest?.status?.state === "Failed" && what === "plan") {
        throw new StepFailed(`The plan failed: ${JSON.stringify(newest.status.conditions)}`);
      }
      return newest !== undefined && isThere(newest) ? newest : undefined;
    },
    signal,
  );
}

function timeOf({ metadata }: KubeObject): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

interface Workload extends KubeObject {
  readonly status?: { readonly readyReplicas?: number };
}

async function readyOfApp({ world }: Scene, signal: AbortSignal): Promise<number | undefined> {
  const key = { namespace: world.target.workloadNamespace, name: APP.name };
  return (await world.kube.get<Workload>(resources.deployments, key, signal))?.status?.readyReplicas;
}
