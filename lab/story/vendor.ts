import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "../../src/api-client/client.ts";
import type { Clock } from "../../src/base/clock.ts";
import type { Logger } from "../../src/base/log.ts";
import { type StartOptions, startPlatform } from "../../src/platform/server.ts";

/** The vendor's side: the platform, on PGlite in a folder, with every object that the story needs. */
export interface Vendor {
  readonly url: string;
  readonly workspace: string;
  readonly project: string;
  readonly deploymentId: string;
  readonly managerId: string;
  /** The client of an engineer at the vendor: workspace.member. */
  readonly engineer: Client;
  readonly keyFiles: { readonly engineer: string; readonly admin: string; readonly runtime: string };
  stop(): Promise<void>;
}

const WORKSPACE = "acme";
const PROJECT = "storefront";

export interface VendorOptions {
  readonly port: number;
  readonly rateLimits: boolean;
  /** Where others reach the platform. @default where it listens */
  readonly baseUrl?: string;
  /** How it makes operators' images. @default not at all */
  readonly images?: StartOptions["images"];
}

export async function startVendor(
  folder: string,
  options: VendorOptions,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<Vendor> {
  const platform = await startPlatform({
    database: { pglite: join(folder, "platform") },
    host: "127.0.0.1",
    ...options,
    clock,
    log,
  });
  const clients: Client[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client.close()));
    await platform.close();
  };
  try {
    const { bootstrap, url } = platform;
    const { id: workspaceId } = await bootstrap.workspace(WORKSPACE);
    const scope = { type: "workspace" } as const;
    const keys = {
      admin: await bootstrap.key({ workspaceId, role: "workspace.admin", scope, description: "admin" }),
      engineer: await bootstrap.key({ workspaceId, role: "workspace.member", scope, description: "engineer" }),
    };
    const [admin, engineer] = [keys.admin, keys.engineer].map(({ key: credential }) => {
      const client = createClient({ baseUrl: url, credential, userAgent: "sallyport-dev" });
      clients.push(client);
      return client;
    }) as [Client, Client];
    const project = await admin.projects.create({ body: { name: PROJECT } }, signal);
    const group = await admin.deploymentGroups.create({ body: { name: "customer-one", project: project.id } }, signal);
    // The manager runs in the customer's cluster, for that customer's deployments only.
    const runtime = await bootstrap.manager({
      workspaceId,
      name: "customer-one",
      targets: ["kubernetes"],
      deploymentGroupId: group.id,
    });
    const keyFiles = await writeKeys(folder, {
      admin: keys.admin.key,
      engineer: keys.engineer.key,
      runtime: runtime.key,
    });
    const { deployment } = await admin.deployments.create(
      {
        body: {
          name: "customer-one",
          platform: "kubernetes",
          project: project.id,
          deploymentGroupId: group.id,
          managerId: runtime.id,
          operatorPermission: "manage",
        },
      },
      signal,
    );
    // The vendor's half of the policy: what the platform hands out without a request. The customer's half is in the
    // cluster.
    await admin.operations.putPolicy(
      { query: { project: project.id }, body: { rules: [{ pattern: "kubernetes/get-pods", decision: "auto" }] } },
      signal,
    );
    return {
      url,
      workspace: WORKSPACE,
      project: project.id,
      deploymentId: deployment.id,
      managerId: runtime.id,
      engineer,
      keyFiles,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Only this user may read them. The agent's key lies in its own folder, like a mounted Secret. */
async function writeKeys(
  folder: string,
  keys: { readonly admin: string; readonly engineer: string; readonly runtime: string },
): Promise<Vendor["keyFiles"]> {
  const files = {
    admin: join(folder, "admin.key"),
    engineer: join(folder, "engineer.key"),
    runtime: join(folder, "runtime-key", "key"),
  };
  await mkdir(join(folder, "runtime-key"), { recursive: true, mode: 0o700 });
  for (const name of ["admin", "engineer", "runtime"] as const)
    await writeFile(files[name], keys[name], { mode: 0o600 });
  return files;
}
