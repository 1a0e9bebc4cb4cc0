import type { StackSettings } from "../../../../contract/deployments/stack-settings.ts";
import type { Cloud, ManagerSetup, ManagerSetupMethod, SetupResponse } from "../../../../contract/managers/managers.ts";
import type { ManagerRow } from "../../../database/tables/managers.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { PlatformError } from "../../../kernel/errors.ts";
import { mintKey } from "../../api-keys/mint.ts";
import { revokeManagerKeys } from "../record/store.ts";
import { MODULE_PROVIDER, MODULE_VERSION } from "./setup-module.ts";
import { SETUP_PATHS } from "./setup-routes.ts";

const METHODS: Readonly<Record<Cloud, readonly ManagerSetupMethod[]>> = {
  aws: ["cloudformation", "terraform"],
  gcp: ["google-oauth", "terraform"],
  azure: ["terraform"],
};

/** The requested method, or the cloud's default. @throws SETUP_METHOD_NOT_ALLOWED. */
export function setupMethod(cloud: Cloud, asked: ManagerSetupMethod | undefined): ManagerSetupMethod {
  const allowed = METHODS[cloud];
  const method = asked ?? allowed[0];
  if (method !== undefined && allowed.includes(method)) return method;
  throw new PlatformError("SETUP_METHOD_NOT_ALLOWED", { context: { allowed } });
}

type SetUp = Pick<
  ManagerRow,
  | "id"
  | "workspace_id"
  | "name"
  | "cloud"
  | "region"
  | "setup_method"
  | "network"
  | "internal_project_id"
  | "internal_group_id"
>;

type Context = Pick<Call, "db" | "now" | "principal" | "config" | "budgets">;

const TOKEN_LIFE_MS = 24 * 3600 * 1000;

/** Issues a new setup token, which replaces all earlier ones, with the instructions for its holder. */
export async function issueSetup(call: Context, manager: SetUp, user: object | null): Promise<SetupResponse> {
  const { db, config, now } = call;
  const { internal_project_id: projectId, internal_group_id: deploymentGroupId, cloud, region } = manager;
  if (projectId === null || deploymentGroupId === null || cloud === null || region === null) {
    throw new Error(`manager ${manager.id} was not made to be set up`);
  }
  await revokeManagerKeys(db, manager.id, "setup", now);
  const method = manager.setup_method ?? setupMethod(cloud, undefined);
  const policy = { allowedPlatforms: [cloud], allowedSetupMethods: [method] };
  const { row, secret } = await mintKey(call, {
    workspaceId: manager.workspace_id,
    role: "deployment-group.deployer",
    scope: { type: "deployment-group", deploymentGroupId, projectId },
    description: `setup of manager ${manager.name}`,
    expiresAt: new Date(now.getTime() + TOKEN_LIFE_MS),
    createdByUser: user,
    deploymentSetupConfig: { metadata: {}, policy, environmentVariables: [], items: [] },
    setupManagerId: manager.id,
  });
  // In the fragment: browsers do not send it, so no server logs the token (§4.2).
  const deploymentLink = `${config.portalUrl}/deploy#token=${secret}`;
  return {
    managerId: manager.id,
    setupStatus: "pending",
    setupToken: secret,
    setupTokenId: row.id,
    deploymentLink,
    setupConfig: {
      metadata: {},
      policy,
      inputValues: {},
      items: [],
      environmentVariables: [],
    },
    setup: setupOf(method, factsOf(manager, region, config)),
  };
}

/** The same instructions for a manager that waits for its setup; undefined for one that was not made to be set up. */
export function setupOfManager(manager: SetUp, config: Context["config"]): ManagerSetup | undefined {
  const { cloud, region, setup_method: method } = manager;
  if (cloud === null || region === null) return undefined;
  return setupOf(method ?? setupMethod(cloud, undefined), factsOf(manager, region, config));
}

