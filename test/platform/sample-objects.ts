import { type Client, createClient } from "../../src/api-client/client.ts";

/**
 * One object of most kinds, made through the API alone, so that a caller of a real platform gets answers other than
 * 404.
 */
export interface SampleObjects {
  readonly workspaceId: string;
  readonly workspace: string;
  readonly project: string;
  readonly projectName: string;
  readonly group: string;
  readonly manager: string;
  readonly deployment: string;
  readonly machines: string;
  readonly release: string;
  readonly apiKey: string;
  readonly accessRequest: string;
  readonly command: string;
  readonly debugSession: string;
  readonly event: string;
  readonly joinToken: string;
  /** Credentials. */
  readonly runtimeKey: string;
  readonly developerKey: string;
}

const POD = { namespace: "shop", pod: "web-0" };

/** @param admin a client with a workspace.admin key */
export async function createSamples(admin: Client, baseUrl: string, signal: AbortSignal): Promise<SampleObjects> {
  const me = await admin.whoami.get({}, signal);
  const setup = await admin.managers.create(
    { body: { name: "manager", cloud: "aws", region: "eu-west-1", shared: true } },
    signal,
  );
  const manager = setup.managerId;
  const { apiKey: runtimeKey } = await admin.apiKeys.create(
    { body: { description: null, scope: { type: "manager", role: "manager.runtime", managerId: manager } } },
    signal,
  );
  const runtime = createClient({ baseUrl, credential: runtimeKey });
  try {
    await beat(runtime, manager, signal);
    const { id: project, name: projectName } = await admin.projects.create({ body: { name: "storefront" } }, signal);
    const group = (
      await admin.deploymentGroups.create({ body: { name: "customers", project, maxDeployments: 100_000 } }, signal)
    ).id;
    const deploy = async (name: string, platform: "kubernetes" | "machines"): Promise<string> => {
      const body = { name, platform, project, deploymentGroupId: group, managerId: manager };
      const { deployment } = await admin.deployments.create({ body }, signal);
      for (const status of ["initial-setup", "provisioning", "running"] as const) {
        const state = { status, platform, protocolVersion: 1 } as const;
        await runtime.sync.reconcile({ body: { deploymentId: deployment.id, state } }, signal);
      }
      return deployment.id;
    };
    const deployment = await deploy("customer-one", "kubernetes");
    const machines = await deploy("customer-two", "machines");
    const release = await admin.releases.create({ body: { project, version: "1.0.0" } }, signal);
    const scope = { type: "project", role: "project.developer", projectId: project } as const;
    const key = await admin.apiKeys.create({ body: { description: "developer", scope } }, signal);
    const commands = [{ command: "kubernetes/restart-pod", summary: "restart it", params: POD }];
    const request = await admin.accessRequests.create(
      { body: { deploymentId: deployment, remediationPlanId: "plan-1", title: "Restart", commands } },
      signal,
    );
    await admin.operations.putPolicy(
      { query: { project }, body: { rules: [{ pattern: "kubernetes/get-pods", decision: "auto" }] } },
      signal,
    );
    const read = {
      deploymentId: deployment,
      plugin: "kubernetes",
      operation: "get-pods",
      params: { namespace: "shop" },
    };
    const { commandId = "" } = await admin.operations.invoke({ query: { project }, body: read }, signal);
    const session = await runtime.debugSessions.create(
      { body: { deploymentId: deployment, expiresAt: new Date(Date.now() + 3_600_000).toISOString() } },
      signal,
    );
    const joining = await admin.machines.createToken({ params: { id: machines } }, signal);
    const [event] = (await admin.events.list({}, signal)).items;
    return {
      workspaceId: me.workspaceId,
      workspace: me.workspaceName,
      project,
      projectName,
      group,
      manager,
      deployment,
      machines,
      release: release.id,
      apiKey: key.keyInfo.id,
      accessRequest: request.id,
      command: commandId,
      debugSession: session.id,
      event: event?.id ?? "",
      joinToken: joining.token.id,
      runtimeKey,
      developerKey: key.apiKey,
    };
  } finally {
    await runtime.close();
  }
}

/** Sends a heartbeat, with which the platform counts the manager as healthy for three minutes. */
export async function beat(runtime: Client, manager: string, signal: AbortSignal, version = "1.0.0"): Promise<void> {
  const body = { status: "healthy", url: "https://manager.example.com", managementConfigs: {}, version } as const;
  await runtime.managerRuntime.heartbeat({ params: { id: manager }, body }, signal);
}
