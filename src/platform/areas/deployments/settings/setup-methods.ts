import { SETUP_METHODS } from "../../../../contract/deployments/deployment.ts";
import { PLATFORMS } from "../../../../contract/wire/schema.ts";

type Method = (typeof SETUP_METHODS)[number];
type Platform = (typeof PLATFORMS)[number];

/** The platforms that each setup method supports. */
const PLATFORMS_OF: Readonly<Record<Method, readonly Platform[]>> = {
  cloudformation: ["aws"],
  "google-oauth": ["gcp"],
  terraform: ["aws", "gcp", "azure", "kubernetes"],
  helm: ["kubernetes"],
  cli: PLATFORMS,
  manual: PLATFORMS,
};

export function methodsFor(platform: Platform): readonly Method[] {
  return SETUP_METHODS.filter((method) => fits(method, platform));
}

export function fits(method: Method, platform: Platform): boolean {
  return PLATFORMS_OF[method].includes(platform);
}
