import type { machineRuntimeRoutes, NewJoinToken, ReportedJoinServer } from "../../../contract/machines/machines.ts";
import { TYPED_URL } from "../../../contract/wire/pasted-line.ts";
import type { BodyOf } from "../../../contract/wire/route.ts";
import { json } from "../../database/json.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { ClusterRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { requireManagerOf } from "../managers/record/store.ts";
import { requireFleet } from "./fleet.ts";
import { isStale } from "./state.ts";
import { clusterOf } from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now">;
type Report = BodyOf<(typeof machineRuntimeRoutes)["joinServer"]>;

/** Stores what a manager says of its join server; the newest word counts (§18.4). */
export async function takeJoinServer(call: Context, id: string, report: Report): Promise<{ reportedAt: string }> {
  const { db, now } = call;
  const deployment = await requireFleet(call, id);
  await clusterOf(db, deployment.id);
  await db
    .updateTable("machine_clusters")
    .set({ join_server: json(report), join_server_at: now, join_server_manager: deployment.manager_id })
    .where("deployment_id", "=", deployment.id)
    .execute();
  return { reportedAt: now.toISOString() };
}

/** The join server as the deployment's manager has reported it; a manager that it had before has no say any more. */
function joinServerOf(deployment: Pick<DeploymentRow, "manager_id">, cluster: ClusterRow) {
  const { join_server: server, join_server_at: at, join_server_manager: by } = cluster;
  return server === null || at === null || by !== deployment.manager_id ? undefined : { ...server, at };
}

export function toJoinServer(
  deployment: Pick<DeploymentRow, "manager_id">,
  cluster: ClusterRow,
  now: Date,
): ReportedJoinServer | null {
  const server = joinServerOf(deployment, cluster);
  if (server === undefined) return null;
  const { url, pins, apiServerVersion = null, at } = server;
  return { url, pins, apiServerVersion, reportedAt: at.toISOString(), stale: isStale({ lastHeartbeat: at }, now) };
}

type Door = Pick<NewJoinToken, "controlPlaneUrl" | "controlPlanePin">;

/**
 * Where a deployment's machines knock, and by which key they know the server.
 * @throws MANAGER_NOT_READY when a token could not be used: its join server is not heard of
 */
export async function doorOf(call: Context, deployment: DeploymentRow, cluster: ClusterRow): Promise<Door> {
  const { url: managerUrl } = await requireManagerOf(call.db, deployment.id);
  const server = toJoinServer(deployment, cluster, call.now);
  if (server === null) {
    if (deployment.platform === "kubernetes") {
      throw notReady("no join server of the cluster has said where machines can knock");
    }
    return { controlPlaneUrl: typed(managerUrl), controlPlanePin: null };
  }
  if (server.stale) throw notReady(`the cluster's join server has said nothing since ${server.reportedAt}`);
  return { controlPlaneUrl: server.url, controlPlanePin: server.pins[0] ?? null };
}

function notReady(message: string): PlatformError {
  const hint =
    "the customer turns join.enabled on and looks at the pods of sallyport-join; a running one tells each minute";
  return new PlatformError("MANAGER_NOT_READY", { message, hint, retryAfterSeconds: 60 });
}

const typedUrl = new RegExp(TYPED_URL, "u");

/**
 * The address is typed on machines. One that was stored before the platform checked reports is not shown until the next
 * heartbeat.
 */
function typed(url: string | null): string {
  if (url === null || !typedUrl.test(url)) throw new PlatformError("MANAGER_NOT_READY");
  return url;
}
