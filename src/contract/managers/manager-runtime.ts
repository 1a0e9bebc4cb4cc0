import Type from "typebox";
import { MintedKey } from "../api-keys/api-keys.ts";
import { TYPED_URL } from "../wire/pasted-line.ts";
import { MANAGER, READERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  DeploymentId,
  HumanLine,
  ManagerId,
  Nullable,
  PLATFORMS,
  ProjectRef,
  Strict,
  Timestamp,
  Words,
} from "../wire/schema.ts";
import { ManagementConfig, ManagementConfigs, ManagerMetrics, REPORTED_STATUSES, TOPICS } from "./managers.ts";

const params = Type.Object({ id: ManagerId });
/**
 * Becomes part of the command that people paste on a joining machine, so it holds only characters that a shell ignores.
 */
const ManagerUrl = Type.String({ format: "uri", maxLength: 2048, pattern: TYPED_URL });

export const managerRuntimeRoutes = routes({
  heartbeat: {
    method: "POST",
    path: "/v1/managers/{id}/heartbeat",
    summary: "A manager reports that it lives, where it is reached, and as whom it acts.",
    roles: MANAGER,
    params,
    body: Strict({
      status: Words(REPORTED_STATUSES),
      url: ManagerUrl,
      managementConfigs: ManagementConfigs,
      version: Type.Optional(HumanLine(1, 128)),
      metrics: Type.Optional(ManagerMetrics),
    }),
    success: 200,
    response: Strict({ acknowledged: Type.Literal(true), timestamp: Timestamp }),
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  managementConfig: {
    method: "GET",
    path: "/v1/managers/{id}/management-config",
    summary: "Read as whom a manager acts on one platform.",
    roles: [...READERS, "deployment-group.deployer", ...MANAGER],
    params,
    query: Type.Object({ platform: Words(PLATFORMS) }),
    success: 200,
    response: ManagementConfig,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  token: {
    method: "POST",
    path: "/v1/managers/{id}/token",
    summary: "Get a short-lived token for a manager's own API.",
    roles: [...READERS, ...MANAGER],
    params,
    body: Strict({ project: ProjectRef }),
    success: 200,
    response: Strict({
      accessToken: Type.String(),
      expiresIn: Type.Integer(),
      tokenType: Type.Literal("Bearer"),
      managerUrl: Type.String(),
      databaseId: Nullable(Type.String()),
      controlPlaneUrl: Nullable(Type.String()),
    }),
    errors: ["NOT_FOUND", "MANAGER_NOT_READY"],
    repeat: "none",
    secret: true,
  },
  work: {
    method: "GET",
    path: "/v1/managers/{id}/work",
    summary: "Learn, or wait to learn, where this manager has work. Hints only: losing one costs latency.",
    roles: MANAGER,
    params,
    query: Type.Object({
      cursor: Type.Optional(
        Type.String({ maxLength: 4096, description: "Of the answer before; an unknown one is none." }),
      ),
      wait: Type.Optional(Type.Integer({ minimum: 0, maximum: 30, default: 0, description: "Seconds." })),
    }),
    success: 200,
    response: Strict({
      cursor: Type.String(),
      topics: Type.Array(Strict({ topic: Words(TOPICS), deploymentId: DeploymentId })),
    }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
    longPoll: true,
  },
  bootstrap: {
    method: "POST",
    path: "/v1/managers/{id}/bootstrap",
    summary: "A fresh manager trades its setup token for its runtime key.",
    roles: "setup-token",
    params,
    success: 201,
    response: Strict({ ...MintedKey.properties, managerId: ManagerId, deploymentId: DeploymentId }),
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "none",
    secret: true,
  },
});
