import { expect } from "vitest";
import type { Answer, World } from "../../../testing/harness.ts";
import { newSite, type Site } from "../../deployments/testing/site.ts";

export const HELM = { enabled: true, chartName: "shop", description: "The shop" };
export const HELM_OUTPUTS = { type: "helm", chart: "oci://registry.example.com/shop", version: "1.0.0" };
export const BUILD_ERROR = { code: "PACKAGE_BUILD_FAILED", message: "no", internal: false };

/** A site that packages, and its builders: keys of its admins. */
export interface BuildSite extends Site {
  builder(path: string, body: object): Promise<Answer>;
  rebuild(): Promise<number>;
  packages(query?: Record<string, string | number>): Promise<Answer["body"][]>;
}

/** @param builds types for which a builder of the workspace has asked already; undefined: all. */
export async function newBuildSite(
  world: World,
  packagesConfig: object = { helm: HELM },
  { builds }: { readonly builds?: readonly string[] } = {},
): Promise<BuildSite> {
  const site = await newSite(world);
  await configure(site, packagesConfig);
  const builder = (path: string, body: object) => world.call("POST", `/v1/packages/${path}`, { key: site.admin, body });
  await builder("lease", { builderId: "first", ...(builds && { types: builds }) });
  return {
    ...site,
    builder,
    async rebuild() {
      const answer = await site.call("POST", "/v1/packages/rebuild", { body: { project: site.project.name } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.packagesCreated;
    },
    async packages(query = {}) {
      const answer = await site.call("GET", "/v1/packages", { query: { limit: 100, ...query } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.items;
    },
  };
}

export async function configure(site: Site, packagesConfig: object): Promise<void> {
  const answer = await site.call("PATCH", `/v1/projects/${site.project.name}`, { body: { packagesConfig } });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}
