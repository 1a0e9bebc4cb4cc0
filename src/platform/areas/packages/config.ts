import type { Static } from "typebox";
import type { PackageConfig } from "../../../contract/packages/package-types.ts";
import type { PackagesConfig } from "../../../contract/projects/projects.ts";

type Settings = Static<typeof PackagesConfig>;

/** The package types that a project has enabled, each with its build configuration. */
export function enabledConfigs(settings: Settings | null): readonly PackageConfig[] {
  const { cli, cloudformation, terraform, helm, operatorImage, sandboxBundle } = settings ?? {};
  return [
    ...(cli?.enabled ? [{ ...without(cli), type: "cli" as const }] : []),
    ...(cloudformation?.enabled ? [{ ...cloud(cloudformation), type: "cloudformation" as const }] : []),
    ...(helm?.enabled ? [{ ...without(helm), type: "helm" as const }] : []),
    ...(operatorImage?.enabled
      ? [
          {
            type: "operator-image" as const,
            name: operatorImage.name,
            displayName: operatorImage.displayName,
            brand: operatorImage.brand ?? null,
            envPrefix: operatorImage.envPrefix ?? null,
            labelDomain: operatorImage.labelDomain ?? null,
          },
        ]
      : []),
    ...(sandboxBundle?.enabled ? [{ ...without(sandboxBundle), type: "sandbox-bundle" as const }] : []),
    ...(terraform?.enabled ? [{ ...cloud(terraform), type: "terraform" as const }] : []),
  ];
}

function without<T extends { readonly enabled: boolean }>({ enabled: _, ...config }: T): Omit<T, "enabled"> {
  return config;
}

function cloud(config: NonNullable<Settings["cloudformation"]>) {
  return {
    displayName: config.displayName ?? null,
    ...(config.supportedAwsRegions !== undefined && { supportedAwsRegions: config.supportedAwsRegions }),
  };
}
