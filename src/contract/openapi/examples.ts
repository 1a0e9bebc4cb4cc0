/** One call that works, for the reference. Tests hold both parts against the route's schemas. */
export interface Example {
  readonly body?: unknown;
  readonly response?: unknown;
}

const ID = "0123456789abcdefghijklmnopqr";
const workspaceId = "ws_0123456789abcdefghijklmn";
const [projectId, groupId, deploymentId, commandId] = [`prj_${ID}`, `dg_${ID}`, `dep_${ID}`, `cmd_${ID}`];
const at = (time: string) => `2026-11-20T${time}.000Z`;

const command = {
  command: "kubernetes/scale",
  summary: "Scale the api from 3 to 5",
  params: { namespace: "shop", kind: "deployment", name: "api", replicas: 5 },
};
const asked = {
  deploymentId,
  remediationPlanId: "incident-7",
  title: "Scale the api to 5",
  reason: "Queue grows since 09:40.",
  commands: [command],
};
const rules = [{ pattern: "kubernetes/get-pods", decision: "auto" }];

/** A custom plugin's `metadata.json`, whole; docs/management-api.md shows the same. */
export const PLUGIN_METADATA = {
  name: "search",
  version: "1.2.0",
  binaries: { amd64: "bin/search-amd64" },
  operations: [
    {
      name: "reindex",
      description: "Build the search index of one shop anew.",
      paramsSchema: {
        type: "object",
        properties: { shop: { type: "string", pattern: "^[a-z]{1,32}$" }, batch: { type: "integer", maximum: 1000 } },
        required: ["shop"],
        additionalProperties: false,
      },
    },
    { name: "index-size", tier: "read-only", description: "Count what the search index holds." },
  ],
};

/** By `area.route`. Only where a reader would otherwise have to guess; the schemas say the rest. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  "accessRequests.create": {
    body: { ...asked, maxMinutes: 120 },
    response: {
      id: `ar_${ID}`,
      ...asked,
      status: "pending-approval",
      risk: "mutating",
      planHash: `sha256:${"0".repeat(64)}`,
      maxMinutes: 120,
      debug: false,
      decideBefore: at("09:50:00"),
      approvedUntil: null,
      decision: null,
      materialized: null,
      queuedBy: null,
      queuedAt: null,
      acceptedStale: null,
      createdBy: { kind: "serviceAccount", id: `apikey_${ID}`, email: null },
      createdAt: at("09:50:00"),
      updatedAt: at("09:50:00"),
      execution: {
        state: "idle",
        commands: [
          { index: 0, command: command.command, commandId: null, state: "WAITING", completedAt: null, error: null },
        ],
      },
    },
  },
  "accessRequests.coordinates": {
    response: {
      status: "queued",
      kubectlApprove: `kubectl patch accessgrants.sallyport.dev ar-${ID} -n sallyport-grants --type=merge -p '{"spec":{"approvedForMinutes":60}}'`,
    },
  },
  "accessRequests.reject": { body: { reason: "Solved another way." } },
  "apiKeys.create": {
    body: { description: "on-call laptop", scope: { type: "project", role: "project.developer", projectId } },
  },
  "deploymentGroups.create": {
    body: { name: "acme-prod", project: "shop" },
    response: {
      id: groupId,
      name: "acme-prod",
      externalId: null,
      projectId,
      workspaceId,
      maxDeployments: 100,
      createdAt: at("09:00:00"),
    },
  },
  "deployments.create": { body: { name: "acme-eu", deploymentGroupId: groupId, platform: "kubernetes" } },
  "invitations.create": {
    body: { email: "ada@example.com", role: "workspace.member" },
    response: {
      id: `winv_${ID}4567`,
      email: "ada@example.com",
      role: "workspace.member",
      status: "pending",
      deliveryStatus: "pending",
      expiresAt: "2026-11-27T09:00:00.000Z",
      lastSentAt: null,
      createdAt: at("09:00:00"),
      inviteUrl: `https://platform.example.com/invite/${"x".repeat(43)}`,
    },
  },
  "invitations.accept": {
    response: { outcome: "joined", workspaceId, workspaceName: "acme", role: "workspace.member" },
  },
  "members.add": { body: { email: "ada@example.com", role: "workspace.viewer" } },
  "operations.invoke": {
    body: { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: "shop" } },
    response: {
      plugin: "kubernetes",
      operation: "get-pods",
      tier: "read-only",
      decision: "auto",
      status: "dispatched",
      commandId,
    },
  },
  "operations.registerPlugin": {
    body: { name: "search", version: "1.2.0", tier: "mutating", metadata: PLUGIN_METADATA },
    response: { name: "search", version: "1.2.0", tier: "mutating", enabled: true },
  },
  "operations.putPolicy": { body: { rules }, response: { rules, default: "manual" } },
  "projects.create": { body: { name: "shop", enabledCapabilities: ["deployments"] } },
  "releases.create": {
    body: {
      project: "shop",
      version: "1.4.0",
      stack: {
        kubernetes: {
          id: "shop",
          resources: {
            web: {
              config: {
                id: "web",
                type: "container",
                image: "registry.example.com/shop/web:1.4.0",
                ports: [{ port: 8080 }],
                replicas: 2,
                probes: { readiness: { path: "/ready", port: 8080 } },
              },
              dependencies: [],
              lifecycle: "live",
            },
          },
        },
      },
    },
  },
  "user.setupProfile": {
    body: { name: "Ada", company: "Acme", acquisitionSource: "other", acquisitionSourceDetail: "a book" },
  },
  "workspaces.create": {
    body: { name: "acme" },
    response: { id: workspaceId, name: "acme", logoUrl: null, createdAt: at("09:00:00"), role: "workspace.admin" },
  },
  "workspaces.patchSettings": { body: { debugPermissionMode: "ask" } },
  "whoami.get": {
    response: {
      kind: "serviceAccount",
      id: `apikey_${ID}`,
      workspaceId,
      workspaceName: "acme",
      role: "project.developer",
      scope: { type: "project", projectId },
    },
  },
};
