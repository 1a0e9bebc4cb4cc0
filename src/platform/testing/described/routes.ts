import type { TSchema } from "typebox";
import Type from "typebox";
import { EVENT_TYPES } from "./event-types.ts";
import {
  any,
  at,
  bool,
  each,
  error,
  ID,
  int,
  list,
  listed,
  number,
  oneOf,
  orNull,
  page,
  platform,
  text,
  uri,
} from "./forms.ts";
import * as records from "./records.ts";

const joinToken = listed({
  ...{ id: text, createdAt: at, createdBy: text, maxJoins: orNull(int), joinCount: int },
  ...each("expiresAt lastUsedAt revokedAt", orNull(at)),
});
const newJoinToken = listed({
  ...{ joinToken: text, controlPlaneUrl: uri, clusterId: text, token: joinToken },
  ...each("cliInstallScriptUrl cliCommandName", orNull(text)),
});
const capacity = listed(each("allocated systemReserve total", number));
const machine = listed({
  ...{ machineId: text, status: text, capacityGroup: text, zone: text, cpu: capacity, memory: capacity },
  ...{ storage: orNull(capacity), drainBlockers: list(listed({ reason: text })), drainForce: bool, lastHeartbeat: at },
  ...each("drainDeadlineAt drainRequestedAt drainedAt wireguardMeshObservedAt localOverridesObservedAt", orNull(at)),
  ...each("publicIp overlayIp runtimeDaemonVersion", orNull(text)),
  ...{ networkHealth: text, wireguardMesh: any, localOverrides: list(listed({})), replicaCount: int },
});

const count = orNull(int);
const condition = {
  ...each("backend health lifecycle", text),
  ...{ controllerPlatform: platform, message: orNull(text), partial: bool, providerStale: bool, platformStale: bool },
  ...each("desiredCount currentCount readyCount", count),
};
const summary = {
  ...{ resourceType: text, resourceId: text, name: text, ...condition },
  ...{ deploymentCount: int, attentionCount: int, lastObservedAt: at },
};
const inDeployment = {
  ...{ deploymentId: ID.dep as TSchema, deploymentName: text, deploymentGroupId: ID.dg as TSchema },
  ...{ deploymentGroupName: text, resourceType: text, resourceId: text, ...condition, observedAt: at },
};

const event = listed(
  {
    ...{ id: ID.event as TSchema, projectId: ID.prj as TSchema, createdAt: at, workspaceId: ID.ws as TSchema },
    deploymentId: orNull(ID.dep as TSchema),
    ...{ releaseId: orNull(ID.rel as TSchema), debugSessionId: orNull(ID.dbg as TSchema) },
    data: listed({ type: oneOf(...EVENT_TYPES) }),
    state: Type.Union([oneOf("none", "started", "success"), listed({ failed: listed({ error }) })]),
  },
  { releaseCreatedAt: orNull(at) },
);

const coordinates = { kubectlApprove: orNull(text) };
const approvable = Type.Intersect([records.accessRequest, listed(coordinates)]);
const gateway = listed({
  generatedAt: at,
  summary: listed(
    each(
      "totalProjects gatewayProjects activeProjects setupInProgressProjects needsAttentionProjects connectedCustomers",
      int,
    ),
  ),
  projects: list(
    listed({
      ...{ id: ID.prj as TSchema, name: text, state: text },
      ...each("connectedCustomers settingUpCustomers needsAttentionCustomers revokedCustomers", int),
    }),
  ),
});

