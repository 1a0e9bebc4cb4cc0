import { expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { ACCESS_GRANT } from "../../../src/crds/kinds/access-grant.ts";
import { OPERATION_POLICY } from "../../../src/crds/kinds/operation-policy.ts";
import { GRANTS } from "../../world/people.ts";
import { kindObjects } from "../kind-objects.ts";

const cluster = useCluster();
const objects = kindObjects(cluster, [ACCESS_GRANT, OPERATION_POLICY]);
const WINDOW = { schedule: "0 22 * * MON-THU", durationMinutes: 240, timeZone: "Europe/Berlin" };

let made = 0;

async function policyWith(spec: object): Promise<string> {
  made += 1;
  const { status, message } = await objects.create(OPERATION_POLICY, `policy-${made}`, spec);
  return status === 201 ? "taken" : message;
}

test.each([
  ["release/update", "auto", "taken"],
  ["release/rollback", "manual", "a rollback is approved by no person"],
  ["release/rollback", "deny", "taken"],
  ["release/rollback", "auto", "taken"],
  ["release/*", "deny", "taken"],
  ["release/*", "manual", "taken"],
  ["release/*", "auto", "each act is let run by itself by its own name"],
  ["release/promote", "auto", "each act is let run by itself by its own name"],
  ["*", "auto", "taken"],
])("a rule for %s that says %s: %s", async (pattern, decision, answer) => {
  expect(await policyWith({ rules: [{ pattern, decision }] })).toContain(answer);
});

test.each<[string, readonly object[], string]>([
  ["a window", [WINDOW], "taken"],
  ["two windows that begin together", [WINDOW, { ...WINDOW, durationMinutes: 30 }], "taken"],
  ["no window", [], "releaseWindows"],
  ["21 windows", Array.from({ length: 21 }, () => WINDOW), "must have at most 20 items"],
  ["no zone", [{ ...WINDOW, timeZone: undefined }], "timeZone: Required value"],
  ["an offset as its zone", [{ ...WINDOW, timeZone: "+01:00" }], "timeZone"],
  ["a zone of three words", [{ ...WINDOW, timeZone: "America/Argentina/Buenos_Aires" }], "taken"],
  ["a zone with signs", [{ ...WINDOW, timeZone: "Etc/GMT+5" }], "taken"],
  ["a week", [{ ...WINDOW, durationMinutes: 10_080 }], "taken"],
  ["a minute more than a week", [{ ...WINDOW, durationMinutes: 10_081 }], "durationMinutes"],
  ["no length", [{ ...WINDOW, durationMinutes: 0 }], "durationMinutes"],
  ["six fields", [{ ...WINDOW, schedule: "0 0 22 * * MON" }], "needs five fields with one space between them"],
  ["both days", [{ ...WINDOW, schedule: "0 22 1 * MON" }], "needs five fields with one space between them"],
  ["hour 24", [{ ...WINDOW, schedule: "0 24 * * *" }], "needs five fields with one space between them"],
  ["a line break", [{ ...WINDOW, schedule: "0 22 * * *\n" }], "needs five fields with one space between them"],
  ["lists, ranges and steps", [{ ...WINDOW, schedule: "0,30 8-18/2 1-7 JAN-MAR,12 *" }], "taken"],
])("releaseWindows with %s: %#", async (_, releaseWindows, answer) => {
  expect(await policyWith({ releaseWindows })).toContain(answer);
});

test("kubectl shows the windows of a policy", async () => {
  made += 1;
  await objects.create(OPERATION_POLICY, `policy-${made}`, { releaseWindows: [WINDOW] });
  const { stdout, stderr } = await cluster().kubectl(["get", "opp", `policy-${made}`, "-n", GRANTS, "-o", "wide"]);
  expect(stderr).toBe("");
  expect(stdout).toContain("RELEASE-WINDOWS");
  expect(stdout).toContain(WINDOW.schedule);
});

test.each([
  ["kubernetes/scale", "taken"],
  ["release-notes/read", "taken"],
  ["release/update", "a release is allowed by its Rollout, and by no grant"],
  ["release/anything", "a release is allowed by its Rollout, and by no grant"],
])("a plan with the line %s: %s", async (command, answer) => {
  made += 1;
  const spec = {
    requestId: `ar_Case${made}`,
    deploymentId: "dep_1",
    title: "More replicas",
    risk: "mutating",
    maxMinutes: 60,
    decideBefore: "2026-01-02T00:00:00Z",
    planHash: `sha256:${"a".repeat(64)}`,
    planHashVersion: "v1",
    commands: [
      { command: "kubernetes/logs", summary: "read" },
      { command, summary: "do it" },
    ],
  };
  const { status, message } = await objects.create(ACCESS_GRANT, `ar-case${made}`, spec);
  expect(status === 201 ? "taken" : message).toContain(answer);
});
