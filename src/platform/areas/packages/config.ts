import type { Static } from "typebox";
import { PACKAGE_TYPES, type PackageConfig, type PackageType } from "../../../contract/packages/package-types.ts";
import type { PackagesConfig } from "../../../contract/projects/projects.ts";

type Settings = Static<typeof PackagesConfig>;
type ConfigOf<T extends PackageType> = Extract<PackageConfig, { readonly type: T }>;

const CONFIGS: { readonly [T in PackageType]: (settings: Settings) => ConfigOf<T> | undefined } = {
  cli: ({ cli }) => (cli?.enabled ? { ...without(cli), type: "cli" } : undefined),
  cloudformation: ({ cloudformation: set }) => (set?.enabled ? { ...cloud(set), type: "cloudformation" } : undefined),
  helm: ({ helm }) => (helm?.enabled ? { ...without(helm), type: "helm" } : undefined),
  "operator-image": ({ operatorImage: set }) =>
    set?.enabled
      ? {
          type: "operator-image",
          name: set.name,
          displayName: set.displayName,
          brand: set.brand ?? null,
          envPrefix: set.envPrefix ?? null,
          labelDomain: set.labelDomain ?? null,
        }
      : undefined,
  "sandbox-bundle": ({ sandboxBundle: set }) =>
    set?.enabled ? { ...without(set), type: "sandbox-bundle" } : undefined,
  terraform: ({ terraform: set }) => (set?.enabled ? { ...cloud(set), type: "terraform" } : undefined),
};

/** The package types that a project has enabled, each with its build configuration. */
export function enabledConfigs(settings: Settings | null): readonly PackageConfig[] {
  return PACKAGE_TYPES.map((type) => CONFIGS[type](settings ?? {})).filter((config) => config !== undefined);
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
