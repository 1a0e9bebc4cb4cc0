import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../../crds/manifests/admission/admission.ts";
import { approvedGrant, grant } from "../testing/fixtures.ts";
import { OPERATION_RESULTS, operatorMetrics } from "./metrics.ts";

const POLICIES = [...VALIDATING_POLICIES, ...MUTATING_POLICIES];
const now = (): Date => new Date("2026-01-01T00:00:00Z");

async function scrape(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

test("every known series is there, at 0, before anything happened", async () => {
  const registry = new Registry();
  operatorMetrics(registry, { grants: () => [], isLeader: () => false, now });
  const lines = await scrape(registry);
  for (const result of OPERATION_RESULTS) {
    expect(lines).toContain(`sallyport_operations_total{plugin="kubernetes",operation="scale",result="${result}"} 0`);
  }
  for (const line of [
    "sallyport_operator_leader 0",
    'sallyport_grants{state="Approved"} 0',
    'sallyport_grant_transitions_total{from="Pending",to="Approved"} 0',
    'sallyport_refused_total{reason="ParamsMismatch"} 0',
    'sallyport_operations_in_progress{plugin="kubernetes"} 0',
    'sallyport_policies_present{policy="sallyport-stamp-decider"} 0',
    'sallyport_policies_required{policy="sallyport-stamp-decider"} 0',
    'sallyport_policies_required{policy="sallyport-grant-decisions"} 1',
    'sallyport_redactions_total{kind="result",rule="jwt"} 0',
    'sallyport_access_sweeps_total{result="failed"} 0',
    "sallyport_operation_lease_conflicts_total 0",
  ]) {
    expect(lines).toContain(line);
  }
});

test("work adds to values, never to the number of series, whatever names come in", async () => {
  const registry = new Registry();
  const metrics = operatorMetrics(registry, {
    grants: () => [grant(), approvedGrant(), approvedGrant()],
    isLeader: () => true,
    now,
  });
  const before = (await scrape(registry)).length;
  for (const command of ["kubernetes/scale", "evil/name", "kubernetes/scale\n"]) {
    metrics.operationStarted(command);
    metrics.operationEnded(command, "success", 0.02);
    metrics.operationEnded(command, "held");
    metrics.operationLeft(command);
  }
  metrics.refused("LineUsed");
  metrics.claimLost();
  metrics.transition("none", "Pending");
  const absent = Object.fromEntries(POLICIES.map((name) => [name, false]));
  metrics.policies({
    presence: { ...absent, "sallyport-stamp-decider": true, "something-else": true },
    required: { ...absent, "sallyport-stamp-revoker": true, "something-else": true },
  });
  metrics.redacted("jwt");
  metrics.swept("ok", new Date(5_000));
  metrics.removed("RoleBinding");
  const lines = await scrape(registry);
  expect(lines).toHaveLength(before);
  for (const line of [
    "sallyport_operator_leader 1",
    'sallyport_grants{state="Approved"} 2',
    'sallyport_operations_total{plugin="other",operation="other",result="held"} 2',
    'sallyport_operation_duration_seconds_count{plugin="kubernetes",operation="scale"} 1',
    'sallyport_policies_present{policy="sallyport-stamp-decider"} 1',
    'sallyport_policies_required{policy="sallyport-stamp-revoker"} 1',
    "sallyport_access_sweep_last_success_timestamp_seconds 5",
  ]) {
    expect(lines).toContain(line);
  }
});

test("policies that are not looked at have no series, which an alert would take for missing ones", async () => {
  const registry = new Registry();
  operatorMetrics(registry, { grants: () => [], isLeader: () => false, now }).policies({
    presence: {},
    required: {},
  });
  expect((await scrape(registry)).filter((line) => line.includes("sallyport_policies_"))).toEqual([]);
});