/** Every answer with a body that the description shows. A `{name}` of a path is any one segment. */
export const DESCRIBED: Readonly<Record<string, TSchema>> = {
  "GET /v1/api-keys": page(records.apiKey),
  "POST /v1/api-keys": listed({ apiKey: text, keyInfo: records.apiKey }),
  "GET /v1/api-keys/{id}": records.apiKey,
  "PATCH /v1/api-keys/{id}": records.apiKey,
  "POST /v1/api-keys/batch-delete": listed({ deletedCount: int }),
  "GET /v1/operations/plugins": listed({ plugins: list(records.plugin) }),
  "POST /v1/operations/plugins": listed({ name: text, version: text, tier: text, enabled: bool }),
  "PUT /v1/operations/plugins/builtin/enabled": listed({ names: list(text) }),
  "POST /v1/operations/plugins/upload-url": listed({ uploadUrl: uri, contentType: text }),
  "PATCH /v1/operations/plugins/{name}/enabled": listed({ name: text, builtin: bool, enabled: bool }),
  "GET /v1/operations/policy": records.policy,
  "PUT /v1/operations/policy": records.policy,
  "POST /v1/operations/invoke": records.invoked,
  "POST /v1/access-requests": records.accessRequest,
  "POST /v1/access-requests/{id}/queue": approvable,
  "GET /v1/access-requests/{id}/coordinates": listed({ status: text, ...coordinates }),
  "GET /v1/invitations/{token}": records.invitationPreview,
  "POST /v1/user/invitations/{token}/accept": records.accepted,
  "GET /v1/workspaces/{id}/invitations": listed({ items: list(records.workspaceInvitation) }),
  "POST /v1/workspaces/{id}/invitations": records.workspaceInvitation,
  "POST /v1/workspaces/{id}/invitations/{invitationId}/resend": records.workspaceInvitation,
  "GET /v1/workspaces/{id}/invite-link": records.inviteLink,
  "PUT /v1/workspaces/{id}/invite-link": records.inviteLink,
  "GET /v1/deployment-groups": page(records.group),
  "POST /v1/deployment-groups": records.group,
  "PUT /v1/deployment-groups/by-name": records.group,
  "GET /v1/deployment-groups/by-external-id": records.group,
  "PUT /v1/deployment-groups/by-external-id": records.group,
  "GET /v1/deployment-groups/{id}": Type.Intersect([records.group, listed({ deploymentCount: int })]),
  "PATCH /v1/deployment-groups/{id}": records.group,
  "PUT /v1/deployment-groups/{id}/external-id": records.group,
  "POST /v1/deployment-groups/{id}/tokens": listed({ token: text, deploymentLink: uri }),
  "GET /v1/releases": page(records.release),
  "POST /v1/releases": records.release,
  "GET /v1/releases/branches": listed({ items: list(text) }),
  "GET /v1/releases/authors": listed({ items: list(listed(each("login name avatarUrl", orNull(text)))) }),
  "GET /v1/releases/{id}": Type.Intersect([
    records.release,
    listed({ currentChannels: list(text), commitUrl: orNull(uri) }),
  ]),
  "GET /v1/releases/{id}/deployments": listed({
    ...{ items: list(records.releaseDeployment), nextCursor: orNull(text) },
    stateCounts: listed(each(records.ROLLOUT_STATES.join(" "), int)),
  }),
  "GET /v1/release-channels": listed({ items: list(records.channel) }),
  "POST /v1/release-channels": records.channel,
  "POST /v1/release-channels/{name}/promote": records.channel,
  "GET /v1/debug-sessions": page(records.debugSession),
  "POST /v1/debug-sessions": records.debugSession,
  "GET /v1/debug-sessions/{id}": records.debugSession,
  "PATCH /v1/debug-sessions/{id}": records.debugSession,
  "GET /v1/packages": page(records.packageRecord),
  "GET /v1/packages/{id}": records.packageRecord,
  "POST /v1/packages/rebuild": listed({ packagesCreated: int }),
  "POST /v1/packages/{id}/cancel": records.packageRecord,
  "GET /v1/deployment-info": records.deploymentInfo,
  "POST /v1/deployment-info/compute-plan": listed({
    pools: list(
      listed({
        poolId: text,
        workloads: list(text),
        requirements: any,
        scale: any,
        machines: list(any),
        errors: list(text),
      }),
    ),
  }),
  "POST /v1/deployment-info/prepare-stack": listed({ platform, stack: listed({ id: text, inputs: list(any) }) }),
  "GET /v1/managers": list(records.manager),
  "POST /v1/managers": records.setupResponse,
  "POST /v1/managers/{id}/setup-token": records.setupResponse,
  "POST /v1/managers/{id}/retry": listed({ mode: text, managerId: ID.mgr as TSchema, setupStatus: text }),
  "POST /v1/managers/{id}/cancel-setup": listed({ message: text }),
  "GET /v1/managers/{id}": records.manager,
  "GET /v1/machines/deployments/{id}/join-tokens": listed({ tokens: list(joinToken) }),
  "POST /v1/machines/deployments/{id}/join-tokens": newJoinToken,
  "POST /v1/machines/deployments/{id}/join-tokens/rotate": newJoinToken,
  "DELETE /v1/machines/deployments/{id}/join-tokens/{tokenId}": listed({ tokenId: text, revoked: bool }),
  "GET /v1/machines/deployments/{id}/inventory": listed({ machines: list(machine) }),
  "POST /v1/machines/deployments/{id}/machines/{machineId}/drain": listed({ machineId: text, requested: bool }),
  "DELETE /v1/machines/deployments/{id}/machines/{machineId}/drain": listed({ machineId: text, cancelled: bool }),
  "DELETE /v1/machines/deployments/{id}/machines/{machineId}": listed({ machineId: text, removed: bool }),
  "GET /v1/resources": listed({
    resources: list(listed({ ...summary, source: text, deploymentId: ID.dep as TSchema, deploymentName: text })),
  }),
  "GET /v1/resources/{resourceType}": listed({ resources: list(listed(summary)) }),
  "GET /v1/resources/{resourceType}/{resourceId}/deployments": listed({
    ...{ resourceType: text, resourceId: text, deployments: list(listed(inDeployment)) },
  }),
  "GET /v1/resources/{resourceType}/deployments/{a}/{b}": listed({
    deployment: listed({ ...inDeployment, desiredImage: orNull(text) }),
    heartbeat: listed({ status: text, deploymentId: ID.dep as TSchema, resourceId: text, resourceType: text }),
  }),
  "GET /v1/gateways/{gateway}/overview": gateway,
  "GET /v1/resolve": listed(
    {
      ...{ managerId: ID.mgr as TSchema, managerName: text, managerUrl: uri, managerIsSystem: bool },
      ...{ managerCloud: orNull(text), projectId: ID.prj as TSchema },
    },
    { installContext: listed({ platform, managementConfig: any }) },
  ),
  "GET /v1/events": page(event),
  "GET /v1/events/{id}": event,
};
