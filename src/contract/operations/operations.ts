import Type, { type Static } from "typebox";
import { AcceptStale } from "../resources/stale-state.ts";
import { MANAGER, READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  Bounded,
  BoundedByRoute,
  CommandId,
  DeploymentId,
  FreeMap,
  HumanText,
  ProjectRef,
  STATE_BYTES,
  Strict,
  Words,
} from "../wire/schema.ts";

/** How much an operation can break, mildest first. A missing tier counts as the last (§2.1). */
export const TIERS = ["read-only", "mutating", "destructive"] as const;
export type Tier = (typeof TIERS)[number];
export const TierWord: Type.TUnsafe<Tier> = Words(TIERS);

export const DECISIONS = ["auto", "manual"] as const;
export type Decision = (typeof DECISIONS)[number];
const DecisionWord = Words(DECISIONS);

const NAME = "[a-z0-9]+(-[a-z0-9]+)*";
/** Of a plugin and of an operation alike. */
export const PluginName: Type.TString = Type.String({ pattern: `^${NAME}$`, maxLength: 63 });
/** What a plan's line and an operation command are named: `plugin/operation`. */
export const OperationRef: Type.TString = Type.String({ pattern: `^${NAME}/${NAME}$`, maxLength: 128 });
export const PluginVersion: Type.TString = Type.String({
  pattern: "^[0-9A-Za-z][0-9A-Za-z.+_-]*$",
  minLength: 1,
  maxLength: 64,
});

const Operation = Strict({
  name: PluginName,
  tier: TierWord,
  scope: Type.Optional(
    Type.Unsafe<"cluster">({
      type: "string",
      const: "cluster",
      description:
        "Works on an object without a namespace: it needs an access request, whatever the policy says. Absent: in the namespace that its params name.",
    }),
  ),
  description: HumanText(0, 1024),
  paramsSchema: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        "JSON Schema 2020-12 of the operation's params. Absent: any object within the limits, or past 1 MiB of schemas in one list.",
    }),
  ),
});

/** A plugin as the project sees it. `operations[].tier` is the effective one. */
export const Plugin = Strict({
  name: PluginName,
  version: PluginVersion,
  tier: TierWord,
  builtin: Type.Boolean(),
  enabled: Type.Boolean(),
  operations: Type.Array(Operation),
});
export type Plugin = Static<typeof Plugin>;

export const PolicyRule = Strict({
  pattern: Type.String({
    pattern: `^(\\*|${NAME}/(\\*|${NAME}))$`,
    maxLength: 128,
    description: "`plugin/operation`, `plugin/*` or `*`.",
  }),
  decision: DecisionWord,
});
export type PolicyRule = Static<typeof PolicyRule>;

const Policy = Strict({
  rules: Type.Array(PolicyRule),
  default: Type.Unsafe<"manual">({ type: "string", const: "manual" }),
});
export type Policy = Static<typeof Policy>;

/**
 * Params of an operation, free-form here: the operation's own JSON Schema and the limits of §2.4 judge them
 * (INVALID_OPERATION_PARAMS, PARAMS_TOO_LARGE), so that a caller learns which of its plan's lines is wrong.
 */
export const OperationParams = BoundedByRoute(FreeMap);

const Invocation = Strict({
  plugin: PluginName,
  operation: PluginName,
  tier: TierWord,
  decision: DecisionWord,
  status: Words(["dispatched", "pending-approval"]),
  commandId: Type.Optional(CommandId),
});
export type Invocation = Static<typeof Invocation>;

const tierOfOperations = Type.Unsafe<Tier>({
  ...TierWord,
  description: "Of the plugin's operations that say no `tier` of their own.",
});

const projectQuery = Type.Object({ project: Type.Optional(ProjectRef) });
const projectErrors = ["PROJECT_REQUIRED", "NOT_FOUND"] as const;

