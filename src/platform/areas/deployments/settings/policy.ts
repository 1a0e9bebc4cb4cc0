import type { DeploymentModel } from "../../../../contract/deployments/deployment-state.ts";
import type { StackSettings } from "../../../../contract/deployments/stack-settings.ts";
import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import { type Issue, PlatformError } from "../../../kernel/errors.ts";

/** What a group token allows its holder (§4.2). An absent list allows everything. */
export interface SetupPolicy {
  readonly allowedPlatforms?: readonly string[];
  readonly allowedSetupMethods?: readonly string[];
  readonly allowReleasePinning?: boolean;
  readonly stackSettings?: {
    readonly allowedDeploymentModels?: readonly string[];
    readonly allowedNetworkModes?: readonly string[];
    readonly allowedUpdatesModes?: readonly string[];
    readonly allowedTelemetryModes?: readonly string[];
    readonly allowedHeartbeatsModes?: readonly string[];
    readonly allowExternalBindings?: boolean;
    readonly defaults?: StackSettings;
  };
}

export interface Wanted {
  readonly platform: string;
  readonly setupMethod: string | undefined;
  readonly pinned: boolean;
  readonly stackSettings: StackSettings;
}

/** Converts `network.type` to the values of `allowedNetworkModes`. */
function networkMode(type: string): string {
  if (type === "use-default") return "default";
  return type === "create" ? "create" : "byo";
}

/** The parts of platform and settings that the policy does not allow. Paths are relative to the object with both. */
export function settingIssues(policy: SetupPolicy, wanted: Pick<Wanted, "platform" | "stackSettings">): Issue[] {
  const { stackSettings: settings } = wanted;
  const limits = policy.stackSettings ?? {};
  const bounded: readonly (readonly [
    path: string,
    value: string | null | undefined,
    allowed: readonly string[] | undefined,
  ])[] = [
    ["platform", wanted.platform, policy.allowedPlatforms],
    ["stackSettings.deploymentModel", settings.deploymentModel, limits.allowedDeploymentModels],
    ["stackSettings.network.type", settings.network && networkMode(settings.network.type), limits.allowedNetworkModes],
    ["stackSettings.updates", settings.updates, limits.allowedUpdatesModes],
    ["stackSettings.telemetry", settings.telemetry, limits.allowedTelemetryModes],
    ["stackSettings.heartbeats", settings.heartbeats, limits.allowedHeartbeatsModes],
  ];
  const issues = bounded
    .filter(([, value, allowed]) => value != null && allowed !== undefined && !allowed.includes(value))
    .map(([path, , allowed]) => ({ path, message: `must be one of ${allowed?.join(", ")}` }));
  if (limits.allowExternalBindings === false && Object.keys(settings.externalBindings ?? {}).length > 0) {
    issues.push({ path: "stackSettings.externalBindings", message: "are not allowed" });
  }
  return issues;
}

/**
 * An existing deployment in the form that the policy checks. Its pin is left out: the vendor may have set it later, and
 * the token cannot create one.
 */
export function asStored(
  row: Pick<DeploymentRow, "platform" | "setup_method" | "stack_settings" | "deployment_model">,
): Wanted {
  return {
    platform: row.platform,
    setupMethod: row.setup_method ?? undefined,
    pinned: false,
    stackSettings: { ...row.stack_settings, deploymentModel: row.deployment_model },
  };
}

/** The modes of a deployment whose settings do not state them. */
const USUAL = { updates: "auto", telemetry: "auto", heartbeats: "on" } as const;

/**
 * Adds an explicit value for each setting that the policy bounds, so that omitting a setting does not avoid the policy.
 * Where the default mode is not allowed, takes the first allowed one.
 */
export function withinPolicy(policy: SetupPolicy, usualModel: DeploymentModel, settings: StackSettings): StackSettings {
  const limits = policy.stackSettings ?? {};
  const usual: StackSettings = { ...USUAL, deploymentModel: usualModel };
  const bounded = [
    ["updates", limits.allowedUpdatesModes],
    ["telemetry", limits.allowedTelemetryModes],
    ["heartbeats", limits.allowedHeartbeatsModes],
    ["deploymentModel", limits.allowedDeploymentModels?.filter((model) => model !== "airgapped")],
  ] as const;
  const chosen = bounded.flatMap(([name, allowed]) => {
    const silent = settings[name] == null && allowed !== undefined && !allowed.includes(String(usual[name]));
    return silent && allowed[0] !== undefined ? [[name, allowed[0]]] : [];
  });
  return { ...settings, ...Object.fromEntries(chosen) };
}

/**
 * @param where what is checked: the request's body, or the existing deployment.
 * @throws SETUP_CONFIG_INVALID, SETUP_METHOD_NOT_ALLOWED or RELEASE_PINNING_NOT_ALLOWED.
 */
export function checkPolicy(policy: SetupPolicy, wanted: Wanted, where: "body" | "deployment" = "body"): void {
  const issues = settingIssues(policy, wanted).map(({ path, message }) => ({ path: `${where}.${path}`, message }));
  if (issues.length > 0) throw new PlatformError("SETUP_CONFIG_INVALID", { context: { issues } });
  const { setupMethod } = wanted;
  const allowed = policy.allowedSetupMethods;
  if (setupMethod !== undefined && allowed !== undefined && !allowed.includes(setupMethod)) {
    throw new PlatformError("SETUP_METHOD_NOT_ALLOWED", { context: { allowed } });
  }
  if (wanted.pinned && policy.allowReleasePinning !== true) throw new PlatformError("RELEASE_PINNING_NOT_ALLOWED");
}
