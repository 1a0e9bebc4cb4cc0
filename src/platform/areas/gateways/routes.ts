import type { Static } from "typebox";
import type { ItemStatus } from "../../../contract/deployment-portal/deployment-info.ts";
import type { Gateway, GatewayProject, GatewayState, gatewayRoutes } from "../../../contract/gateways/gateways.ts";
import type { Role } from "../../../contract/wire/roles.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { connectivityOf } from "../deployments/read/record.ts";
import { itemStatus } from "./item-status.ts";
import { type GatewayRow, gatewayRows } from "./store.ts";

type Routes = typeof gatewayRoutes;

/** The project's capability for each gateway, and the project role that sees only that gateway. */
const GATEWAY: Readonly<Record<Gateway, { capability: string; role: Role; foreign: Role }>> = {
  ai: { capability: "models", role: "project.ai-gateway", foreign: "project.encryption" },
  encryption: { capability: "keys", role: "project.encryption", foreign: "project.ai-gateway" },
};

export const handlers: Handlers<Routes> = { overview };

async function overview(call: Call<Routes["overview"]>): Promise<Static<Routes["overview"]["response"]>> {
  const { gateway } = call.params;
  const { capability, role, foreign } = GATEWAY[gateway];
  if (call.principal.role === foreign) throw new PlatformError("FORBIDDEN", { context: { requiredRoles: [role] } });
  const rows = await gatewayRows(call.db, call.principal, gateway, call.now);
  const byProject = Map.groupBy(rows, ({ project_id }) => project_id);
  const projects = [...byProject.values()].map((groups) => projectOf(groups, capability, call.now));
  const having = (state: GatewayState) => projects.filter((project) => project.state === state).length;
  return {
    generatedAt: call.now.toISOString(),
    summary: {
      totalProjects: projects.length,
      gatewayProjects: projects.length - having("not-set-up"),
      activeProjects: having("active"),
      setupInProgressProjects: having("setup-in-progress"),
      needsAttentionProjects: having("needs-attention"),
      connectedCustomers: projects.reduce((sum, { connectedCustomers }) => sum + connectedCustomers, 0),
    },
    projects,
  };
}

const SETTING_UP: readonly ItemStatus[] = ["waiting", "applying", "verifying"];

/** Builds a project from the rows of its groups. There is at least one row, even without groups. */
function projectOf(groups: readonly GatewayRow[], capability: string, now: Date): GatewayProject {
  const [first] = groups;
  if (first === undefined) throw new Error("a project has at least one row");
  const statuses = groups.map((row) => statusOf(row, now));
  const count = (...among: readonly ItemStatus[]) => statuses.filter((each) => among.includes(each)).length;
  const counts = {
    connectedCustomers: count("connected"),
    settingUpCustomers: count(...SETTING_UP),
    needsAttentionCustomers: count("needs-attention"),
    revokedCustomers: count("revoked"),
  };
  const enabled = first.enabled_capabilities.includes(capability);
  return { id: first.project_id, name: first.project_name, state: stateOf(counts, enabled), ...counts };
}

function statusOf({ status, last_heartbeat_at, unhealthy, provides }: GatewayRow, now: Date): ItemStatus {
  if (status === null) return itemStatus(undefined);
  return itemStatus({ status, unhealthy, provides, connectivity: connectivityOf(last_heartbeat_at, now) });
}

type Counts = Omit<GatewayProject, "id" | "name" | "state">;

/** §12.1: the first match applies. */
function stateOf(counts: Counts, enabled: boolean): GatewayState {
  if (counts.needsAttentionCustomers > 0) return "needs-attention";
  if (counts.connectedCustomers > 0) return "active";
  return counts.settingUpCustomers > 0 || enabled ? "setup-in-progress" : "not-set-up";
}