export const operationRoutes = routes({
  listPlugins: {
    method: "GET",
    path: "/v1/operations/plugins",
    summary: "The plugins of a project, built-in ones first.",
    roles: [...READERS, ...MANAGER],
    query: projectQuery,
    success: 200,
    response: Strict({ plugins: Type.Array(Plugin) }),
    errors: projectErrors,
    repeat: "safe",
  },
  registerPlugin: {
    method: "POST",
    path: "/v1/operations/plugins",
    summary: "Register a custom plugin whose bundle was uploaded; replaces one of the same name.",
    roles: WRITERS,
    query: projectQuery,
    body: Strict({
      name: PluginName,
      version: PluginVersion,
      tier: tierOfOperations,
      metadata: Type.Optional(
        Bounded(
          STATE_BYTES,
          Type.Record(Type.String(), Type.Unknown(), {
            description:
              "What the bundle's `metadata.json` says, in its place: `name` and `version` as in this body, and `operations`, each with `name` and, if it likes, `tier`, `description` and `paramsSchema`. Other keys are kept. Absent: the archive's `metadata.json` is read.",
          }),
        ),
      ),
    }),
    success: 201,
    response: Strict({ name: PluginName, version: PluginVersion, tier: TierWord, enabled: Type.Boolean() }),
    errors: [...projectErrors, "PLUGIN_METADATA_INVALID", "BUNDLE_NOT_UPLOADED", "NAME_TAKEN"],
    repeat: "natural",
    callsOut: true,
  },
  enableBuiltins: {
    method: "PUT",
    path: "/v1/operations/plugins/builtin/enabled",
    summary: "Replace the set of enabled built-in plugins.",
    roles: WRITERS,
    query: projectQuery,
    body: Strict({ names: Type.Array(PluginName, { maxItems: 64, uniqueItems: true }) }),
    success: 200,
    response: Strict({ names: Type.Array(PluginName) }),
    errors: [...projectErrors, "UNKNOWN_PLUGIN"],
    repeat: "natural",
  },
  uploadUrl: {
    method: "POST",
    path: "/v1/operations/plugins/upload-url",
    summary: "A URL to upload a custom plugin's bundle to.",
    roles: WRITERS,
    query: projectQuery,
    body: Strict({ name: PluginName }),
    success: 200,
    response: Strict({ uploadUrl: Type.String(), contentType: Type.String() }),
    errors: [...projectErrors, "NAME_TAKEN", "BUNDLE_STORAGE_UNAVAILABLE"],
    repeat: "none",
    secret: true,
  },
  enablePlugin: {
    method: "PATCH",
    path: "/v1/operations/plugins/{name}/enabled",
    summary: "Enable or disable one plugin; commands already created go on.",
    roles: WRITERS,
    params: Strict({ name: PluginName }),
    query: projectQuery,
    body: Strict({ enabled: Type.Boolean() }),
    success: 200,
    response: Strict({ name: PluginName, builtin: Type.Boolean(), enabled: Type.Boolean() }),
    errors: projectErrors,
    repeat: "state",
  },
  getPolicy: {
    method: "GET",
    path: "/v1/operations/policy",
    summary: "Which operations of a project run by themselves, as far as the vendor decides.",
    roles: [...READERS, ...MANAGER],
    query: projectQuery,
    success: 200,
    response: Policy,
    errors: projectErrors,
    repeat: "safe",
  },
  putPolicy: {
    method: "PUT",
    path: "/v1/operations/policy",
    summary: "Replace the rules of the policy; the order of rules has no meaning.",
    roles: WRITERS,
    query: projectQuery,
    body: Strict({ rules: Type.Array(PolicyRule, { maxItems: 200 }) }),
    success: 200,
    response: Policy,
    errors: [...projectErrors, "DUPLICATE_PATTERN", "UNKNOWN_OPERATION"],
    repeat: "natural",
  },
  invoke: {
    method: "POST",
    path: "/v1/operations/invoke",
    summary: "Run an operation in a deployment, if the policy lets it run without approval.",
    roles: WRITERS,
    query: projectQuery,
    body: Strict({
      deploymentId: DeploymentId,
      plugin: PluginName,
      operation: PluginName,
      params: Type.Optional(OperationParams),
      acceptStale: AcceptStale,
    }),
    success: 200,
    response: Invocation,
    errors: [
      ...projectErrors,
      "INVALID_OPERATION_PARAMS",
      "PLUGIN_DISABLED",
      "INVALID_STATE_TRANSITION",
      "DEPLOYMENT_HAS_NO_MANAGER",
      "RESOURCE_STATE_STALE",
      "PARAMS_TOO_LARGE",
    ],
    repeat: "key",
  },
});
