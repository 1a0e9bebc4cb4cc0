import Type, { type Static } from "typebox";
import { InputValues } from "../deployments/deployment.ts";
import { READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  DeploymentGroupId,
  HumanText,
  Maybe,
  Nullable,
  Page,
  ProjectId,
  ProjectRef,
  pageQuery,
  Strict,
  Timestamp,
  WordList,
  WorkspaceId,
} from "../wire/schema.ts";
import { NewSetupConfig, WantedSetupItem } from "./setup-config.ts";

const DEPLOYMENT_GROUP_NAME = "^(?!dg[-_])[a-z0-9](-?[a-z0-9])*$";
export const DEFAULT_MAX_DEPLOYMENTS = 100;

const name = Type.String({ minLength: 2, maxLength: 100, pattern: DEPLOYMENT_GROUP_NAME });
const externalId = Type.String({ minLength: 1, maxLength: 128, pattern: "^[A-Za-z0-9][A-Za-z0-9._~-]*$" });
const maxDeployments = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });

export const DeploymentGroup = Strict({
  id: DeploymentGroupId,
  name: Type.String(),
  externalId: Nullable(Type.String()),
  projectId: ProjectId,
  workspaceId: WorkspaceId,
  maxDeployments: Type.Integer(),
  createdAt: Timestamp,
  project: Type.Optional(Strict({ id: ProjectId, name: Type.String() })),
  deploymentCount: Type.Optional(
    Type.Integer({ minimum: 0, description: "Single reads only; `deleted` ones not counted." }),
  ),
});
export type DeploymentGroup = Static<typeof DeploymentGroup>;

const READ = [...READERS, "deployment-group.deployer"] as const;
const Ref = Strict({ id: DeploymentGroupId });
const include = Type.Optional(WordList(["project"]));

export const deploymentGroupRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/deployment-groups",
    summary: "Lists deployment groups, newest first.",
    roles: READ,
    query: Type.Object({
      project: Type.Optional(ProjectRef),
      search: Type.Optional(Type.String({ maxLength: 256, description: "Part of the name, in any case." })),
      include,
      ...pageQuery,
    }),
    success: 200,
    response: Page(DeploymentGroup),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  create: {
    method: "POST",
    path: "/v1/deployment-groups",
    summary: "Creates a deployment group.",
    roles: WRITERS,
    body: Strict({
      name,
      project: ProjectRef,
      externalId: Type.Optional(externalId),
      maxDeployments: Type.Optional(maxDeployments),
    }),
    success: 200,
    response: DeploymentGroup,
    errors: ["NOT_FOUND", "NAME_TAKEN", "EXTERNAL_ID_TAKEN"],
    repeat: "key",
  },
  putByName: {
    method: "PUT",
    path: "/v1/deployment-groups/by-name",
    summary: "Finds the group of that name, or creates it.",
    roles: WRITERS,
    body: Strict({ name, project: ProjectRef, maxDeployments: Type.Optional(maxDeployments) }),
    success: 200,
    response: DeploymentGroup,
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  getByExternalId: {
    method: "GET",
    path: "/v1/deployment-groups/by-external-id",
    summary: "Finds the group of that external id.",
    roles: READ,
    query: Type.Object({ project: Type.Optional(ProjectRef), externalId }),
    success: 200,
    response: DeploymentGroup,
    errors: ["PROJECT_REQUIRED", "NOT_FOUND"],
    repeat: "safe",
  },
  putByExternalId: {
    method: "PUT",
    path: "/v1/deployment-groups/by-external-id",
    summary: "Finds the group of that external id, or creates it.",
    roles: WRITERS,
    body: Strict({ externalId, name, project: ProjectRef, maxDeployments: Type.Optional(maxDeployments) }),
    success: 200,
    response: DeploymentGroup,
    errors: ["NOT_FOUND", "NAME_TAKEN"],
    repeat: "natural",
  },
  get: {
    method: "GET",
    path: "/v1/deployment-groups/{id}",
    summary: "Reads one deployment group.",
    roles: READ,
    params: Ref,
    query: Type.Object({ include }),
    success: 200,
    response: DeploymentGroup,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  patch: {
    method: "PATCH",
    path: "/v1/deployment-groups/{id}",
    summary: "Renames a group or changes its limit.",
    roles: WRITERS,
    params: Ref,
    body: Strict({ name: Type.Optional(name), maxDeployments: Type.Optional(maxDeployments) }),
    success: 200,
    response: DeploymentGroup,
    errors: ["NOT_FOUND", "NAME_TAKEN"],
    repeat: "state",
  },
  delete: {
    method: "DELETE",
    path: "/v1/deployment-groups/{id}",
    summary: "Deletes a group without deployments and revokes its tokens.",
    roles: ["workspace.member", "workspace.admin"],
    params: Ref,
    success: 204,
    errors: ["NOT_FOUND", "DEPLOYMENT_GROUP_NOT_EMPTY"],
    repeat: "natural",
  },
  putExternalId: {
    method: "PUT",
    path: "/v1/deployment-groups/{id}/external-id",
    summary: "Sets or clears a group's external id.",
    roles: WRITERS,
    params: Ref,
    body: Strict({ externalId: Nullable(externalId) }),
    success: 200,
    response: DeploymentGroup,
    errors: ["NOT_FOUND", "EXTERNAL_ID_TAKEN"],
    repeat: "natural",
  },
  createToken: {
    method: "POST",
    path: "/v1/deployment-groups/{id}/tokens",
    summary: "Mints a token by which a customer sets up deployments of the group in the portal.",
    roles: WRITERS,
    params: Ref,
    body: Strict({
      deploymentSetupConfig: NewSetupConfig,
      description: Type.Optional(HumanText(1, 128)),
      expiresAt: Maybe(Timestamp),
      setupItems: Type.Optional(Type.Array(WantedSetupItem, { maxItems: 8 })),
      inputValues: Type.Optional(InputValues),
    }),
    success: 200,
    response: Strict({ token: Type.String(), deploymentLink: Type.String({ format: "uri" }) }),
    errors: ["NOT_FOUND", "SETUP_CONFIG_INVALID", "INPUT_VALUES_INVALID", "PRIVILEGE_ESCALATION", "BUDGET_EXCEEDED"],
    repeat: "none",
    secret: true,
  },
  firstPartySession: {
    method: "POST",
    path: "/v1/deployment-groups/{id}/first-party-session",
    summary: "Mints a token of one hour for the caller's own use of the portal; earlier ones of the caller end.",
    roles: WRITERS,
    params: Ref,
    success: 200,
    response: Strict({ token: Type.String(), expiresAt: Timestamp }),
    errors: ["NOT_FOUND", "BUDGET_EXCEEDED"],
    repeat: "none",
    secret: true,
  },
});
