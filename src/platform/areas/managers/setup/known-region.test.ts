import { expect, it } from "vitest";
import { CLOUDS } from "../../../../contract/managers/managers.ts";
import { SUPPORTED_REGIONS } from "../../deployment-portal/regions.ts";
import { requireRegion } from "./known-region.ts";

it.each(CLOUDS)("%s knows the regions that the portal offers, and none of another cloud", (cloud) => {
  for (const region of SUPPORTED_REGIONS[cloud]) expect(() => requireRegion(cloud, region, undefined)).not.toThrow();
  for (const other of CLOUDS.filter((each) => each !== cloud)) {
    for (const region of SUPPORTED_REGIONS[other])
      expect(() => requireRegion(cloud, region, undefined), region).toThrow();
  }
});

it.each([
  [
    "aws",
    ["us-gov-west-1", "af-south-1", "cn-northwest-1", "me-central-1"],
    ["mars-1", "eu-west", "eu-west-1a", "EU-WEST-1", "mars-west-1"],
  ],
  ["gcp", ["europe-west12", "me-central2", "africa-south1"], ["mars-1", "europe-west", "europe-west3-a", "mars-west1"]],
  [
    "azure",
    ["southcentralus", "germanywestcentral", "jioindiawest", "usgovvirginia", "westus3"],
    ["mars-1", "mars", "west europe", "europe-west3"],
  ],
] as const)("%s has %j, and not %j", (cloud, real, wrong) => {
  for (const region of real) expect(() => requireRegion(cloud, region, undefined), region).not.toThrow();
  for (const region of wrong) expect(() => requireRegion(cloud, region, undefined), region).toThrow();
});

it("what the platform's settings name is one", () => {
  const supported = { aws: ["mars-1"], gcp: [], azure: [] };
  expect(() => requireRegion("aws", "mars-1", supported)).not.toThrow();
  expect(() => requireRegion("gcp", "mars-1", supported)).toThrow();
});
