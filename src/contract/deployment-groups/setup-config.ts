import Type, { type Static } from "typebox";
import { SETUP_METHODS } from "../deployments/deployment.ts";
import { SETUP_ITEMS } from "../deployments/deployment-requests.ts";
import { EnvironmentVariable } from "../deployments/deployment-state.ts";
import { StackSettings } from "../deployments/stack-settings.ts";
import { ChannelName } from "../releases/release-channels.ts";
import {
  Bounded,
  DOCUMENT_BYTES,
  FreeMap,
  PLATFORMS,
  ReleaseId,
  SMALL_DOCUMENT_BYTES,
  Strict,
  VALUES_BYTES,
  WordList,
  Words,
} from "../wire/schema.ts";

export const MODEL_PROVIDERS = [
  "aws-bedrock",
  "gcp-vertex",
  "azure-foundry",
  "anthropic",
  "databricks",
  "openai",
] as const;

const some = <const W extends readonly string[]>(words: W) =>
  Type.Optional(WordList(words, { minItems: 1, uniqueItems: true }));

/** What the holder of a group token may choose. An absent list allows everything. */
export const SetupPolicy = Bounded(
  DOCUMENT_BYTES,
  Strict({
    allowedPlatforms: WordList(PLATFORMS, { minItems: 1, uniqueItems: true }),
    allowedSetupMethods: WordList(SETUP_METHODS, { minItems: 1, uniqueItems: true }),
    allowedKubernetesBasePlatforms: some(["aws", "gcp", "azure", "on-prem"]),
    allowedKubernetesClusterSources: some(["create", "existing"]),
    allowReleasePinning: Type.Optional(Type.Boolean()),
    stackSettings: Type.Optional(
      Strict({
        defaults: Type.Optional(StackSettings),
        allowedDeploymentModels: some(["push", "pull", "airgapped"]),
        allowedNetworkModes: some(["none", "create", "default", "byo"]),
        allowedUpdatesModes: some(["auto", "approval-required"]),
        allowedTelemetryModes: some(["auto", "approval-required", "off"]),
        allowedHeartbeatsModes: some(["on", "off"]),
        allowExternalBindings: Type.Optional(Type.Boolean()),
        allowCustomRegistry: Type.Optional(Type.Boolean()),
      }),
    ),
  }),
);
export type SetupPolicy = Static<typeof SetupPolicy>;

/** What a group token is made with (§4.2). */
export const NewSetupConfig = Strict({
  metadata: Bounded(SMALL_DOCUMENT_BYTES, FreeMap),
  policy: SetupPolicy,
  environmentVariables: Bounded(VALUES_BYTES, Type.Array(EnvironmentVariable, { maxItems: 200 })),
  publicSubdomain: Type.Optional(
    Type.String({ minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" }),
  ),
});
export type NewSetupConfig = Static<typeof NewSetupConfig>;

/** A model that a release needs in the customer's own account. */
export const ModelRequirement = Strict({
  publicModelId: Type.String(),
  clientApis: Type.Array(Words(["openai-chat", "openai-responses", "anthropic-messages"])),
  required: Type.Boolean(),
});
export type ModelRequirement = Static<typeof ModelRequirement>;

/** One thing that the customer must set up, as the call that makes the token names it. */
export const WantedSetupItem = Strict({
  item: Words(SETUP_ITEMS),
  required: Type.Boolean(),
  releaseChannel: Type.Optional(ChannelName),
  providerAllowlist: some(MODEL_PROVIDERS),
});
export type WantedSetupItem = Static<typeof WantedSetupItem>;

/** The same with its release fixed: a later promotion does not change what the link sets up. */
export const SetupItem = Strict({
  item: Words(SETUP_ITEMS),
  source: Type.Union([
    Strict({
      type: Type.Literal("project-release"),
      releaseChannel: Type.String(),
      releaseId: ReleaseId,
      resourceId: Type.Optional(Type.String()),
    }),
    Strict({
      type: Type.Literal("built-in"),
      definitionId: Words(["customer-ai", "customer-key", "customer-storage", "customer-registry"]),
      version: Type.String(),
      sourceReleaseId: ReleaseId,
    }),
  ]),
  required: Type.Boolean(),
  configuration: Strict({
    allowedProviders: Type.Array(Words(MODEL_PROVIDERS)),
    providerAllowlist: Type.Array(Words(MODEL_PROVIDERS)),
    modelRequirements: Type.Array(ModelRequirement),
  }),
});
export type SetupItem = Static<typeof SetupItem>;

/** The readable part of a token's configuration. The variables' values are stored apart, encrypted. */
export interface SetupConfig {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly policy: SetupPolicy;
  readonly environmentVariables: readonly Omit<Static<typeof EnvironmentVariable>, "value">[];
  readonly items: readonly SetupItem[];
  readonly publicSubdomain?: string;
}
