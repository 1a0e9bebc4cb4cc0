import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import { NOTHING_WANTED } from "../releases/release-record.ts";
import { DEPLOYMENT } from "../testing/sample.ts";
import {
  CLEAR_AFTER_MS,
  type DeploymentFacts,
  type DeploymentStep,
  leaseAfter,
  nextDeploymentStep,
} from "./deployment.ts";
import type { ListedDeployment } from "./listed-deployment.ts";

const SPACES = ["billing", "shop"];
const listed: ListedDeployment = {
  id: DEPLOYMENT,
  name: "customer-one",
  projectId: "prj_1",
  status: "running",
  platform: "kubernetes",
  model: "pull",
  stackResources: 0,
  desiredReleaseId: null,
  currentReleaseId: null,
  wanted: NOTHING_WANTED,
  tellsHealth: true,
};
function managed(
  changes: Partial<ManagedDeployment["spec"]> = {},
  status?: ManagedDeployment["status"],
): ManagedDeployment {
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "ManagedDeployment",
    metadata: { name: "d", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { deploymentId: DEPLOYMENT, name: "customer-one", project: "prj_1", ...changes },
    ...(status === undefined ? {} : { status }),
  };
}
const far = 10_000_000;
const quiet: DeploymentFacts = {
  listed,
  managed: managed(),
  accepted: SPACES,
  hasRoom: true,
  unlistedAtMs: undefined,
  lease: undefined,
  acquireAtMs: far,
  reportAtMs: far,
  release: undefined,
  isRetried: false,
};
const step = (changes: Partial<DeploymentFacts>, nowMs = 1_000): DeploymentStep =>
  nextDeploymentStep({ ...quiet, ...changes }, nowMs);
const waits = { accepted: [] };

describe("the resource in the cluster", () => {
  test.each([
    ["accepted", SPACES],
    ["not accepted", []],
  ])("is made first and names no namespaces, %s", (_, accepted) => {
    expect(step({ managed: undefined, accepted, acquireAtMs: 0, reportAtMs: 0 })).toEqual({
      do: "create",
      spec: { deploymentId: DEPLOYMENT, name: "customer-one", project: "prj_1" },
    });
  });
  test("has no name that a person could misread", () => {
    for (const name of ["a\u202eb", "a\nb", "", "x".repeat(129)]) {
      const hostile = { ...listed, name, projectId: name };
      expect(step({ managed: undefined, listed: hostile })).toEqual({
        do: "create",
        spec: { deploymentId: DEPLOYMENT, name: DEPLOYMENT },
      });
    }
  });
  test("waits for room, unless the customer has accepted it", () => {
    expect(step({ managed: undefined, hasRoom: false, ...waits })).toEqual({ do: "wait", forMs: undefined });
    expect(step({ managed: undefined, hasRoom: false }).do).toBe("create");
  });
  test("stays as it is when the platform calls it otherwise", () => {
    expect(step({ managed: managed({ name: "before" }) }).do).toBe("wait");
  });
  test("of a deployment that is not served any more is detached once, after the lease is back", () => {
    const gone = { listed: undefined, managed: managed({}, { state: "Serving" }) };
    expect(step({ ...gone, lease: leaseAfter("renew", 0) })).toEqual({ do: "release" });
    expect(step(gone)).toEqual({ do: "detach" });
    expect(step({ listed: undefined, managed: managed({}, { state: "Detached" }) }).do).toBe("wait");
    expect(step({ listed: undefined, managed: undefined })).toEqual({ do: "wait", forMs: undefined });
  });
});

