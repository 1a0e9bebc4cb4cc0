import { describe, expect, it } from "vitest";
import type { PlatformError } from "../../../kernel/errors.ts";
import { checkPolicy, type SetupPolicy, type Wanted } from "./policy.ts";

const policy: SetupPolicy = {
  allowedPlatforms: ["kubernetes"],
  allowedSetupMethods: ["helm"],
  stackSettings: {
    allowedDeploymentModels: ["pull"],
    allowedNetworkModes: ["default"],
    allowedUpdatesModes: ["auto"],
    allowedTelemetryModes: ["off"],
    allowedHeartbeatsModes: ["on"],
    allowExternalBindings: false,
  },
};
const fine: Wanted = { platform: "kubernetes", setupMethod: "helm", pinned: false, stackSettings: {} };

describe("a group token's policy", () => {
  it.each<[name: string, change: Partial<Wanted>, code: string | undefined]>([
    ["what it lists", {}, undefined],
    ["no setup method", { setupMethod: undefined }, undefined],
    ["listed settings", { stackSettings: { deploymentModel: "pull", network: { type: "use-default" } } }, undefined],
    ["another platform", { platform: "aws" }, "SETUP_CONFIG_INVALID"],
    ["another model", { stackSettings: { deploymentModel: "push" } }, "SETUP_CONFIG_INVALID"],
    ["another network", { stackSettings: { network: { type: "create" } } }, "SETUP_CONFIG_INVALID"],
    ["other updates", { stackSettings: { updates: "approval-required" } }, "SETUP_CONFIG_INVALID"],
    ["other telemetry", { stackSettings: { telemetry: "auto" } }, "SETUP_CONFIG_INVALID"],
    ["other heartbeats", { stackSettings: { heartbeats: "off" } }, "SETUP_CONFIG_INVALID"],
    ["external bindings", { stackSettings: { externalBindings: { db: {} } } }, "SETUP_CONFIG_INVALID"],
    ["another method", { setupMethod: "cli" }, "SETUP_METHOD_NOT_ALLOWED"],
    ["a pinned release", { pinned: true }, "RELEASE_PINNING_NOT_ALLOWED"],
  ])("with %s answers %o with %s", (_name, change, code) => {
    const check = (): void => checkPolicy(policy, { ...fine, ...change });
    if (code === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ code }) as unknown as PlatformError);
  });
});
