import { readFile } from "node:fs/promises";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import { GRANT_UID_LABEL, grantAccount } from "../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { resources } from "../../src/kube/objects/resource.ts";
import { short, time } from "./asking.ts";
import { WORKLOAD } from "./customer.ts";
import { StepFailed } from "./narrator.ts";
import { GRANTS, type Scene } from "./scene.ts";
import { until, verify } from "./until.ts";
import { readyReplicas } from "./world.ts";

/** The second half of the story: what happens once the customer has approved, checked on both sides. */

export function operatorOpensWindow(scene: Scene, grant: AccessGrant, signal: AbortSignal): Promise<void> {
  const { kube, clock, target } = scene.world;
  return scene.narrator.step("operator", "opening the window", async () => {
    const { spec, status } = await until(
      clock,
      { what: "open window" },
      async () => {
        const found = await kube.get<AccessGrant>(
          accessGrants,
          { name: grant.metadata.name, namespace: GRANTS },
          signal,
        );
        return found?.status?.approvedUntil === undefined ? undefined : found;
      },
      signal,
    );
    const identity = status?.conditions?.find(({ type }) => type === "IdentityVerified");
    verify(
      "who decided",
      [spec.decidedBy, identity?.status, identity?.reason],
      [target.approver.user, "True", target.stamps ? "StampedByAdmission" : "ClaimCheckedByPolicy"],
    );
    const text = `opens the window until ${time(status?.approvedUntil)}; the API server vouches for the name`;
    return { text, value: undefined };
  });
}

export function operatorRuns(scene: Scene, grant: AccessGrant, signal: AbortSignal): Promise<OperationInvocation> {
  const { kube, clock } = scene.world;
  return scene.narrator.step("operator", "running the operation", async () => {
    const value = await until(
      clock,
      { what: "finished operation", timeoutMs: 90_000 },
      async () => {
        for await (const found of kube.list<OperationInvocation>(operationInvocations, { namespace: GRANTS }, signal)) {
          if (found.spec.grantName !== grant.metadata.name) continue;
          const { state = "Pending", error } = found.status ?? {};
          if (state === "Succeeded") return found;
          if (state !== "Pending" && state !== "Running")
            throw new StepFailed(`It ended ${state}: ${error?.message ?? "no reason given"}.`);
        }
        return undefined;
      },
      signal,
    );
    return {
      text: `runs kubernetes/scale as ${grantAccount(grant.metadata.uid)}, an account made for this grant alone`,
      value,
    };
  });
}

export function clusterShowsReplicas(scene: Scene, signal: AbortSignal): Promise<void> {
  const { kube, clock, target } = scene.world;
  return scene.narrator.step("cluster", "rolling out", async () => {
    await until(
      clock,
      { what: `${WORKLOAD.scaledTo} ready replicas`, timeoutMs: 90_000 },
      async () => ((await readyReplicas(kube, target, signal)) === WORKLOAD.scaledTo ? true : undefined),
      signal,
    );
    return {
      text: `has ${WORKLOAD.scaledTo} ready replicas of deployment ${target.workloadNamespace}/${WORKLOAD.name}`,
      value: undefined,
    };
  });
}

