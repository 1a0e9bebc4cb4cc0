import { silentLogger } from "../../base/log.ts";
import type { PendingRequest } from "../../contract/access-requests/access-relay.ts";
import type { DeploymentConfig } from "../../contract/deployments/sync.ts";
import type { Command } from "../../contract/operations/commands.ts";
import type { AccessGrant, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import type { OperationInvocation, OperationInvocationStatus } from "../../crds/kinds/operation-invocation.ts";
import { planHash } from "../../crds/plan.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { decideRequest, type NewGrant } from "../access-requests/access-request.ts";
import { readListedRequest } from "../access-requests/pending-request.ts";
import type { NewInvocation } from "../commands/command.ts";

export const NAMESPACE = "sallyport-grants";
export const DEPLOYMENT = `dep_${"d".repeat(28)}`;
export const REQUEST = `ar_${"r".repeat(28)}`;
export const COMMAND = `cmd_${"C".repeat(28)}`;
export const NOW = new Date("2026-01-01T12:00:00.000Z");
export const forever: AbortSignal = new AbortController().signal;
export const context: ReconcileContext = { signal: forever, log: silentLogger, reconcileId: "test" };

/** A request of the platform with a true plan hash, unless `changes` has one of its own. */
export function pendingRequest(changes: Partial<PendingRequest> = {}): PendingRequest {
  const request: PendingRequest = {
    id: REQUEST,
    title: "Scale the shop",
    reason: null,
    commands: [
      { command: "kubernetes/scale", summary: "to five", params: { namespace: "shop", name: "web", replicas: 5 } },
    ],
    risk: "mutating",
    planHash: "",
    maxMinutes: 60,
    decideBefore: "2026-01-02T12:00:00.000Z",
    debug: false,
    requestedBy: "Ada",
    createdAt: "2026-01-01T11:00:00.000Z",
    ...changes,
  };
  if (changes.planHash !== undefined) return request;
  const { id: requestId, risk, commands } = request;
  return { ...request, planHash: planHash({ requestId, deploymentId: DEPLOYMENT, risk, commands }) };
}

/** The object that a request becomes, as the API server stores it. */
export function stored(
  grant: NewGrant | AccessGrant,
  status?: AccessGrantStatus,
  spec: Partial<AccessGrant["spec"]> = {},
): AccessGrant {
  const metadata = {
    name: grant.metadata.name,
    namespace: NAMESPACE,
    uid: `uid-${grant.metadata.name}`,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T11:00:00Z",
  };
  return { ...grant, metadata, spec: { ...grant.spec, ...spec }, ...(status === undefined ? {} : { status }) };
}

export function newGrant(request: PendingRequest = pendingRequest()): NewGrant {
  const facts = {
    listed: readListedRequest(request, DEPLOYMENT),
    accepted: true,
    grant: undefined,
    deleted: undefined,
    answered: new Set<string>(),
  };
  const [action] = decideRequest(facts, NAMESPACE, NOW);
  if (action?.do !== "createGrant") throw new Error("the sample must be fit");
  return action.grant;
}

export function commandRecord(changes: Partial<Command> = {}): Command {
  return {
    id: COMMAND,
    deploymentId: DEPLOYMENT,
    projectId: `prj_${"p".repeat(28)}`,
    workspaceId: `ws_${"w".repeat(24)}`,
    name: "kubernetes/get-pods",
    state: "PENDING",
    deploymentModel: "pull",
    target: { resourceId: "operator", resourceType: "daemon" },
    attempt: null,
    deadline: "2026-01-01T13:00:00.000Z",
    requestSizeBytes: null,
    responseSizeBytes: null,
    createdAt: "2026-01-01T11:59:00.000Z",
    dispatchedAt: null,
    completedAt: null,
    error: null,
    accessRequestId: null,
    planIndex: null,
    invokedBy: null,
    acceptedStale: null,
    params: { namespace: "shop" },
    ...changes,
  };
}

export function storedInvocation(invocation: NewInvocation, status?: OperationInvocationStatus): OperationInvocation {
  const metadata = {
    ...invocation.metadata,
    uid: `uid-${invocation.metadata.name}`,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T12:00:00Z",
  };
  return { ...invocation, metadata, ...(status === undefined ? {} : { status }) };
}

export function kubeError(status: number, reason: string, message: string): KubeError {
  return new KubeError(message, { status, reason });
}

/** A deployment's configuration as a target has it: nothing but its variables is set. */
export function deploymentConfig(environmentVariables: DeploymentConfig["environmentVariables"]): DeploymentConfig {
  return {
    deploymentName: "one",
    environmentVariables,
    inputValues: {},
    stackSettings: {},
    externalBindings: {},
    managementConfig: null,
    managerUrl: null,
    deploymentToken: null,
    basePlatform: null,
    labelDomain: null,
    publicEndpoints: null,
    domainMetadata: null,
    monitoring: null,
    computeBackend: null,
    allowFrozenChanges: false,
    observeAllNamespaces: false,
    observeLabelSelector: null,
  };
}
