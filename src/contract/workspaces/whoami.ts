import Type, { type Static } from "typebox";
import { ROLES } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import { DeploymentGroupId, DeploymentId, ManagerId, ProjectId, Strict, Words } from "../wire/schema.ts";

const identity = { id: Type.String(), workspaceId: Type.String(), workspaceName: Type.String(), role: Words(ROLES) };

/** Who the credential is (§14.1). */
export const Whoami = Type.Union([
  Strict({ kind: Type.Literal("user"), email: Type.String(), ...identity }),
  Strict({
    kind: Type.Literal("serviceAccount"),
    ...identity,
    scope: Type.Union([
      Strict({ type: Type.Literal("workspace") }),
      Strict({ type: Type.Literal("project"), projectId: ProjectId }),
      Strict({ type: Type.Literal("deployment"), deploymentId: DeploymentId, projectId: ProjectId }),
      Strict({ type: Type.Literal("deployment-group"), deploymentGroupId: DeploymentGroupId, projectId: ProjectId }),
      Strict({ type: Type.Literal("manager"), managerId: ManagerId }),
    ]),
  }),
]);
export type Whoami = Static<typeof Whoami>;

export const whoamiRoutes = routes({
  get: {
    method: "GET",
    path: "/v1/whoami",
    summary: "Tell who this credential is and what it may reach.",
    roles: "any",
    success: 200,
    response: Whoami,
    errors: [],
    repeat: "safe",
  },
});
