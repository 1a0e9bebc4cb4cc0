import type { StackSummary } from "../../../contract/deployment-portal/deployment-info.ts";
import { PLATFORMS } from "../../../contract/wire/schema.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import { modelsOf } from "../releases/record/models.ts";
import { enabledResources } from "../releases/record/resources.ts";

type Config = Readonly<Record<string, unknown>>;

/** Resource types that need a network in the customer's account. */
const NETWORKED: readonly unknown[] = ["container", "daemon", "compute-cluster", "postgres", "network"];

/** Summarises what a release would set up on `platform`, or on the first platform that it supports. */
export function stackSummary(release: ReleaseRow, platform: string | undefined): StackSummary | null {
  const platforms = PLATFORMS.filter((each) => release.stack[each] != null);
  const stack = release.stack[platform ?? platforms[0] ?? ""];
  if (stack == null) return null;
  const configs = enabledResources(stack).map(({ id, config }) => ({ ...config, id }) as Config);
  const count = (type: string): number => configs.filter((config) => config.type === type).length;
  const publicEndpoints = configs.flatMap(endpointsOf);
  const [workers, containers, daemons] = [count("worker"), count("container"), count("daemon")];
  return {
    platforms,
    requiresNetwork: configs.some(({ type }) => NETWORKED.includes(type)),
    customerModels: modelsOf(release).length > 0,
    resourceCounts: {
      workers,
      containers,
      daemons,
      publicHttpsEndpoints: publicEndpoints.length,
      externalInfra: configs.length - workers - containers - daemons,
      total: configs.length,
    },
    publicEndpoints,
  };
}

/** The named `publicEndpoints` of a resource's config. */
function endpointsOf({ id, publicEndpoints }: Config): StackSummary["publicEndpoints"] {
  const listed: readonly unknown[] = Array.isArray(publicEndpoints) ? publicEndpoints : [];
  return listed.filter(isMap).flatMap(({ name, hostLabel, wildcardSubdomains }) => {
    if (typeof name !== "string") return [];
    return {
      resourceId: String(id),
      endpointName: name,
      // The default host label is the name of the endpoint.
      hostLabel: typeof hostLabel === "string" ? hostLabel : name,
      wildcardSubdomains: wildcardSubdomains === true,
    };
  });
}

function isMap(value: unknown): value is Config {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
