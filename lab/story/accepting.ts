import { objectName } from "../../src/crds/group.ts";
import { NAMESPACE_PLACEHOLDER } from "../../src/crds/kinds/accepted-namespaces.ts";
import { type ManagedDeployment, managedDeployments } from "../../src/crds/kinds/managed-deployment.ts";
import { argumentsOf, typed } from "./deciding.ts";
import { StepFailed } from "./narrator.ts";
import { GRANTS, type Scene } from "./scene.ts";
import { until, verify } from "./until.ts";

/** Before the story: what the platform lists is an application, until the customer names a namespace for it. */

/** @returns the line that accepts it, as the object in the cluster words it. */
export function agentShowsDeployment(scene: Scene, signal: AbortSignal): Promise<string> {
  const { vendor, clock } = scene.world;
  return scene.narrator.step("agent", "showing the deployment in the cluster", async () => {
    const { spec, status } = await until(
      clock,
      { what: "deployment that waits in the cluster" },
      async () => {
        const found = await managed(scene, signal);
        return found?.status?.state === undefined ? undefined : found;
      },
      signal,
    );
    const accepted = status?.conditions?.find(({ type }) => type === "Accepted");
    verify(
      "the deployment in the cluster",
      [spec.deploymentId, spec.acceptedNamespaces, status?.state, accepted?.status, accepted?.reason],
      [vendor.deploymentId, undefined, "Waiting", "False", "AwaitingAcceptance"],
    );
    const waits = await until(
      clock,
      { what: "word on the platform that the deployment waits" },
      async () => {
        const found = await vendor.engineer.deployments.get({ params: { id: vendor.deploymentId } }, signal);
        return (found.capabilities?.length ?? 0) > 0 ? found : undefined;
      },
      signal,
    );
    verify(
      "what the platform may do, and where",
      [[...new Set(waits.capabilities?.map(({ state }) => state))], waits.environmentInfo ?? undefined],
      [["denied"], undefined],
    );
    const line = status?.acceptanceLine;
    if (line === undefined) throw new StepFailed("The object does not say how it is accepted.");
    return {
      text: "shows the deployment in the cluster; the platform learns only that it waits for the customer",
      value: line,
    };
  });
}

/** Shows the line, and types it as the customer with their namespace in it. */
export async function customerAccepts(scene: Scene, line: string, signal: AbortSignal): Promise<void> {
  const { world, narrator } = scene;
  const { approver, workloadNamespace } = world.target;
  narrator.blank();
  narrator.text(`The customer accepts it for one namespace. ${approver.user} types (the story does it for them):`);
  const command = line.replace(NAMESPACE_PLACEHOLDER, workloadNamespace);
  narrator.command(command);
  await narrator.step("approver", "accepting the deployment", async () => {
    await typed(scene, argumentsOf(command), signal);
    const found = await until(
      world.clock,
      { what: "deployment that is served" },
      async () => {
        const each = await managed(scene, signal);
        return each?.status?.state === "Serving" ? each : undefined;
      },
      signal,
    );
    verify("the namespaces of the deployment", found.status?.namespaces, [workloadNamespace]);
    return { text: `${approver.user} accepts it for namespace ${workloadNamespace}, and no other`, value: undefined };
  });
}

export function platformServesDeployment(scene: Scene, signal: AbortSignal): Promise<void> {
  const { vendor, clock, target } = scene.world;
  return scene.narrator.step("platform", "hearing of the deployment", async () => {
    const found = await until(
      clock,
      { what: "running deployment on the platform", timeoutMs: 60_000 },
      async () => {
        const each = await vendor.engineer.deployments.get({ params: { id: vendor.deploymentId } }, signal);
        return each.status === "running" && each.environmentInfo?.platform === "kubernetes" ? each : undefined;
      },
      signal,
    );
    const { environmentInfo } = found;
    verify(
      "the namespace that the platform knows",
      environmentInfo?.platform === "kubernetes" ? environmentInfo.namespace : undefined,
      target.workloadNamespace,
    );
    return { text: "has the deployment running, and its workload's health", value: undefined };
  });
}

function managed({ world }: Scene, signal: AbortSignal): Promise<ManagedDeployment | undefined> {
  const key = { name: objectName(world.vendor.deploymentId), namespace: GRANTS };
  return world.kube.get<ManagedDeployment>(managedDeployments, key, signal);
}
