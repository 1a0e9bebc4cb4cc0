import type { StackSettings } from "../../../contract/stack-settings.ts";
import { type Issue, PlatformError } from "../../kernel/errors.ts";

/** What a group token allows whoever holds it (§4.2). Absent lists allow everything. */
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

/** `network.type` in the words of `allowedNetworkModes`. */
function networkMode(type: string): string {
  if (type === "use-default") return "default";
  return type === "create" ? "create" : "byo";
}

/** What of the platform and the settings the policy does not allow; paths begin at the object that has both. */
export function settingIssues(policy: SetupPolicy, wanted: Pick<Wanted, "platform" | "stackSettings">): Issue[] {
  const { stackSettings: settings } = wanted;
  const limits = policy.stackSettings ?? {};
  const bounded: readonly (readonly [
    path: string,
    value: string | undefined,
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
    .filter(([, value, allowed]) => value !== undefined && allowed !== undefined && !allowed.includes(value))
    .map(([path, , allowed]) => ({ path, message: `must be one of ${allowed?.join(", ")}` }));
  if (limits.allowExternalBindings === false && Object.keys(settings.externalBindings ?? {}).length > 0) {
    issues.push({ path: "stackSettings.externalBindings", message: "are not allowed" });
  }
  return issues;
}

/** @throws SETUP_CONFIG_INVALID, SETUP_METHOD_NOT_ALLOWED or RELEASE_PINNING_NOT_ALLOWED. */
export function checkPolicy(policy: SetupPolicy, wanted: Wanted): void {
  const issues = settingIssues(policy, wanted).map(({ path, message }) => ({ path: `body.${path}`, message }));
  if (issues.length > 0) throw new PlatformError("SETUP_CONFIG_INVALID", { context: { issues } });
  const { setupMethod } = wanted;
  const allowed = policy.allowedSetupMethods;
  if (setupMethod !== undefined && allowed !== undefined && !allowed.includes(setupMethod)) {
    throw new PlatformError("SETUP_METHOD_NOT_ALLOWED", { context: { allowed } });
  }
  if (wanted.pinned && policy.allowReleasePinning !== true) throw new PlatformError("RELEASE_PINNING_NOT_ALLOWED");
}