describe("what the customer has not answered", () => {
  const gone = { listed: undefined, unlistedAtMs: 1_000, ...waits };
  test("is cleared away a quarter of an hour after the platform stopped listing it", () => {
    expect(step({ ...gone, managed: managed({}, { state: "Waiting" }) })).toEqual({ do: "detach" });
    const detached = { ...gone, managed: managed({}, { state: "Detached" }) };
    expect(step(detached)).toEqual({ do: "wait", forMs: CLEAR_AFTER_MS });
    expect(step(detached, 1_000 + CLEAR_AFTER_MS)).toEqual({ do: "clear" });
  });
  test.each([
    ["was served before", { managed: managed({}, { state: "Detached", lastReportedAt: "2026-01-01T00:00:00Z" }) }],
    ["was refused by the customer", { managed: managed({ acceptedNamespaces: [] }, { state: "Detached" }) }],
    ["is named in the install values", { managed: managed({}, { state: "Detached" }), accepted: SPACES }],
  ])("stays when it %s", (_, changes) => {
    expect(step({ ...gone, ...changes }, 1_000 + CLEAR_AFTER_MS)).toEqual({ do: "wait", forMs: undefined });
  });
  test("is not leased; a lease from before goes back", () => {
    expect(step({ ...waits, acquireAtMs: 0 }).do).toBe("wait");
    expect(step({ ...waits, lease: leaseAfter("renew", 0) })).toEqual({ do: "release" });
  });
  test.each<[DeploymentStatus, DeploymentStatus, object]>([
    ["pending", "pending", { operationId: null }],
    ["update-pending", "update-pending", {}],
    ["delete-pending", "deleted", {}],
  ])("in %s says %s: it moves nowhere, but does not hold up its own deletion", (status, expected, about) => {
    expect(step({ ...waits, listed: { ...listed, status }, reportAtMs: 0 })).toEqual({
      do: "report",
      report: { state: { status: expected }, ...about },
    });
  });
  test("is not reported where a report needs a lease", () => {
    expect(step({ ...waits, listed: { ...listed, model: "push" }, reportAtMs: 0 }).do).toBe("wait");
  });
});

describe("the lease", () => {
  test("is asked for when it may be", () => {
    expect(step({ acquireAtMs: 1_000 })).toEqual({ do: "acquire" });
    expect(step({ acquireAtMs: 1_001 })).toEqual({ do: "wait", forMs: 1 });
  });
  test("is confirmed at once after it was got", () => {
    expect(step({ lease: leaseAfter("acquire", 1_000) })).toEqual({ do: "renew" });
  });
  test.each([
    ["is not renewed before 60 s", 59_999, "wait"],
    ["is renewed at 60 s", 60_000, "renew"],
    ["is tried for 210 s", 209_999, "renew"],
    ["is given up 210 s after the last success", 210_000, "giveUp"],
  ])("%s", (_, nowMs, expected) => {
    expect(step({ lease: leaseAfter("renew", 0), acquireAtMs: 0, reportAtMs: far }, nowMs).do).toBe(expected);
  });
  test("that was never confirmed is given up after a minute, when the platform ends it too", () => {
    expect(step({ lease: leaseAfter("acquire", 0) }, 59_999).do).toBe("renew");
    expect(step({ lease: leaseAfter("acquire", 0) }, 60_000).do).toBe("giveUp");
  });
  test.each<DeploymentStatus>(["update-failed", "error", "teardown-required", "refresh-failed"])(
    "is not asked for in %s, which is reported all the same",
    (status) => {
      expect(step({ listed: { ...listed, status }, acquireAtMs: 0, reportAtMs: 0 }).do).toBe("report");
    },
  );
});

describe("the report", () => {
  test("of a deployment that pushes needs the lease", () => {
    const push = { ...listed, model: "push" } as const;
    expect(step({ listed: push, reportAtMs: 0 }).do).toBe("wait");
    expect(step({ listed: push, reportAtMs: 0, lease: leaseAfter("renew", 0) }).do).toBe("report");
  });
  test.each<[DeploymentStatus, "pull" | "push", number, DeploymentStatus]>([
    ["pending", "pull", 0, "running"],
    ["provisioning", "pull", 0, "running"],
    ["refresh-failed", "pull", 0, "running"],
    ["pending", "push", 0, "initial-setup"],
    ["initial-setup", "push", 0, "provisioning"],
    ["running", "pull", 0, "running"],
    ["update-failed", "pull", 0, "update-failed"],
    ["delete-pending", "pull", 0, "deleted"],
    ["delete-pending", "pull", 3, "teardown-required"],
    ["delete-pending", "push", 0, "deleting"],
    ["deleting", "push", 3, "teardown-required"],
  ])("of %s (%s, %i resources) says %s", (status, model, stackResources, expected) => {
    const world = {
      listed: { ...listed, status, model, stackResources },
      reportAtMs: 0,
      lease: leaseAfter("renew", 0),
    };
    expect(step(world)).toMatchObject({ do: "report", report: { state: { status: expected } } });
  });
  test.each<DeploymentStatus>(["running", "refresh-failed"])(
    "of %s ends no update that has come since the list was read, accepted or not",
    (status) => {
      const now = { listed: { ...listed, status }, reportAtMs: 0 };
      expect(step(now)).toMatchObject({ report: { operationId: null } });
      expect(step({ ...now, ...waits, listed: { ...listed, status } })).toMatchObject({
        report: { operationId: null },
      });
    },
  );
  test("of an update tells its error as the word on that update", () => {
    const found = step({ listed: { ...listed, status: "update-pending" }, reportAtMs: 0 });
    expect(found).toMatchObject({ do: "report", report: { state: { error: { code: "RUNNER_DISABLED" } } } });
    expect(found).not.toHaveProperty("report.operationId");
  });
});

