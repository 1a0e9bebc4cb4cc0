import Type, { type Static } from "typebox";
import { SetupItem, SetupPolicy } from "../deployment-groups/setup-config.ts";
import { Input } from "../deployments/deployment.ts";
import { EnvironmentVariable } from "../deployments/deployment-state.ts";
import { ManagementConfig } from "../managers/managers.ts";
import { PACKAGE_OUTPUTS } from "../packages/package-types.ts";
import { PACKAGE_STATUSES } from "../packages/packages.ts";
import { PORTAL_COLOURS, PORTAL_DENSITIES, PORTAL_PRESETS } from "../projects/portal-appearance.ts";
import {
  DeploymentGroupId,
  DeploymentId,
  FreeMap,
  Maybe,
  Nullable,
  Platform,
  Strict,
  Timestamp,
  Words,
  WorkspaceId,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const texts = Type.Array(text);

const Appearance = Strict({
  avatarUrl: Type.Optional(text),
  preset: Words(PORTAL_PRESETS),
  accentColor: Words(PORTAL_COLOURS),
  title: Type.Optional(text),
  subtitle: Type.Optional(text),
  supportUrl: Type.Optional(text),
  docsUrl: Type.Optional(text),
  density: Words(PORTAL_DENSITIES),
});
export type Appearance = Static<typeof Appearance>;

const StackSummary = Strict({
  platforms: Type.Array(Platform),
  requiresNetwork: Type.Boolean(),
  customerModels: Type.Boolean({ description: "The release asks for models in the customer's own account." }),
  resourceCounts: Strict({
    workers: count,
    containers: count,
    daemons: count,
    publicHttpsEndpoints: count,
    externalInfra: count,
    total: count,
  }),
  publicEndpoints: Type.Array(
    Strict({ resourceId: text, endpointName: text, hostLabel: text, wildcardSubdomains: Type.Boolean() }),
  ),
});
export type StackSummary = Static<typeof StackSummary>;

const build = { status: Words(PACKAGE_STATUSES), version: text, error: Type.Optional(StoredError) };
const { cli, cloudformation, helm, terraform } = PACKAGE_OUTPUTS;

const OperatorMemory = Type.String({
  description:
    "The least that the operator needs with plugins: the process of one runs in its container. Who has a larger limit keeps it.",
});

/** Values of the chart `sallyport`; beneath the key `sallyport` where a vendor's chart has it as a dependency. */
const ChartValues = Strict({
  image: Type.Optional(Strict({ registry: text, repository: text, digest: text })),
  plugins: Type.Optional(FreeMap),
  operator: Type.Optional(Strict({ resources: Strict({ limits: Strict({ memory: OperatorMemory }) }) })),
});
export type ChartValues = Static<typeof ChartValues>;

const known = Type.String({ description: "Empty until the package is ready." });

/**
 * A package type is absent when the project has it switched off or no package of it was queued. `outputs` and `error` are
 * there when there are some, and all else always: the answer is polled until the packages are ready.
 */
const Packages = Strict({
  ready: Type.Boolean({ description: "All that the allowed setup methods need is built." }),
  cli: Type.Optional(
    Strict({
      ...build,
      commandName: text,
      outputs: Type.Optional(cli),
      installScripts: Type.Optional(Strict({ windows: text, mac: text, linux: text })),
    }),
  ),
  cloudformation: Type.Optional(
    Strict({
      ...build,
      outputs: Type.Optional(cloudformation),
      mode: Words(["auto", "outputs"]),
      launchUrl: Type.String({ description: "Where the stack is created; until it can be, the link's own page." }),
      outputsSchema: Type.Optional(FreeMap),
    }),
  ),
  terraform: Type.Optional(
    Strict({
      ...build,
      outputs: Type.Optional(terraform),
      providerSource: known,
      moduleSources: Type.Record(text, text),
      moduleVersion: text,
      managerUrls: Type.Record(text, text),
    }),
  ),
  helm: Type.Optional(
    Strict({
      ...build,
      outputs: Type.Optional(helm),
      chartRef: known,
      managerFetchExample: known,
      localImportExample: known,
    }),
  ),
  operatorImage: Type.Optional(
    Strict({
      ...build,
      archive: Type.Optional(text),
      digest: Type.Optional(text),
      values: Type.Optional(ChartValues),
    }),
  ),
});
export type PortalPackages = Static<typeof Packages>;

const InstallTarget = Strict({
  platform: Platform,
  managerUrl: Type.Optional(text),
  managementConfig: Type.Optional(ManagementConfig),
  awsManagingAccountId: Type.Optional(text),
});
export type InstallTarget = Static<typeof InstallTarget>;

/** What a customer's account can reach of a model provider, as an `ai` resource reports it (§11.5). */
export const ModelAvailability = Type.Object({
  catalogRevision: Maybe(text),
  location: Maybe(text),
  source: text,
  models: Type.Array(
    Type.Object({
      publicModelId: text,
      availability: Words(["available", "blocked", "unknown"]),
      accessTest: Words(["verified", "failed", "not-checked"]),
      blockers: Type.Array(
        Words([
          "agreement-required",
          "entitlement-required",
          "model-activation-required",
          "deployment-required",
          "quota-configuration-required",
          "region-unavailable",
          "access-denied",
          "observation-failed",
        ]),
      ),
      clientApis: Type.Array(Words(["open-ai-chat-completions", "open-ai-responses", "anthropic-messages"])),
      errorCode: Nullable(text),
      testedAt: Nullable(Timestamp),
    }),
  ),
});
export type ModelAvailability = Static<typeof ModelAvailability>;

const ModelAvailabilitySource = Strict({
  deploymentId: DeploymentId,
  resourceId: text,
  observedAt: Timestamp,
  status: Words(["current", "stale", "invalid"]),
  availability: Type.Optional(ModelAvailability),
});
export type ModelAvailabilitySource = Static<typeof ModelAvailabilitySource>;

/** How far a group is with one thing that it sets up (§8). */
const ITEM_STATUSES = [
  "not-started",
  "waiting",
  "applying",
  "verifying",
  "connected",
  "needs-attention",
  "revoked",
] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

const PortalSetupItem = Strict({
  ...SetupItem.properties,
  status: Words(ITEM_STATUSES),
  deploymentIds: Type.Array(DeploymentId),
  blocker: Type.Optional(Strict({ code: text, message: text })),
});
export type PortalSetupItem = Static<typeof PortalSetupItem>;

const { value: _hidden, ...openVariable } = EnvironmentVariable.properties;
const PortalSetupConfig = Strict({
  metadata: FreeMap,
  policy: Type.Partial(SetupPolicy),
  environmentVariables: Type.Array(Strict(openVariable)),
  items: Type.Array(SetupItem),
  inputs: Type.Array(Input),
  inputValues: Type.Array(
    Strict({
      id: text,
      label: text,
      providedBy: texts,
      required: Type.Boolean(),
      secret: Type.Boolean(),
      provided: Type.Boolean(),
    }),
  ),
});
export type PortalSetupConfig = Static<typeof PortalSetupConfig>;

export const CHECK_CODES = [
  "release-available",
  "platform-allowed",
  "manager-online",
  "packages-ready",
  "group-capacity",
  "token-valid-24h",
] as const;

const Readiness = Strict({
  status: Words(["ready", "notReady", "unknown"]),
  checks: Type.Array(
    Strict({
      code: Words(CHECK_CODES),
      status: Words(["passed", "failed", "warning", "unknown"]),
      message: text,
      checkedAt: Timestamp,
    }),
  ),
});
export type Readiness = Static<typeof Readiness>;

/** What the page behind a deployment link shows, all in one: read again and again until the packages are ready. */
export const DeploymentInfo = Strict({
  tokenType: Words(["deployment", "deployment-group"]),
  deployment: Type.Optional(Strict({ name: text, platform: Platform })),
  deploymentGroup: Type.Optional(Strict({ id: DeploymentGroupId, name: text, pinnedSubdomain: Nullable(text) })),
  workspace: Strict({ id: WorkspaceId, name: text, avatarUrl: Type.Optional(text) }),
  project: Strict({
    name: text,
    portal: Strict({ appearance: Appearance }),
    stackSummary: Type.Optional(StackSummary),
    generatedDomain: Type.Optional(Strict({ domain: text, isSystem: Type.Boolean() })),
  }),
  packages: Packages,
  installContext: Strict({ targets: Type.Record(text, InstallTarget) }),
  supportedRegions: Strict({ aws: texts, gcp: texts, azure: texts }),
  modelAvailabilitySources: Type.Array(ModelAvailabilitySource),
  setupItems: Type.Optional(Type.Array(PortalSetupItem)),
  setupConfig: Type.Optional(PortalSetupConfig),
  readiness: Type.Optional(Readiness),
});
export type DeploymentInfo = Static<typeof DeploymentInfo>;