interface AuditEntry {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

/**
 * Checks the API server's audit log: one change of the scale, by the grant's account. Only where the API server is
 * ours.
 */
export async function auditLogAgrees(scene: Scene, grant: AccessGrant, signal: AbortSignal): Promise<void> {
  const { target, clock } = scene.world;
  const { auditLog } = target;
  if (auditLog === undefined) return;
  await scene.narrator.step("cluster", "reading the audit log", async () => {
    const scalings = await until(
      clock,
      { what: "change of the scale in the audit log" },
      async () => {
        const found = scalesIn(await readFile(auditLog, "utf8"));
        return found.length > 0 ? found : undefined;
      },
      signal,
    );
    const expected = `system:serviceaccount:${GRANTS}:${grantAccount(grant.metadata.uid)}`;
    verify("who changed the scale, each time", scalings, [expected]);
    return {
      text: `has it in its audit log: the scale changed once, by ${grantAccount(grant.metadata.uid)}`,
      value: undefined,
    };
  });
}

/** The users of the successful writes to our workload's scale, without the cluster's own controllers. */
export function scalesIn(auditLog: string): readonly string[] {
  return auditLog
    .split("\n")
    .filter((line) => line.endsWith("}")) // The API server may be in the middle of writing the last line.
    .map((line) => JSON.parse(line) as AuditEntry)
    .filter(
      ({ objectRef, responseStatus }) =>
        objectRef?.subresource === "scale" && objectRef.name === WORKLOAD.name && (responseStatus?.code ?? 500) < 300,
    )
    .map(({ user }) => user.username);
}

export function platformShowsDecision(scene: Scene, request: AccessRequest, signal: AbortSignal): Promise<void> {
  const { vendor, clock, target } = scene.world;
  return scene.narrator.step("platform", "recording the decision", async () => {
    const { status, decision, planHash } = await until(
      clock,
      { what: "decision on the platform", timeoutMs: 60_000 },
      async () => {
        const found = await vendor.engineer.accessRequests.get({ params: { id: request.id } }, signal);
        return found.decision === null ? undefined : found;
      },
      signal,
    );
    verify(
      "the record of the decision",
      [status, decision?.outcome, decision?.by, decision?.identity, planHash],
      ["customer-approved", "approved", target.approver.user, "verified", request.planHash],
    );
    const text = `has the decision: ${decision?.by} (verified) at ${time(decision?.at)}, plan ${short(planHash)}`;
    return { text, value: undefined };
  });
}

export function platformShowsResult(
  scene: Scene,
  request: AccessRequest,
  { spec }: OperationInvocation,
  signal: AbortSignal,
): Promise<void> {
  const { vendor, clock } = scene.world;
  return scene.narrator.step("platform", "recording the result", async () => {
    await until(
      clock,
      { what: "end of the plan on the platform", timeoutMs: 60_000 },
      async () => {
        const { execution } = await vendor.engineer.accessRequests.get({ params: { id: request.id } }, signal);
        if (execution.state === "failed" || execution.state === "stopped") {
          throw new StepFailed(`The platform says ${execution.state}: ${JSON.stringify(execution.commands)}`);
        }
        return execution.state === "succeeded" ? true : undefined;
      },
      signal,
    );
    const { state, result, completedAt } = await vendor.engineer.commands.get(
      { params: { id: spec.commandId }, query: { include: ["payload"] } },
      signal,
    );
    const { from, to } = result as { readonly from?: number; readonly to?: number };
    verify("the command's end", [state, from, to], ["SUCCEEDED", WORKLOAD.replicas, WORKLOAD.scaledTo]);
    return { text: `has the result: succeeded at ${time(completedAt)}, ${from} → ${to} replicas`, value: undefined };
  });
}

/** After a denial: the platform shows it, and made no command of the plan. */
export function platformShowsDenial(scene: Scene, request: AccessRequest, signal: AbortSignal): Promise<void> {
  const { vendor, clock } = scene.world;
  return scene.narrator.step("platform", "recording the denial", async () => {
    const { decision, execution } = await until(
      clock,
      { what: "denial on the platform", timeoutMs: 60_000 },
      async () => {
        const found = await vendor.engineer.accessRequests.get({ params: { id: request.id } }, signal);
        return found.status === "rejected" ? found : undefined;
      },
      signal,
    );
    const commands = execution.commands.map(({ commandId }) => commandId);
    verify("the record of the denial", [decision?.outcome, commands], ["denied", [null]]);
    return { text: `has the decision: denied by ${decision?.by}; no command was made, nothing ran`, value: undefined };
  });
}

/** No account and no binding of the grant is left. */
export function operatorClosesDoor(scene: Scene, grant: AccessGrant, signal: AbortSignal): Promise<void> {
  const { kube, clock } = scene.world;
  return scene.narrator.step("operator", "closing the window", async () => {
    await until(
      clock,
      { what: "end of the grant" },
      async () => {
        const found = await kube.get<AccessGrant>(
          accessGrants,
          { name: grant.metadata.name, namespace: GRANTS },
          signal,
        );
        return found?.status?.state === "Completed" ? true : undefined;
      },
      signal,
    );
    const labelSelector = `${GRANT_UID_LABEL}=${grant.metadata.uid}`;
    await until(
      clock,
      { what: "teardown of the grant's account and bindings" },
      async () => {
        const account = await kube.get(
          resources.serviceAccounts,
          { name: grantAccount(grant.metadata.uid), namespace: GRANTS },
          signal,
        );
        if (account !== undefined) return undefined;
        for await (const _ of kube.list(resources.roleBindings, { labelSelector }, signal)) return undefined;
        return true;
      },
      signal,
    );
    return { text: "closes it: the plan is used up, the grant's account and its bindings are gone", value: undefined };
  });
}
