import Type, { type TSchema } from "typebox";
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
  map,
  number,
  oneOf,
  orNull,
  platform,
  text,
  uri,
} from "./forms.ts";

const workspaceRole = oneOf("workspace.viewer", "workspace.member", "workspace.admin");
const named = listed({ id: text, name: text });

export const workspaceInvitation = listed({
  ...{ id: ID.winv as TSchema, email: text, role: workspaceRole, inviteUrl: uri, lastSentAt: orNull(at) },
  status: oneOf("pending", "accepted", "revoked", "expired"),
  ...{ deliveryStatus: oneOf("pending", "sent", "failed"), expiresAt: at, createdAt: at },
});
export const inviteLink = orNull(
  listed({
    ...{ id: ID.wil as TSchema, role: workspaceRole, expiresAt: at, createdAt: at, useCount: int },
    ...{ lastUsedAt: orNull(at), inviteUrl: uri },
  }),
);
export const invitationPreview = listed({
  kind: oneOf("email", "link"),
  workspace: listed({ id: ID.ws as TSchema, name: text, logoUrl: orNull(uri) }),
  inviter: orNull(listed({ name: text, image: orNull(text) })),
  ...{ role: workspaceRole, expiresAt: at, emailHint: orNull(text) },
  state: oneOf("active", "accepted", "expired", "revoked"),
});
export const accepted = listed({
  ...{ outcome: oneOf("joined", "already-member"), workspaceId: ID.ws as TSchema, workspaceName: text },
  role: workspaceRole,
});

const setupItem = {
  item: oneOf("deployment", "models", "keys", "bucket", "registry", "sandbox"),
  ...{ source: listed({ type: text }), required: bool, configuration: listed({}) },
};
export const apiKey = listed({
  ...{ id: ID.apikey as TSchema, description: orNull(text), keyPrefix: text, type: text, role: text },
  ...{ workspaceId: ID.ws as TSchema, enabled: bool, createdAt: at },
  ...each("expiresAt lastUsedAt revokedAt", orNull(at)),
  ...each("projectId deploymentId deploymentGroupId managerId", orNull(text)),
});

export const plugin = listed({
  ...{ name: text, version: text, tier: text, builtin: bool, enabled: bool },
  operations: list(listed({ name: text, tier: text, description: orNull(text) })),
});
const decision = oneOf("auto", "manual");
export const policy = listed({ rules: list(listed({ pattern: text, decision })), default: decision });
export const invoked = listed(
  { plugin: text, operation: text, tier: text, decision, status: text },
  { commandId: text },
);
export const accessRequest = listed({
  ...{ id: text, deploymentId: ID.dep as TSchema, remediationPlanId: text, title: text, status: text },
  ...{ reason: orNull(text), approvedUntil: orNull(at) },
  commands: list(listed({ command: text, summary: text })),
});

export const group = listed({
  ...{ id: ID.dg as TSchema, name: text, externalId: orNull(text), projectId: ID.prj as TSchema },
  ...{ workspaceId: ID.ws as TSchema, maxDeployments: int, createdAt: at },
});

const gitMetadata = orNull(
  listed({
    ...each("commitSha commitMessage commitRef remoteUrl commitAuthorName commitAuthorEmail", orNull(text)),
    ...{
      commitAuthorLogin: orNull(text),
      commitAuthorAvatarUrl: orNull(uri),
      commitDate: orNull(at),
      dirty: orNull(bool),
    },
    provider: orNull(listed({ type: text, org: text, repo: text })),
  }),
);
export const release = listed(
  {
    ...{ id: ID.rel as TSchema, projectId: ID.prj as TSchema, version: text, gitMetadata, createdAt: at },
    stack: listed(each("aws gcp azure kubernetes machines local test", any)),
    setupFingerprints: map(listed({ target: text, fingerprint: text, version: int })),
    ...{ rootDirectory: orNull(text), createdByUserId: orNull(text), workspaceId: ID.ws as TSchema },
  },
  {
    currentChannels: list(text),
    commitUrl: orNull(uri),
    project: named,
    rollout: listed({ updatedCount: int, pendingCount: int, avgDurationMs: orNull(number) }),
  },
);
export const channel = listed({
  ...{ workspaceId: ID.ws as TSchema, projectId: ID.prj as TSchema, currentReleaseId: orNull(ID.rel as TSchema) },
  name: Type.String({ pattern: "^[a-z][a-z0-9-]*$", minLength: 1, maxLength: 63 }),
  ...{ deploymentCount: int, createdAt: at, updatedAt: at },
});
export const ROLLOUT_STATES = ["updated", "updating", "failed", "pending", "pinned-other", "superseded", "on-other"];
export const releaseDeployment = listed({
  ...{ id: ID.dep as TSchema, name: text, status: text, platform, environmentInfo: any },
  deploymentGroup: listed({ id: ID.dg as TSchema, name: text, externalId: orNull(text) }),
  ...each("currentReleaseId desiredReleaseId pinnedReleaseId", orNull(ID.rel as TSchema)),
  ...{ lastHeartbeatAt: orNull(at), rolloutState: oneOf(...ROLLOUT_STATES), releasedAt: orNull(at) },
  ...{ durationMs: orNull(number), error: orNull(error) },
});

