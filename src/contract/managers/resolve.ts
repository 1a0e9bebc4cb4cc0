import Type, { type Static } from "typebox";
import { routes } from "../wire/route.ts";
import { ManagerId, Nullable, PLATFORMS, ProjectId, ProjectRef, Strict, Words } from "../wire/schema.ts";
import { CLOUDS, ManagementConfig } from "./managers.ts";

/** Where deployments of a project on a platform are run from. */
export const Resolved = Strict({
  managerId: ManagerId,
  managerName: Type.String(),
  managerUrl: Type.String(),
  managerIsSystem: Type.Boolean(),
  managerCloud: Nullable(Words(CLOUDS)),
  projectId: ProjectId,
  installContext: Type.Optional(Strict({ platform: Words(PLATFORMS), managementConfig: ManagementConfig })),
});
export type Resolved = Static<typeof Resolved>;

export const resolveRoutes = routes({
  get: {
    method: "GET",
    path: "/v1/resolve",
    summary: "Find the manager that a deployment group of a project gets on a platform.",
    roles: "any",
    query: Type.Object({
      platform: Words(PLATFORMS),
      project: Type.Optional(ProjectRef),
      deploymentGroup: Type.Optional(
        Type.String({ minLength: 1, maxLength: 100, description: "Id or name. Without one: what every group gets." }),
      ),
    }),
    success: 200,
    response: Resolved,
    errors: ["PROJECT_REQUIRED", "NOT_FOUND", "MANAGER_NOT_AVAILABLE", "MANAGER_NOT_READY"],
    repeat: "safe",
  },
});
