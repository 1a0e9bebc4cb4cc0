import { describe, expect, it } from "vitest";
import { type Approvable, grantName, kubectlApprove } from "./kubectl.ts";

const HASH = `sha256:${"a".repeat(64)}`;
const request: Approvable = {
  status: "queued",
  risk: "mutating",
  planHash: HASH,
  maxMinutes: 480,
  materialized: { namespace: "sallyport-grants", resourcePlural: "accessgrants.sallyport.dev", name: "ar-1" },
};
const prefix = "kubectl patch accessgrants.sallyport.dev ar-1 -n sallyport-grants --type=merge -p ";

describe("kubectlApprove", () => {
  it.each<[string, Partial<Approvable>, string | null]>([
    ["mutating", {}, `${prefix}'{"spec":{"approvedForMinutes":60}}'`],
    ["read-only", { risk: "read-only" }, `${prefix}'{"spec":{"approvedForMinutes":60}}'`],
    [
      "destructive: cites the hash",
      { risk: "destructive" },
      `${prefix}'{"spec":{"approvedForMinutes":60,"approvedPlanHash":"${HASH}"}}'`,
    ],
    ["short limit", { maxMinutes: 59 }, `${prefix}'{"spec":{"approvedForMinutes":59}}'`],
    ["not in the cluster yet", { materialized: null }, null],
    ["not queued", { status: "pending-approval" }, null],
    ["approved already", { status: "customer-approved" }, null],
    ["rejected", { status: "rejected" }, null],
    ["expired", { status: "expired" }, null],
  ])("%s", (_, change, expected) => {
    expect(kubectlApprove({ ...request, ...change })).toBe(expected);
  });

  it("names the grant as Kubernetes can", () => {
    expect(grantName("ar_0000000000000000000000000001")).toBe("ar-0000000000000000000000000001");
  });
});
