import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { planHash } from "../../src/crds/plan.ts";
import { WORKLOAD } from "./customer.ts";
import { StepFailed } from "./narrator.ts";
import { GRANTS, type Scene, scaleParams } from "./scene.ts";
import { until, verify } from "./until.ts";

/** The first half of the story: what the vendor's side does before the customer decides. */

export function engineerInvokesScale(scene: Scene, signal: AbortSignal): Promise<void> {
  const { vendor, kube } = scene.world;
  return scene.narrator.step("engineer", "invoking kubernetes/scale", async () => {
    const { status, decision, commandId } = await vendor.engineer.operations.invoke(
      {
        query: { project: vendor.project },
        body: {
          deploymentId: vendor.deploymentId,
          plugin: "kubernetes",
          operation: "scale",
          params: scaleParams(scene, WORKLOAD.name, WORKLOAD.scaledTo),
        },
      },
      signal,
    );
    verify("the invocation", { status, decision, commandId }, { status: "pending-approval", decision: "manual" });
    for await (const invocation of kube.list<OperationInvocation>(
      operationInvocations,
      { namespace: GRANTS },
      signal,
    )) {
      throw new StepFailed(`The cluster has ${invocation.metadata.name}, although nothing was approved.`);
    }
    const text = `invokes kubernetes/scale, ${WORKLOAD.name} to ${WORKLOAD.scaledTo}: the policy says manual, nothing was sent`;
    return { text, value: undefined };
  });
}

export function engineerRaisesRequest(scene: Scene, signal: AbortSignal): Promise<AccessRequest> {
  const { vendor } = scene.world;
  return scene.narrator.step("engineer", "raising an access request", async () => {
    const commands = [
      {
        command: "kubernetes/scale",
        summary: `Scale ${WORKLOAD.name} from ${WORKLOAD.replicas} to ${WORKLOAD.scaledTo} replicas`,
        params: scaleParams(scene, WORKLOAD.name, WORKLOAD.scaledTo),
      },
    ];
    const request = await vendor.engineer.accessRequests.create(
      {
        body: {
          deploymentId: vendor.deploymentId,
          remediationPlanId: "checkout-is-slow",
          title: "Checkout is slow: two more web replicas",
          reason: "p99 of checkout is 4 s since noon; CPU of all web pods is at its limit.",
          commands,
          maxMinutes: 60,
        },
      },
      signal,
    );
    const own = planHash({ requestId: request.id, deploymentId: vendor.deploymentId, risk: "mutating", commands });
    verify("the request", [request.status, request.risk, request.planHash], ["pending-approval", "mutating", own]);
    return {
      text: `raises access request ${request.id.slice(0, 9)}…, risk mutating, plan ${short(own)}`,
      value: request,
    };
  });
}

export function engineerQueuesRequest(scene: Scene, request: AccessRequest, signal: AbortSignal): Promise<void> {
  return scene.narrator.step("engineer", "queueing it", async () => {
    const { status, queuedAt } = await scene.world.vendor.engineer.accessRequests.queue(
      { params: { id: request.id } },
      signal,
    );
    verify("the request's status", status, "queued");
    return { text: `queues the request: the vendor has agreed at ${time(queuedAt)}`, value: undefined };
  });
}

/** Waits for the grant, and returns the line that approves it, as the platform writes it. */
export function agentBringsGrant(
  scene: Scene,
  request: AccessRequest,
  signal: AbortSignal,
): Promise<{ readonly grant: AccessGrant; readonly command: string }> {
  const { vendor, kube, clock } = scene.world;
  return scene.narrator.step("agent", "bringing the request into the cluster", async () => {
    const name = objectName(request.id);
    const grant = await until(
      clock,
      { what: `access grant ${name} in the cluster` },
      () => kube.get<AccessGrant>(accessGrants, { name, namespace: GRANTS }, signal),
      signal,
    );
    verify("the grant's plan hash", grant.spec.planHash, request.planHash);
    const command = await until(
      clock,
      { what: "kubectl line on the platform" },
      async () =>
        (await vendor.engineer.accessRequests.get({ params: { id: request.id } }, signal)).kubectlApprove ?? undefined,
      signal,
    );
    return {
      text: `brings it into the cluster as an access grant, which waits for the customer`,
      value: { grant, command },
    };
  });
}

/** Between request and decision: an operation that the customer's policy lets run by itself. */
export function engineerListsPods(scene: Scene, signal: AbortSignal): Promise<void> {
  const { vendor, kube, clock, target } = scene.world;
  return scene.narrator.step("engineer", "running kubernetes/get-pods, which needs no approval", async () => {
    const { status, commandId } = await vendor.engineer.operations.invoke(
      {
        query: { project: vendor.project },
        body: {
          deploymentId: vendor.deploymentId,
          plugin: "kubernetes",
          operation: "get-pods",
          params: { namespace: target.workloadNamespace },
        },
      },
      signal,
    );
    verify("the invocation's status", status, "dispatched");
    if (commandId === undefined) throw new StepFailed("The platform dispatched it and named no command.");
    const command = await finishedCommand(scene, commandId, signal);
    const invocation = await kube.get<OperationInvocation>(
      operationInvocations,
      { name: objectName(commandId), namespace: GRANTS },
      signal,
    );
    const authorized = invocation?.status?.conditions?.find(({ type }) => type === "Authorized");
    verify(
      "the invocation in the cluster",
      [invocation?.status?.state, authorized?.reason],
      ["Succeeded", "PolicyAuto"],
    );
    const { pods = [] } = command.result as { readonly pods?: readonly unknown[] };
    verify("the number of pods in the result", pods.length, WORKLOAD.replicas);
    return {
      text: `runs kubernetes/get-pods while it waits: ${pods.length} pods; no approval needed: the demo's OperationPolicy "default" has a rule auto for it`,
      value: undefined,
    };
  });

  function finishedCommand({ world }: Scene, id: string, stop: AbortSignal) {
    return until(
      clock,
      { what: `result of command ${id}` },
      async () => {
        const command = await world.vendor.engineer.commands.get(
          { params: { id }, query: { include: ["payload"] } },
          stop,
        );
        if (command.state === "FAILED" || command.state === "EXPIRED") {
          throw new StepFailed(`Command ${id} ended ${command.state}: ${JSON.stringify(command.error)}`);
        }
        return command.state === "SUCCEEDED" ? command : undefined;
      },
      stop,
    );
  }
}

/** sha256:0123456789ab… */
export function short(hash: string): string {
  return `${hash.slice(0, 19)}…`;
}

/** The time of day of a server's timestamp. */
export function time(instant: string | null | undefined): string {
  return instant == null ? "an unknown time" : new Date(instant).toTimeString().slice(0, 8);
}
