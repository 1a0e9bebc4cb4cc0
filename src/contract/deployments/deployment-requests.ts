import Type from "typebox";
import {
  Bounded,
  DeploymentGroupId,
  FreeMap,
  ManagerId,
  Maybe,
  PLATFORMS,
  Platform,
  ProjectRef,
  ReleaseId,
  SMALL_DOCUMENT_BYTES,
  Strict,
  VALUES_BYTES,
  WordList,
  Words,
} from "../wire/schema.ts";
import { Input, InputValues, PURPOSES, SETUP_METHODS } from "./deployment.ts";
import { DEPLOYMENT_STATUSES, EnvironmentInfo, EnvironmentVariable } from "./deployment-state.ts";
import { StackSettings } from "./stack-settings.ts";

const DEPLOYMENT_NAME = "^(?!dep[-_])[a-z0-9](-?[a-z0-9])*$";
export const SETUP_ITEMS = ["deployment", "models", "keys", "bucket", "registry", "sandbox"] as const;

export const name = Type.String({ minLength: 2, maxLength: 100, pattern: DEPLOYMENT_NAME });
export const channel = Type.String({ minLength: 1, maxLength: 63, pattern: "^[a-z][a-z0-9-]*$" });
const operatorScope = Type.String({ minLength: 1, maxLength: 512 });
export const status = Words(DEPLOYMENT_STATUSES);
const purpose = Words(PURPOSES);

export const environmentVariables = Bounded(VALUES_BYTES, Type.Array(EnvironmentVariable, { maxItems: 200 }));

/** What lists and stats can be narrowed to (§24.2). */
export const filters = {
  project: Type.Optional(ProjectRef),
  deploymentGroup: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "Id or name." })),
  name: Type.Optional(Type.String({ maxLength: 100 })),
  managerId: Type.Optional(ManagerId),
  purpose: Type.Optional(purpose),
  search: Type.Optional(Type.String({ maxLength: 256, description: "Id, or part of the name or of the group's." })),
  status: Type.Optional(WordList(DEPLOYMENT_STATUSES)),
  environment: Type.Optional(WordList(PLATFORMS, { description: "Platforms." })),
};

/** §24.3. */
export const CreateDeployment = Strict({
  name,
  platform: Platform,
  project: Type.Optional(ProjectRef),
  deploymentGroupId: Type.Optional(DeploymentGroupId),
  managerId: Type.Optional(ManagerId),
  setupItem: Type.Optional(Words(SETUP_ITEMS)),
  setupMethod: Type.Optional(Words(SETUP_METHODS)),
  stackSettings: Type.Optional(StackSettings),
  pinnedReleaseId: Maybe(ReleaseId),
  releaseChannel: Type.Optional(channel),
  initialDesiredRelease: Type.Optional(Words(["active", "none"])),
  environmentVariables: Type.Optional(environmentVariables),
  environmentInfo: Maybe(EnvironmentInfo),
  resourcePrefix: Type.Optional(Type.String({ pattern: "^[a-z](?:[a-z0-9]|-(?=[a-z0-9])){1,38}[a-z0-9]$" })),
  publicSubdomain: Maybe(Type.String({ minLength: 1, maxLength: 63 })),
  setupMetadata: Maybe(Bounded(SMALL_DOCUMENT_BYTES, FreeMap)),
  inputValues: Type.Optional(InputValues),
  operatorScope: Maybe(operatorScope),
  operatorPermission: Maybe(Words(["observe", "manage"])),
});

/** The inputs of a release and what of them has a value. */
export const Inputs = { inputs: Type.Array(Input), values: FreeMap, providedInputIds: Type.Array(Type.String()) };
