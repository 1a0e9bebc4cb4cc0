import { SETUP_METHODS } from "../../../contract/deployments/deployment.ts";
import type { SETUP_ITEMS } from "../../../contract/deployments/deployment-requests.ts";
import { PRODUCTION } from "../../../contract/releases/release-channels.ts";
import { PLATFORMS } from "../../../contract/wire/schema.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { ProjectRow } from "../../database/tables/projects.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { type Principal, type Scope, scopeOfPrincipal } from "../../kernel/tenancy/principal.ts";
import { PURPOSE_OF } from "../deployments/create/create.ts";
import { type GroupSetup, setupOfToken } from "../deployments/create/group-setup.ts";
import { findDeployment } from "../deployments/read/store.ts";
import { findChannel, findRelease } from "../releases/record/store.ts";
import type { SetupMethod } from "./packages.ts";

type Platform = (typeof PLATFORMS)[number];
type Item = (typeof SETUP_ITEMS)[number];
export type PortalCall = Pick<Call, "db" | "principal" | "config" | "workspaceId" | "now">;

/** What a link's token is for. */
export interface Subject {
  readonly project: Pick<ProjectRow, "id" | "name" | "deployment_portal_appearance" | "packages_config">;
  readonly group: { readonly id: string; readonly name: string };
  /**
   * Undefined where there is no limit to check: the deployment exists already, or the group is a manager's hidden one.
   */
  readonly maxDeployments: number | undefined;
  readonly subdomain: string | null;
  readonly platforms: readonly Platform[];
  readonly methods: readonly SetupMethod[];
  readonly release: ReleaseRow | undefined;
  /** Set for a group token. */
  readonly setup: GroupSetup | undefined;
  /** Set for a deployment token. */
  readonly deployment: DeploymentRow | undefined;
}

/** @throws NOT_FOUND for an item that the token does not include. */
export async function subjectOf(call: PortalCall, item: Item | undefined): Promise<Subject> {
  const scope = scopeOfPrincipal(call.principal);
  if (scope.type === "deployment") return deploymentSubject(call, scope, item);
  if (scope.type !== "deployment-group") throw new Error(`a ${scope.type} key came to the portal`);
  const setup = await setupOfToken(call);
  const terms = {
    setup,
    deployment: undefined,
    subdomain: setup.publicSubdomain ?? null,
    platforms: setup.policy.allowedPlatforms ?? PLATFORMS,
    methods: setup.policy.allowedSetupMethods ?? SETUP_METHODS,
  };
  const hidden = await managerSubject(call);
  if (hidden !== undefined) {
    if (item !== undefined) throw notFound("setup item");
    // The platform's own files set up a manager, so no package is needed.
    return { ...terms, ...hidden, methods: [], maxDeployments: undefined, release: undefined };
  }
  const group = await groupOf(call, scope.deploymentGroupId);
  const release = await releaseOf(call, scope.projectId, setup, item);
  return { ...terms, ...group, release };
}

async function groupOf({ db, workspaceId }: PortalCall, groupId: string) {
  const row = await db
    .selectFrom("deployment_groups as g")
    .innerJoin("projects as p", "p.id", "g.project_id")
    .select(["g.name as group_name", "g.max_deployments", "p.id", "p.name"])
    .select(["p.deployment_portal_appearance", "p.packages_config"])
    .where("g.id", "=", groupId)
    .where("g.workspace_id", "=", workspaceId)
    .executeTakeFirst();
  if (row === undefined) throw notFound("deployment group");
  const { group_name: name, max_deployments: maxDeployments, ...project } = row;
  return { project, group: { id: groupId, name }, maxDeployments };
}

/** For a manager's setup token: shows the manager's name in place of its hidden group and project (§9). */
async function managerSubject({ db, principal }: PortalCall): Promise<Pick<Subject, "project" | "group"> | undefined> {
  const managerId = setupFor(principal);
  if (managerId === null) return undefined;
  const { name, internal_project_id, internal_group_id } = await db
    .selectFrom("managers")
    .select(["name", "internal_project_id", "internal_group_id"])
    .where("id", "=", managerId)
    .executeTakeFirstOrThrow();
  const project = { id: internal_project_id ?? "", name, deployment_portal_appearance: null, packages_config: null };
  return { project, group: { id: internal_group_id ?? "", name } };
}

function setupFor(principal: Principal): string | null {
  return principal.kind === "serviceAccount" ? principal.setupFor : null;
}

/**
 * The captured release of the named item, else the current release of production.
 * @throws NOT_FOUND for another item.
 */
export async function releaseOf(
  { db, workspaceId }: Pick<PortalCall, "db" | "workspaceId">,
  projectId: string,
  { captured }: Pick<GroupSetup, "captured">,
  item: Item | undefined,
): Promise<ReleaseRow | undefined> {
  const id = item === undefined ? undefined : captured.get(item);
  // A link that lists no items is for the deployment itself.
  const isOffered = id !== undefined || (item === "deployment" && captured.size === 0);
  if (item !== undefined && !isOffered) throw notFound("setup item");
  return id === undefined ? (await findChannel(db, projectId, PRODUCTION))?.release : findRelease(db, workspaceId, id);
}

async function deploymentSubject(
  call: PortalCall,
  scope: Extract<Scope, { type: "deployment" }>,
  item: Item | undefined,
): Promise<Subject> {
  const row = await findDeployment(call.db, call.principal, scope.deploymentId);
  if (row === undefined) throw notFound("deployment");
  if (item !== undefined && PURPOSE_OF[item] !== row.purpose) throw notFound("setup item");
  const { project, group } = await groupOf(call, row.deployment_group_id);
  const releaseId = row.desired_release_id ?? row.current_release_id;
  return {
    project,
    group,
    maxDeployments: undefined,
    subdomain: row.public_subdomain,
    platforms: [row.platform],
    methods: row.setup_method === null ? SETUP_METHODS : [row.setup_method],
    release:
      releaseId === null
        ? (await findChannel(call.db, row.project_id, row.release_channel))?.release
        : await findRelease(call.db, row.workspace_id, releaseId),
    setup: undefined,
    deployment: row,
  };
}