describe("the report of a deployment that a release is wanted for, while nothing installs it,", () => {
  const report = (changes: Partial<ListedDeployment>): unknown => {
    const found = step({ listed: { ...listed, ...changes }, reportAtMs: 0, lease: leaseAfter("renew", 0) });
    return found.do === "report" ? found.report.state : found;
  };
  const wanted = { desiredReleaseId: "rel_2" };

  test.each<DeploymentStatus>(["pending", "initial-setup", "provisioning", "waiting-for-machines", "updating"])(
    "stays %s and says why",
    (status) => {
      for (const model of ["pull", "push"] as const) {
        const error = { code: "RUNNER_DISABLED", message: expect.stringContaining("rel_2") };
        expect(report({ status, model, ...wanted })).toMatchObject({ status, error });
      }
    },
  );
  test("says so of a changed configuration, too", () => {
    expect(report({ status: "update-pending" })).toMatchObject({
      status: "update-pending",
      error: { code: "RUNNER_DISABLED", message: expect.stringContaining("the change is not installed") },
    });
  });
  test("has no error while it runs what it ran before", () => {
    expect(report({ status: "running", ...wanted, currentReleaseId: "rel_1" })).toEqual({ status: "running" });
  });
  test("leaves what was installed to the person who set it up", () => {
    expect(report({ status: "delete-pending", currentReleaseId: "rel_1" })).toEqual({ status: "teardown-required" });
    expect(report({ status: "delete-pending", ...wanted })).toEqual({ status: "deleted" });
  });
});

test("whatever the world, one clock tick later than every due time something is done or nothing is due", () => {
  const lease = fc.option(
    fc.record({ kind: fc.constantFrom("acquire" as const, "renew" as const), atMs: fc.nat(400_000) }),
    { nil: undefined },
  );
  const time = fc.nat(400_000);
  fc.assert(
    fc.property(
      fc.constantFrom(...DEPLOYMENT_STATUSES),
      fc.constantFrom("pull" as const, "push" as const),
      lease,
      time,
      time,
      time,
      (status, model, held, acquireAtMs, reportAtMs, nowMs) => {
        const world = {
          ...quiet,
          listed: { ...listed, status, model },
          acquireAtMs,
          reportAtMs,
          lease: held && leaseAfter(held.kind, held.atMs),
        };
        const next = nextDeploymentStep(world, nowMs);
        if (next.do !== "wait" || next.forMs === undefined) return;
        expect(next.forMs).toBeGreaterThanOrEqual(0);
        expect(nextDeploymentStep(world, nowMs + next.forMs).do).not.toBe("wait");
      },
    ),
  );
});

describe("with a runner of releases", () => {
  const report = { state: { status: "updating" as const }, operationId: "duop_1", progress: [] };

  test("the report is the runner's", () => {
    const runs = { release: { do: "report" as const, report }, reportAtMs: 0, lease: leaseAfter("renew", 0) };
    expect(step(runs)).toEqual({ do: "report", report });
    expect(step({ ...runs, ...waits, lease: undefined })).toMatchObject({ report: { state: { status: "running" } } });
  });
  test("a deployment without a release says that it works on no update", () => {
    const observes = { release: { do: "observe" as const }, reportAtMs: 0 };
    expect(step(observes)).toEqual({ do: "report", report: { state: { status: "running" }, operationId: null } });
  });
  test("a lease is asked for in a status of failure, once a person asked for a retry", () => {
    const failed = { listed: { ...listed, status: "update-failed" as const }, acquireAtMs: 0 };
    expect(step(failed).do).toBe("wait");
    expect(step({ ...failed, isRetried: true }).do).toBe("acquire");
  });
});
