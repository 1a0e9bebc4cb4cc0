import type { Cloud } from "../../../../contract/managers/managers.ts";
import type { Regions } from "../../../kernel/call/call-config.ts";
import { invalid } from "../../../kernel/errors.ts";

/**
 * How each cloud names its regions. A new region fits without a new version of the platform; a misspelt one, or another
 * cloud's, does not.
 */
const FORMS: Readonly<Record<Cloud, RegExp>> = {
  aws: /^(af|ap|ca|cn|eu|il|me|mx|sa|us)(-gov|-iso[a-z]?)?-(north|south|east|west|central|northeast|northwest|southeast|southwest)-[1-9]$/,
  gcp: /^(africa|asia|australia|europe|me|northamerica|southamerica|us)-(north|south|east|west|central|northeast|northwest|southeast|southwest)[1-9][0-9]?$/,
  azure:
    /^(north|south|east|west|central){0,2}(africa|asia|australia|austria|belgium|brazil|canada|chile|china|denmark|europe|france|germany|greece|india|indonesia|israel|italy|japan|jio|korea|malaysia|mexico|newzealand|norway|poland|qatar|spain|sweden|switzerland|taiwan|uae|uk|us|usdod|usgov)(india)?(north|south|east|west|central|arizona|texas|virginia){0,2}[1-9]?$/,
};
const EXAMPLES: Readonly<Record<Cloud, string>> = { aws: "eu-central-1", gcp: "europe-west3", azure: "westeurope" };

/** @throws VALIDATION_ERROR for what is no region of the cloud. */
export function requireRegion(cloud: Cloud, region: string, supported: Regions | undefined): void {
  if (supported?.[cloud].includes(region) || FORMS[cloud].test(region)) return;
  const message = `must be a region of ${cloud}, such as ${EXAMPLES[cloud]}`;
  throw invalid({ path: "body.region", message });
}
