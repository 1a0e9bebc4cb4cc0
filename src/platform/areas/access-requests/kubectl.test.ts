import { describe, expect, it } from "vitest";
import { APPROVE_LINE } from "../../../contract/wire/pasted-line.ts";
import { type Approvable, grantName, kubectlApprove } from "./record.ts";

const HASH = `sha256:${"a".repeat(64)}`;
const placed = { namespace: "sallyport-grants", resourcePlural: "accessgrants.sallyport.dev", name: "ar-1" };
const request: Approvable = {
  status: "queued",
  risk: "mutating",
  planHash: HASH,
  maxMinutes: 480,
  materialized: placed,
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

  it.each([
    { resourcePlural: "--kubeconfig" },
    { resourcePlural: "pods; id" },
    { resourcePlural: "" },
    { namespace: "--kubeconfig=/tmp/x" },
    { namespace: "$(id)" },
    { namespace: "a b" },
  ])("is not made of coordinates that were stored as %j", (change) => {
    const materialized = { ...placed, ...change };
    expect(kubectlApprove({ ...request, materialized })).toBeNull();
  });

  it("is of the form that clients show, and no other form is", () => {
    const name = grantName("ar_0000000000000000000000000001");
    const shown = new RegExp(APPROVE_LINE, "u");
    for (const risk of ["mutating", "destructive"] as const) {
      expect(kubectlApprove({ ...request, risk, materialized: { ...placed, name } })).toMatch(shown);
    }
    const line = kubectlApprove({ ...request, materialized: { ...placed, name } }) ?? "";
    expect(`${line}; id`).not.toMatch(shown);
    expect(line.replace("accessgrants.sallyport.dev", "--kubeconfig")).not.toMatch(shown);
  });

  it("names the grant as Kubernetes can", () => {
    expect(grantName("ar_0000000000000000000000000001")).toBe("ar-0000000000000000000000000001");
  });
});
