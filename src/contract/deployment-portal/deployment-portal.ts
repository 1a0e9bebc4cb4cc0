import Type, { type Static } from "typebox";
import { SETUP_METHODS } from "../deployments/deployment.ts";
import { SETUP_ITEMS } from "../deployments/deployment-requests.ts";
import { StackSettings } from "../deployments/stack-settings.ts";
import { CLOUDS } from "../managers/managers.ts";
import { routes } from "../wire/route.ts";
import { FreeMap, Maybe, Platform, Strict, Words } from "../wire/schema.ts";
import { DeploymentInfo } from "./deployment-info.ts";

const count = Type.Integer({ minimum: 0 });
const amount = Type.Number({ minimum: 0 });

/** What a machine has, and what a workload needs of one. */
export const MachineProfile = Strict({
  cpu: Type.String({ description: "Cores, such as `0.5` or `8`." }),
  memoryBytes: amount,
  ephemeralStorageBytes: amount,
  architecture: Maybe(Words(["arm64", "x86_64"])),
  gpu: Maybe(Strict({ type: Type.String(), count })),
});
export type MachineProfile = Static<typeof MachineProfile>;

const range = Strict({ min: count, max: count, default: count });
const Selection = Type.Union([
  Strict({ mode: Type.Literal("fixed"), machine: Type.String(), machines: count }),
  Strict({ mode: Type.Literal("autoscale"), machine: Type.String(), min: count, max: count }),
]);
export type Selection = Static<typeof Selection>;

export const PoolPlan = Strict({
  poolId: Type.String(),
  workloads: Type.Array(Type.String()),
  requirements: MachineProfile,
  scale: Type.Union([
    Strict({ type: Type.Literal("fixed"), machines: range }),
    Strict({ type: Type.Literal("autoscale"), min: range, max: range }),
  ]),
  selected: Type.Optional(Selection),
  recommended: Type.Optional(Selection),
  machines: Type.Array(Strict({ machine: Type.String(), profile: MachineProfile, recommended: Type.Boolean() })),
  errors: Type.Array(Type.String()),
});
export type PoolPlan = Static<typeof PoolPlan>;

const body = Strict({
  platform: Words(CLOUDS),
  setupMethod: Words(SETUP_METHODS),
  stackSettings: StackSettings,
  setupItem: Type.Optional(Words(SETUP_ITEMS)),
  region: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
});
const errors = ["WRONG_TOKEN_KIND", "NOT_FOUND", "SETUP_CONFIG_INVALID", "SETUP_METHOD_NOT_ALLOWED"] as const;

/** What the page behind a deployment link asks the platform. These routes store nothing. */
export const deploymentPortalRoutes = routes({
  info: {
    method: "GET",
    path: "/v1/deployment-info",
    summary: "Shows what a deployment link offers, how far its packages are, and what is set up already.",
    roles: ["deployment-group.deployer", "deployment.viewer", "deployment.manager"],
    query: Type.Object({ platform: Type.Optional(Platform), setupItem: Type.Optional(Words(SETUP_ITEMS)) }),
    success: 200,
    response: DeploymentInfo,
    errors: ["WRONG_TOKEN_KIND", "NOT_FOUND"],
    repeat: "safe",
  },
  computePlan: {
    method: "POST",
    path: "/v1/deployment-info/compute-plan",
    summary: "Computes which machines each pool of the release needs, before anything is set up.",
    roles: ["deployment-group.deployer"],
    body,
    success: 200,
    response: Strict({ pools: Type.Array(PoolPlan) }),
    errors,
    repeat: "natural",
  },
  prepareStack: {
    method: "POST",
    path: "/v1/deployment-info/prepare-stack",
    summary: "Shows the stack that would be set up, and what a setup of it is compatible with.",
    roles: ["deployment-group.deployer"],
    body,
    success: 200,
    response: Strict({
      platform: Words(CLOUDS),
      stack: FreeMap,
      setup: Strict({ target: Type.String(), fingerprint: Type.String(), version: Type.Integer() }),
    }),
    errors,
    repeat: "natural",
  },
});