function factsOf(manager: Pick<SetUp, "id" | "network">, region: string, config: Context["config"]): SetupFacts {
  return {
    id: manager.id,
    region,
    baseUrl: config.baseUrl,
    templateCopy: config.setupTemplateUrl,
    portal: `${config.portalUrl}/deploy`,
    stackSettings: stackSettingsOf(manager),
  };
}

interface SetupFacts {
  readonly id: string;
  readonly region: string;
  readonly baseUrl: string;
  /** Address of the copy in S3. */
  readonly templateCopy: string | undefined;
  readonly portal: string;
  readonly stackSettings: StackSettings;
}

/** Maps the network setting of a manager to the values of stack settings. */
const NETWORKS = { create: "create", default: "use-default" } as const;

export function stackSettingsOf({ network }: Pick<ManagerRow, "network">): StackSettings {
  return network === null ? {} : { network: { type: NETWORKS[network] } };
}

function setupOf(method: ManagerSetupMethod, facts: SetupFacts): ManagerSetup {
  const { id, region, baseUrl } = facts;
  const common = { deploymentPortalUrl: facts.portal, stackSettings: facts.stackSettings };
  switch (method) {
    case "cloudformation": {
      const templateUrl = `${baseUrl}${SETUP_PATHS.template}`;
      const stackName = `sallyport-${id.slice(-12)}`;
      // The region is free text and must not change the host.
      const console = `https://console.aws.amazon.com/cloudformation/home?region=${encodeURIComponent(region)}`;
      // CloudFormation accepts only template addresses in S3. Without a copy there the administrator uploads the
      // template.
      const quickCreate = { templateURL: facts.templateCopy ?? "", stackName, param_ManagerId: id };
      const to = facts.templateCopy === undefined ? "template" : `review?${new URLSearchParams(quickCreate)}`;
      const launchUrl = `${console}#/stacks/create/${to}`;
      return { method, ...common, launchUrl, templateUrl, stackName, region };
    }
    case "google-oauth": {
      const oauthStartUrl = `${baseUrl}${SETUP_PATHS.google}?manager=${id}`;
      return { method, ...common, managerUrl: baseUrl, oauthStartUrl, region };
    }
    case "terraform":
      return { method, ...common, managerUrl: baseUrl, ...terraform(id, region, baseUrl) };
  }
}

/** A quoted string in HCL, without template interpolation. */
function hclString(text: string): string {
  return JSON.stringify(text).replace(/[$%](?=\{)/g, "$&$&");
}

function terraform(id: string, region: string, baseUrl: string) {
  const moduleInputs = { manager_id: id, region, platform_url: baseUrl };
  // The module is fetched as an archive: a Terraform registry would need the root of its own host, and TLS.
  const moduleSource = `${baseUrl}${SETUP_PATHS.module}`;
  const names = Object.keys(moduleInputs);
  // Aligned like the output of `terraform fmt`.
  const width = Math.max(...names.map(({ length }) => length));
  const assign = (name: string): string => `  ${name.padEnd(width)} = var.${name}\n`;
  const variables = [
    ...names.map((name) => `variable "${name}" {\n  type = string\n}\n\n`),
    `variable "setup_token" {\n  type      = string\n  sensitive = true\n}\n\n`,
  ].join("");
  const assigned = [...names, "setup_token"].map(assign).join("");
  return {
    providerSource: MODULE_PROVIDER,
    moduleSource,
    moduleVersion: MODULE_VERSION,
    moduleInputs,
    mainTf: `${variables}module "manager" {\n  source = ${hclString(moduleSource)}\n\n${assigned}}\n`,
    // Without the token, which comes from the environment (TF_VAR_setup_token): the file may be kept, and must hold no
    // secret.
    tfvars: Object.entries(moduleInputs)
      .map(([name, value]) => `${name} = ${hclString(value)}\n`)
      .join(""),
    commands: "export TF_VAR_setup_token=<SETUP_TOKEN>\nterraform init\nterraform apply",
  };
}
