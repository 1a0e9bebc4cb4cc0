import type { InputValues } from "../../../../contract/deployments/deployment.ts";
import type { DeploymentModel, EnvironmentInfo } from "../../../../contract/deployments/deployment-state.ts";
import { json } from "../../../database/json.ts";
import type { DeploymentGroupRow } from "../../../database/tables/deployment-groups.ts";
import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { invalid, notFound, PlatformError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { optionalProject } from "../../../kernel/tenancy/project-ref.ts";
import { withoutNulls } from "../../../kernel/without-nulls.ts";
import { mintKey } from "../../api-keys/mint.ts";
import { getGroup } from "../../deployment-groups/service.ts";
import { countDeployments } from "../../deployment-groups/store.ts";
import { findRelease } from "../../releases/record/store.ts";
import { managerFor, servingManager } from "../lifecycle/manager.ts";
import { tellWaiting } from "../lifecycle/waiting.ts";
import { refuseRepeats, sealVariables } from "../settings/environment.ts";
import { checkInputValues, inputsOf, missingInputs, sealInputs } from "../settings/inputs.ts";
import { asStored, checkPolicy } from "../settings/policy.ts";
import type { CreateBody } from "./group-setup.ts";
import { setupOfToken, withSetup } from "./group-setup.ts";
import { followedRelease, requireDeployable } from "./releases.ts";

type Context = Pick<
  Call,
  "db" | "now" | "principal" | "workspaceId" | "emit" | "raise" | "hooks" | "config" | "budgets"
>;

/** The purpose of a deployment, by the setup item that creates it (§8). */
export const PURPOSE_OF = {
  deployment: "application",
  models: "ai",
  keys: "encryption",
  bucket: "storage",
  registry: "container-registry",
  sandbox: "application",
} as const;

/**
 * On Kubernetes, machines and local environments the deployment connects to the platform by itself. In clouds its
 * manager reaches it from outside (§24.3).
 */
const PULL_PLATFORMS: readonly string[] = ["kubernetes", "machines", "local"];

export interface Created {
  readonly row: DeploymentRow;
  readonly isNew: boolean;
  /** Only for callers with a group token. */
  readonly token: string | undefined;
}

/** §24.3. A group token that repeats a name gets the existing deployment and a token for it. */
export async function createDeployment(call: Context, given: CreateBody): Promise<Created> {
  const group = await groupFor(call, given);
  const byGroupToken = isGroupToken(call);
  if (byGroupToken && given.managerId !== undefined) throw invalid({ path: "body.managerId", message: NOT_CHOSEN });
  const setup = byGroupToken ? await setupOfToken(call) : undefined;
  const body = setup === undefined ? given : withSetup(setup, given, usualModel(given.platform));
  if (setup !== undefined) checkPolicy(setup.policy, wantedOf(body));
  const existing = await findByName(call, group.id, body.name);
  if (existing !== undefined && setup === undefined) throw new PlatformError("NAME_TAKEN");
  // Check the existing deployment too: otherwise a restricted token would get the key of a deployment that it may not
  // create.
  if (existing !== undefined && setup !== undefined) checkPolicy(setup.policy, asStored(existing), "deployment");
  const row = existing ?? (await insert(call, group, body, setup?.inputValues ?? {}));
  const token = byGroupToken ? await mintDeploymentToken(call, row) : undefined;
  return { row, isNew: existing === undefined, token };
}

function isGroupToken({ principal }: Context): boolean {
  return principal.kind === "serviceAccount" && principal.scope.type === "deployment-group";
}

const NOT_CHOSEN = "is not for a deployment group's token: the platform gives the manager that serves the group";
const REQUIRED = "is required of all but a deployment group's token";

/** The group determines the project. A project that the body names, or that the key implies, must be the same. */
async function groupFor(call: Context, body: CreateBody): Promise<DeploymentGroupRow> {
  const { principal } = call;
  const own = principal.kind === "serviceAccount" && principal.scope.type === "deployment-group";
  const id = own ? (body.deploymentGroupId ?? principal.scope.deploymentGroupId) : body.deploymentGroupId;
  if (id === undefined) throw invalid({ path: "body.deploymentGroupId", message: REQUIRED });
  const project = await optionalProject(call.db, principal, body.project);
  const group = await getGroup(call, id);
  if (project !== undefined && group.project_id !== project.id) throw notFound("deployment group");
  return group;
}

function wantedOf(body: CreateBody) {
  return {
    platform: body.platform,
    setupMethod: body.setupMethod,
    pinned: body.pinnedReleaseId != null,
    stackSettings: body.stackSettings ?? {},
  };
}

function findByName({ db }: Context, groupId: string, name: string): Promise<DeploymentRow | undefined> {
  return db
    .selectFrom("deployments")
    .selectAll()
    .where("deployment_group_id", "=", groupId)
    .where("name", "=", name)
    .where("status", "<>", "deleted")
    .executeTakeFirst();
}

async function insert(
  call: Context,
  group: DeploymentGroupRow,
  body: CreateBody,
  preset: InputValues,
): Promise<DeploymentRow> {
  const { db, now } = call;
  refuseRepeats(body.environmentVariables ?? [], "body.environmentVariables");
  if (body.environmentInfo != null && body.environmentInfo.platform !== body.platform) {
    throw invalid({ path: "body.environmentInfo.platform", message: `must be ${body.platform}` });
  }
  const held = await countDeployments(db, group.id);
  if (held >= group.max_deployments) throw new PlatformError("MAX_DEPLOYMENTS_REACHED");
  call.budgets.require("group-deployments", group.id, held + 1);
  const owner = {
    purpose: PURPOSE_OF[body.setupItem ?? "deployment"],
    workspace_id: group.workspace_id,
    project_id: group.project_id,
    deployment_group_id: group.id,
    platform: body.platform,
  };
  const channel = body.releaseChannel ?? "production";
  const followed = await followedRelease(call, owner, channel);
  const pinned = body.pinnedReleaseId == null ? null : (await requireDeployable(call, owner, body.pinnedReleaseId)).id;
  const desired = pinned ?? (body.initialDesiredRelease === "none" ? null : followed);
  const inputs = inputsOf(
    desired === null ? undefined : await findRelease(db, owner.workspace_id, desired),
    body.platform,
  );
  // The token's values cover all platforms that it allows; keep only those for this release.
  const ids = new Set(inputs.map(({ id }) => id));
  const presetHere = Object.fromEntries(Object.entries(preset).filter(([id]) => ids.has(id)));
  const inputValues = { ...presetHere, ...body.inputValues };
  const issues = [
    ...checkInputValues(inputs, inputValues),
    ...missingInputs(inputs, body.platform, Object.keys(inputValues)),
  ];
  if (issues.length > 0) throw new PlatformError("INPUT_VALUES_INVALID", { context: { issues } });
  const row = await db
    .insertInto("deployments")
    .values({
      ...columnsOf(body),
      ...owner,
      id: newId("dep"),
      manager_id: await managerOf(call, owner, body.managerId),
      release_channel: channel,
      pinned_release_id: pinned,
      desired_release_id: desired,
      environment_variables:
        body.environmentVariables === undefined
          ? null
          : json(sealVariables(body.environmentVariables, call.config.sealingKey, now)),
      input_values: json(sealInputs(inputs, inputValues, call.config.sealingKey)),
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const data = { deploymentGroupId: group.id, deploymentId: row.id, releaseId: desired };
  await call.emit({ type: "DeploymentCreated", projectId: row.project_id, deploymentId: row.id, data });
  if (row.manager_id === null) await tellWaiting(call, row);
  await call.raise("deployments", row.id);
  return row;
}

/** The named manager, or the group's. Null: no manager serves the group yet, and the deployment waits. */
async function managerOf(
  call: Context,
  owner: Parameters<typeof managerFor>[1],
  id: string | undefined,
): Promise<string | null> {
  if (id === undefined) return managerFor(call, owner);
  const manager = await servingManager(call, owner, id);
  if (manager === undefined) throw new PlatformError("MANAGER_NOT_AVAILABLE");
  return manager;
}

function usualModel(platform: string): DeploymentModel {
  return PULL_PLATFORMS.includes(platform) ? "pull" : "push";
}

/** The columns that come directly from the body. */
function columnsOf(body: CreateBody) {
  const settings = withoutNulls(body.stackSettings ?? {});
  const metadata = body.setupItem === "sandbox" ? { ...body.setupMetadata, sandbox: true } : body.setupMetadata;
  return {
    name: body.name,
    region: regionOf(body.environmentInfo ?? null) ?? settings.kubernetes?.cluster?.cloud?.region ?? null,
    deployment_model: settings.deploymentModel ?? usualModel(body.platform),
    status: "pending" as const,
    retry_requested: false,
    lease_confirmed: false,
    environment_info: body.environmentInfo == null ? null : json(body.environmentInfo),
    setup_method: body.setupMethod ?? null,
    setup_metadata: metadata == null ? null : json(metadata),
    stack_settings: json(settings),
    resource_prefix: body.resourcePrefix ?? null,
    public_subdomain: body.publicSubdomain ?? null,
    operator_scope: body.operatorScope ?? null,
    operator_permission: body.operatorPermission ?? null,
  };
}

export function regionOf(info: EnvironmentInfo | null): string | null {
  if (info === null) return null;
  if (info.platform === "aws" || info.platform === "gcp") return info.region;
  return info.platform === "azure" ? info.location : null;
}

export interface TokenTerms {
  readonly description?: string | null;
  readonly expiresAt?: Date | null;
}

/**
 * Mints a deployment-scoped key with role deployment.manager. Earlier ones stay valid. It ends with the key that
 * requests it.
 */
export async function mintDeploymentToken(
  call: Pick<Call, "db" | "now" | "principal" | "budgets">,
  row: Pick<DeploymentRow, "id" | "workspace_id" | "project_id" | "name">,
  terms: TokenTerms = {},
): Promise<string> {
  const { principal } = call;
  const minted = await mintKey(call, {
    workspaceId: row.workspace_id,
    role: "deployment.manager",
    scope: { type: "deployment", deploymentId: row.id, projectId: row.project_id },
    description: terms.description ?? null,
    expiresAt: terms.expiresAt ?? null,
    createdByUser: principal.kind === "user" ? { id: principal.id, email: principal.email, image: null } : null,
  });
  return minted.secret;
}