export const debugSession = listed({
  ...{ id: ID.dbg as TSchema, owner: orNull(text), mode: oneOf("push", "pull"), provider: platform },
  state: oneOf("pending", "running", "stopping", "stopped", "expired", "failed"),
  presignedUrls: map(listed({ readUrl: uri, writeUrl: uri })),
  ...{ error: orNull(error), createdAt: at, expiresAt: at, deploymentId: ID.dep as TSchema },
  ...{ projectId: ID.prj as TSchema, workspaceId: ID.ws as TSchema },
});

const PACKAGE_TYPES = ["cli", "cloudformation", "helm", "operator-image", "sandbox-bundle", "terraform"];
const packageStatus = oneOf("pending", "building", "ready", "failed", "canceled");
export const packageRecord = listed({
  ...{
    id: ID.pkg as TSchema,
    projectId: ID.prj as TSchema,
    workspaceId: ID.ws as TSchema,
    version: text,
    retries: int,
  },
  ...{ type: oneOf(...PACKAGE_TYPES), status: packageStatus, sourceReleaseId: orNull(ID.rel as TSchema) },
  setupFingerprints: map(listed({ target: text, fingerprint: text, version: int })),
  ...{ packageBuildInputHash: text, config: listed({ type: text }), outputs: orNull(listed({ type: text })) },
  ...{ error: orNull(error), sourceBinarySha256: orNull(text), lockedBy: orNull(text), buildPhase: orNull(text) },
  ...each("lockedAt leaseExpiresAt lastProgressAt completedAt", orNull(at)),
  ...{ createdAt: at, updatedAt: at },
});

const built = { status: packageStatus, version: text };
const part = { outputs: listed({}), error };
export const deploymentInfo = listed(
  {
    tokenType: text,
    workspace: listed({ id: ID.ws as TSchema, name: text }, { avatarUrl: uri }),
    project: listed({
      name: text,
      portal: listed({
        appearance: listed({
          preset: oneOf("clean", "technical", "enterprise", "playful", "minimal"),
          accentColor: oneOf("blue", "purple", "green", "orange", "pink", "slate"),
          density: oneOf("comfortable", "compact"),
        }),
      }),
    }),
    packages: listed(
      { ready: bool },
      {
        cli: listed({ ...built, commandName: text }, part),
        cloudformation: listed({ ...built, mode: text, launchUrl: uri }, part),
        terraform: listed(
          { ...built, providerSource: text, moduleSources: map(text), moduleVersion: text, managerUrls: map(text) },
          part,
        ),
        helm: listed({ ...built, chartRef: text, managerFetchExample: text, localImportExample: text }, part),
      },
    ),
    installContext: listed({ targets: map(listed({ platform })) }),
    supportedRegions: listed(each("aws gcp azure", list(text))),
    modelAvailabilitySources: list(
      listed({ deploymentId: ID.dep as TSchema, resourceId: text, observedAt: at, status: text }),
    ),
    readiness: listed({
      status: text,
      checks: list(listed({ code: text, status: text, message: text, checkedAt: at })),
    }),
  },
  {
    deployment: listed({ name: text, platform }),
    deploymentGroup: listed({ id: ID.dg as TSchema, name: text }),
    setupItems: list(listed({ ...setupItem, status: text, deploymentIds: list(ID.dep as TSchema) })),
    setupConfig: listed({
      ...{ metadata: any, policy: listed({}), environmentVariables: list(listed({ name: text, type: text })) },
      ...{ items: list(listed(setupItem)), inputs: list(listed({ id: text, kind: text, label: text })) },
    }),
  },
);

export const manager = listed({
  ...{ id: ID.mgr as TSchema, name: text, targets: list(platform), url: orNull(uri), managementConfigs: listed({}) },
  ...each("cloud region setupStatus version logsDatabaseId", orNull(text)),
  ...{ isSystem: bool, workspaceId: ID.ws as TSchema, status: text, metrics: any, lastHeartbeatAt: orNull(at) },
  ...{ managedDeploymentCount: int, defaultProjectCount: int, createdAt: at },
});
export const setupResponse = listed({
  ...{ managerId: ID.mgr as TSchema, setupStatus: text, setupToken: text, setupTokenId: text, deploymentLink: uri },
  setupConfig: listed({
    metadata: any,
    policy: any,
    inputValues: any,
    items: list(any),
    environmentVariables: list(any),
  }),
  setup: listed({ method: text, deploymentPortalUrl: uri, stackSettings: listed({}) }),
});
