import type { Static } from "typebox";
import type { deploymentGroupRoutes } from "../../../contract/deployment-groups/deployment-groups.ts";
import type { SetupConfig, SetupPolicy } from "../../../contract/deployment-groups/setup-config.ts";
import { type Input, SETUP_METHODS } from "../../../contract/deployments/deployment.ts";
import { PRODUCTION } from "../../../contract/releases/release-channels.ts";
import { PLATFORMS } from "../../../contract/wire/schema.ts";
import { json } from "../../database/json.ts";
import type { DeploymentGroupRow, GroupTokenSetupRow } from "../../database/tables/deployment-groups.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import { type Issue, PlatformError } from "../../kernel/errors.ts";
import { mintKey } from "../api-keys/mint.ts";
import { checkExpiry } from "../api-keys/service.ts";
import { sealVariables } from "../deployments/settings/environment.ts";
import { checkInputValues, inputsOf, sealInputs } from "../deployments/settings/inputs.ts";
import { settingIssues } from "../deployments/settings/policy.ts";
import { fits } from "../deployments/settings/setup-methods.ts";
import { findChannel } from "../releases/record/store.ts";
import { getGroup } from "./service.ts";
import { resolveItems } from "./setup-items.ts";

type Body = Static<(typeof deploymentGroupRoutes)["createToken"]["body"]>;
type Context = Pick<Call, "db" | "now" | "principal" | "workspaceId" | "config" | "budgets">;

const SESSION_MS = 60 * 60_000;

/** Mints a group token (§4.2). @throws SETUP_CONFIG_INVALID, INPUT_VALUES_INVALID. */
export async function createToken(call: Context, groupId: string, body: Body) {
  const { db, now, config } = call;
  const group = await getGroup(call, groupId);
  const expiresAt = body.expiresAt == null ? null : new Date(body.expiresAt);
  checkExpiry(call.principal, expiresAt, now);
  const { policy, metadata, environmentVariables: variables, publicSubdomain } = body.deploymentSetupConfig;
  const { enabled_capabilities: capabilities } = await db
    .selectFrom("projects")
    .select("enabled_capabilities")
    .where("id", "=", group.project_id)
    .executeTakeFirstOrThrow();
  const project = { id: group.project_id, capabilities };
  const { items, issues, release } = await resolveItems(db, project, body.setupItems ?? []);
  const all = [...policyIssues(policy), ...repeatIssues(variables), ...issues];
  if (all.length > 0) throw new PlatformError("SETUP_CONFIG_INVALID", { context: { issues: all } });
  const inputs = inputsOn(release, policy.allowedPlatforms);
  const values = body.inputValues ?? {};
  const wrong = checkInputValues(inputs, values);
  if (wrong.length > 0) throw new PlatformError("INPUT_VALUES_INVALID", { context: { issues: wrong } });
  const setup: SetupConfig = {
    metadata,
    policy,
    environmentVariables: variables.map(({ value: _, ...open }) => open),
    items,
    ...(publicSubdomain !== undefined && { publicSubdomain }),
  };
  const { token } = await mint(
    call,
    group,
    { setup, expiresAt, description: body.description ?? null },
    {
      environment_variables: variables.length === 0 ? null : json(sealVariables(variables, config.sealingKey, now)),
      input_values: json(sealInputs(inputs, values, config.sealingKey)),
      session_of: null,
    },
  );
  // In the fragment: browsers do not send it, so no server logs the token.
  return { token, deploymentLink: `${config.portalUrl}/deploy#token=${token}` };
}

/** A token for the caller's own use of the portal. It allows everything, for one hour; a new one replaces it. */
export async function firstPartySession(call: Context, groupId: string) {
  const { db, now, principal } = call;
  const group = await getGroup(call, groupId);
  await db
    .updateTable("api_keys")
    .set({ revoked_at: now })
    .where("deployment_group_id", "=", group.id)
    .where("revoked_at", "is", null)
    .where((eb) =>
      eb("id", "in", eb.selectFrom("group_token_setups").select("api_key_id").where("session_of", "=", principal.id)),
    )
    .execute();
  const release = (await findChannel(db, group.project_id, PRODUCTION))?.release;
  const served = PLATFORMS.filter((platform) => release?.stack[platform] != null);
  const setup: SetupConfig = {
    metadata: { firstParty: true },
    policy: {
      allowedPlatforms: served.length === 0 ? [...PLATFORMS] : served,
      allowedSetupMethods: [...SETUP_METHODS],
      allowReleasePinning: true,
    },
    environmentVariables: [],
    items: [],
  };
  const { token, endsAt } = await mint(
    call,
    group,
    { setup, expiresAt: new Date(now.getTime() + SESSION_MS), description: "first-party session" },
    {
      environment_variables: null,
      input_values: json({}),
      session_of: principal.id,
    },
  );
  return { token, expiresAt: (endsAt ?? now).toISOString() };
}

interface Terms {
  readonly setup: SetupConfig;
  readonly expiresAt: Date | null;
  readonly description: string | null;
}

async function mint(
  call: Context,
  group: DeploymentGroupRow,
  { setup, expiresAt, description }: Terms,
  kept: {
    readonly environment_variables: ReturnType<typeof json<GroupTokenSetupRow["environment_variables"]>> | null;
    readonly input_values: ReturnType<typeof json<GroupTokenSetupRow["input_values"]>>;
    readonly session_of: string | null;
  },
): Promise<{ readonly token: string; readonly endsAt: Date | null }> {
  const { db, principal } = call;
  const { row, secret } = await mintKey(call, {
    workspaceId: group.workspace_id,
    role: "deployment-group.deployer",
    scope: { type: "deployment-group", deploymentGroupId: group.id, projectId: group.project_id },
    description,
    expiresAt,
    createdByUser: principal.kind === "user" ? { id: principal.id, email: principal.email, image: null } : null,
    deploymentSetupConfig: setup,
  });
  await db
    .insertInto("group_token_setups")
    .values({ api_key_id: row.id, ...kept })
    .execute();
  return { token: secret, endsAt: row.expires_at };
}

/** Contradictions in a policy: defaults that it forbids, methods for none of its platforms. */
function policyIssues(policy: SetupPolicy): readonly Issue[] {
  const path = "body.deploymentSetupConfig.policy";
  const { allowedPlatforms, allowedSetupMethods } = policy;
  const defaults = settingIssues(policy, {
    platform: allowedPlatforms[0] ?? "test",
    stackSettings: policy.stackSettings?.defaults ?? {},
  });
  return [
    ...defaults.map((issue) => ({
      path: `${path}.${issue.path.replace("stackSettings", "stackSettings.defaults")}`,
      message: issue.message,
    })),
    ...allowedSetupMethods.flatMap((method, index) =>
      allowedPlatforms.some((platform) => fits(method, platform))
        ? []
        : [{ path: `${path}.allowedSetupMethods.${index}`, message: "fits none of the allowed platforms" }],
    ),
  ];
}

function repeatIssues(variables: readonly { readonly name: string }[]): readonly Issue[] {
  return variables.flatMap(({ name }, index) =>
    variables.findIndex((each) => each.name === name) === index
      ? []
      : [{ path: `body.deploymentSetupConfig.environmentVariables.${index}.name`, message: "is given twice" }],
  );
}

/** The inputs of all platforms that the token allows. An input that several platforms need is listed once. */
function inputsOn(release: ReleaseRow | undefined, platforms: readonly string[]): readonly Input[] {
  const all = platforms.flatMap((platform) => inputsOf(release, platform));
  return [...new Map(all.map((input) => [input.id, input])).values()];
}
