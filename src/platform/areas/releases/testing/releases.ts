import { expect } from "vitest";
import type { KubernetesStack } from "../../../../contract/deployments/stack.ts";
import type { Answer } from "../../../testing/harness.ts";
import type { Site } from "../../deployments/testing/site.ts";

const WEB = { id: "web", type: "container" as const, image: "registry.example.com/web:1.4.0" };

/** A small stack with one frozen and one live resource. */
export const STACK: KubernetesStack = {
  id: "shop",
  inputs: [{ id: "size", kind: "integer", label: "Size", required: false, validation: { min: 1, max: 10 } }],
  permissions: { management: "auto", profiles: {} },
  resources: {
    data: { config: { id: "data", type: "bucket" }, dependencies: [], lifecycle: "frozen" },
    web: { config: WEB, dependencies: ["data"], lifecycle: "live" },
  },
};

/** A release of the site's project for Kubernetes; `more` replaces fields of the body. */
export async function release(site: Site, more: object = {}): Promise<string> {
  const body = { project: site.project.name, stack: { kubernetes: STACK }, ...more };
  const answer = await site.call("POST", "/v1/releases", { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.id;
}

export function promote(site: Site, releaseId: string, more: object = {}, channel = "production"): Promise<Answer> {
  return site.call("POST", `/v1/release-channels/${channel}/promote`, {
    query: { project: site.project.name },
    body: { releaseId, ...more },
  });
}
