import Type, { type Static } from "typebox";
import { routes } from "../wire/route.ts";
import { ProjectId, Strict, Timestamp, Words } from "../wire/schema.ts";

const GATEWAYS = ["ai", "encryption"] as const;
export type Gateway = (typeof GATEWAYS)[number];

const GATEWAY_STATES = ["not-set-up", "setup-in-progress", "active", "needs-attention"] as const;
export type GatewayState = (typeof GATEWAY_STATES)[number];

const count = Type.Integer({ minimum: 0 });

export const GatewayProject = Strict({
  id: ProjectId,
  name: Type.String(),
  state: Words(GATEWAY_STATES),
  connectedCustomers: count,
  settingUpCustomers: count,
  needsAttentionCustomers: count,
  revokedCustomers: count,
});
export type GatewayProject = Static<typeof GatewayProject>;

export const gatewayRoutes = routes({
  overview: {
    method: "GET",
    path: "/v1/gateways/{gateway}/overview",
    summary: "Shows how far each project's customers are with a gateway.",
    roles: ["workspace.viewer", "workspace.member", "workspace.admin", "project.encryption", "project.ai-gateway"],
    params: Type.Object({ gateway: Words(GATEWAYS) }),
    success: 200,
    response: Strict({
      generatedAt: Timestamp,
      summary: Strict({
        totalProjects: count,
        gatewayProjects: count,
        activeProjects: count,
        setupInProgressProjects: count,
        needsAttentionProjects: count,
        connectedCustomers: count,
      }),
      projects: Type.Array(GatewayProject),
    }),
    errors: [],
    repeat: "safe",
  },
});
