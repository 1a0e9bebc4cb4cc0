import type { ModelRequirement } from "../../../../contract/deployment-groups/setup-config.ts";
import type { ReleaseRow } from "../../../database/tables/releases.ts";
import { enabledResources } from "./resources.ts";

const CLIENT_APIS = ["openai-chat", "openai-responses", "anthropic-messages"] as const;
/** The limit of requirements of one item (§4.2). */
const MAX_MODELS = 100;

/** The models that the `ai` resources of a release need in the customer's account, on any platform, each once. */
export function modelsOf({ stack }: Pick<ReleaseRow, "stack">): ModelRequirement[] {
  const wanted = Object.values(stack)
    .flatMap((each) => (each === null ? [] : enabledResources(each)))
    .filter(({ config }) => config.type === "ai")
    .flatMap(({ config }) => (Array.isArray(config.modelRequirements) ? config.modelRequirements : []))
    .flatMap(requirement);
  const byModel = new Map(wanted.map((each) => [each.publicModelId, each]));
  return [...byModel.values()].slice(0, MAX_MODELS);
}

function requirement(given: unknown): readonly ModelRequirement[] {
  if (typeof given !== "object" || given === null) return [];
  const { publicModelId, clientApis, required } = given as Readonly<Record<string, unknown>>;
  if (typeof publicModelId !== "string") return [];
  const apis = CLIENT_APIS.filter((api) => Array.isArray(clientApis) && clientApis.includes(api));
  return [{ publicModelId, clientApis: apis, required: required !== false }];
}
