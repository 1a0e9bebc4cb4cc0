import { expect, test } from "vitest";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Exchange, ExchangeRequest } from "../../../kube/client/exchange.ts";
import { applyObject } from "./apply-object.ts";
import { type LiveObject, ReleaseApi } from "./release-api.ts";

const signal = new AbortController().signal;
const MEMBERSHIP = { "example.com/member": "yes" };
const JOBS = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };

/** The names that a plan has asked for because this Job failed before, in two dry runs. */
async function triedFor(name: string): Promise<readonly string[]> {
  const tried: string[] = [];
  const json = async ({ method, path, query }: ExchangeRequest): Promise<unknown> => {
    const asked = path.split("/").at(-1) ?? "";
    tried.push(asked);
    expect([method, query?.dryRun]).toEqual(["PATCH", "All"]);
    if (asked.endsWith("-again")) throw new ApiError("there", { status: 409, reason: "Conflict" });
    return {};
  };
  const api = new ReleaseApi({ json } as unknown as Exchange, () => undefined);
  const metadata = { name, namespace: "shop", labels: MEMBERSHIP };
  const manifest = { apiVersion: "batch/v1", kind: "Job", metadata, spec: {} };
  const listed = {
    ...manifest,
    metadata: { ...metadata, uid: "u-1", resourceVersion: "7", creationTimestamp: "2026-01-01T10:00:00Z" },
    status: { conditions: [{ type: "Failed", status: "True" }] },
  } as unknown as LiveObject;
  const how = { isDryRun: true, takesOver: false, isFrozen: false, wasInstalled: true, isDone: false };
  const wish = { ...how, resource: JOBS, manifest, listed, startedAt: undefined };
  for (let run = 0; run < 2; run += 1) {
    expect(await applyObject(api, MEMBERSHIP, wish, signal)).toMatchObject({ did: "changed", fields: [".status"] });
  }
  return tried;
}

test.each([
  ["migrate", "migrate-"],
  [`${"m".repeat(53)}-9876543210`.slice(0, 63), `${"m".repeat(53)}-`],
  [`${"m".repeat(52)}.-9.876543`, `${"m".repeat(52)}-`],
  ["m".repeat(63), `${"m".repeat(54)}-`],
])("a Job that failed is tried out under a valid name that no one has: %s", async (name, start) => {
  const tried = await triedFor(name);
  expect(tried).toHaveLength(2);
  expect(new Set(tried).size).toBe(2);
  for (const each of tried) {
    expect(each.startsWith(start)).toBe(true);
    expect(each).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    expect(each.length).toBeLessThanOrEqual(63);
  }
});
