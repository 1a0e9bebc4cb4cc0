import { expect, it } from "vitest";
import type { DeploymentState, DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import { judge } from "./report.ts";

const AT = new Date("2026-01-01T12:00:00Z");
const ACTIVE = `duop_${"1".repeat(28)}`;
const OTHER = `duop_${"2".repeat(28)}`;

function verdict(from: DeploymentStatus, to: DeploymentStatus, operationId: string | null | undefined): string {
  const times = { requestedAt: AT.toISOString(), startedAt: null, completedAt: null };
  const active = { id: ACTIVE, status: "queued" as const, reasons: ["release" as const], changedKeys: [], ...times };
  const row = {
    ...{ status: from, current_release_id: null, desired_release_id: "rel_2", retry_requested: false },
    ...{ deployment_model: "pull" as const, update_state: { active, next: null, latest: null } },
  };
  const state: DeploymentState = { status: to, platform: "kubernetes", protocolVersion: 1 };
  return judge(row, state, AT, operationId).kind;
}

it.each<[string, DeploymentStatus, DeploymentStatus, string | null | undefined, string]>([
  ["of the active operation", "update-pending", "updating", ACTIVE, "applied"],
  ["of a replaced operation", "update-pending", "running", OTHER, "ignored"],
  ["of none, from before the operation", "update-pending", "running", null, "ignored"],
  ["that names none", "update-pending", "running", undefined, "applied"],
  ["of a deletion, which ends every operation", "delete-pending", "deleted", null, "applied"],
])("a report %s", (_, from, to, operationId, kind) => {
  expect(verdict(from, to, operationId)).toBe(kind);
});

type Current = DeploymentState["currentRelease"];
const setup = (from: DeploymentStatus, desired: string | null, currentRelease: Current, operationId?: null) => {
  const state: DeploymentState = {
    ...{ status: "running", platform: "kubernetes", protocolVersion: 1 },
    ...(currentRelease !== undefined && { currentRelease }),
  };
  const row = {
    ...{ status: from, current_release_id: null, desired_release_id: desired, retry_requested: false },
    ...{ deployment_model: "pull" as const, update_state: null },
  };
  return judge(row, state, AT, operationId);
};

it.each<DeploymentStatus>(["pending", "initial-setup", "provisioning"])(
  "a report that %s runs, from before a release was promoted, ends no setup of that release",
  (from) => {
    for (const current of [undefined, null, { version: null }, { releaseId: "rel_1", version: null }]) {
      expect(setup(from, "rel_2", current, null)).toEqual({ kind: "ignored" });
    }
    expect(setup(from, null, undefined, null)).toMatchObject({ kind: "applied", next: { status: "running" } });
    expect(setup(from, "rel_2", { releaseId: "rel_2", version: null }, null)).toMatchObject({
      kind: "applied",
      next: { current_release_id: "rel_2", desired_release_id: null },
    });
    expect(setup(from, "rel_2", undefined).kind).toBe("applied");
  },
);
