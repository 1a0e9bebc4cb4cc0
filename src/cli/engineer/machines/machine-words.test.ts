import { expect, test } from "vitest";
import type { Refusal } from "../../../agent/machines/machine-wishes.ts";
import type { Machine } from "../../../contract/machines/machine.ts";
import { MACHINE_DRAIN_CONDITIONS } from "../../../crds/conditions.ts";
import type { DenialReason } from "../../../machine-controller/joins/decide-join.ts";
import { changes, linesOf, whyOf } from "./machine-words.ts";

const AT = "2100-01-01T12:00:00.000Z";
const CAPACITY = { allocated: 0, systemReserve: 0, total: 1 };
const MACHINE: Machine = {
  ...{ machineId: "m-3", status: "draining", capacityGroup: "default", zone: "a", cpu: CAPACITY, memory: CAPACITY },
  ...{ storage: null, drainBlockers: [], drainRequestedAt: AT, drainDeadlineAt: null, drainForce: false },
  ...{ drainedAt: null, publicIp: null, overlayIp: null, lastHeartbeat: AT, runtimeDaemonVersion: null },
  ...{ networkHealth: "healthy", wireguardMesh: null, wireguardMeshObservedAt: null, localOverrides: [] },
  ...{
    localOverridesObservedAt: null,
    replicaCount: 3,
    stale: false,
    statusSince: AT,
    conditions: [],
    joinState: null,
    customerCancelledAt: null,
  },
};
const told = (machine: Machine): readonly string[] => [...linesOf(machine).values()];
const budget = (more: object = {}) => ({ reason: "pod-disruption-budget" as const, workloadName: "shop/api", ...more });

test("who blocks is one line a workload, with its count, the earliest time and the cluster's own words", () => {
  const since = "2100-01-01T12:03:00.000Z";
  const message = "pdb/api allows no disruption: scale deployment/api to 3";
  const drainBlockers = [
    budget({ since: AT }),
    budget({ since, message }),
    { reason: "daemon" as const, replicaId: "log-x" },
  ];
  expect(told({ ...MACHINE, drainDeadlineAt: since, drainBlockers })).toEqual([
    "m-3 is draining, until 2100-01-01T12:03:00Z",
    `  shop/api (2 pods): pod-disruption-budget since 2100-01-01T12:00:00Z: ${message}`,
    "  log-x: daemon: it stays on the machine, and holds nothing up",
  ]);
});

const WAITS_FOR = MACHINE_DRAIN_CONDITIONS.Progressing;

test("a workload is named with its namespace, where the cluster tells that", () => {
  const blocker = budget({ workloadId: "shop/deployment/api", workloadName: "api", replicaId: "shop/api-1" });
  expect(told({ ...MACHINE, drainBlockers: [blocker] })[1]).toMatch(/^ {2}shop\/deployment\/api: /);
});

test("without the cluster's words the reason has a next step", () => {
  expect(told({ ...MACHINE, drainBlockers: [budget()] })[1]).toBe(
    "  shop/api: pod-disruption-budget: raise the budget's maxUnavailable, or run one replica more",
  );
});

test.each([
  [
    { type: "Progressing", status: "False", reason: "AwaitingApproval" },
    "  Progressing=False (AwaitingApproval): the customer must approve; --reason asks for it",
  ],
  [
    { type: "DeadlineExceeded", status: "True", reason: "GoesOn" },
    "  DeadlineExceeded=True (GoesOn): the deadline has passed: it goes on trying, and needs --force to end",
  ],
  [{ type: "Approved", status: "True", reason: "GrantMatched" }, "  Approved=True (GrantMatched)"],
  [
    { type: "JoinApproved", status: "Unknown", reason: "AwaitingApproval" },
    "  JoinApproved=Unknown (AwaitingApproval): the customer lets it in, see kubectl get mjoin -n sallyport-grants",
  ],
  [{ type: "Ready", status: "True", reason: null }, "  Ready=True"],
  [{ type: "Ready", status: "False", reason: "toString" }, "  Ready=False (toString)"],
] as const)("a condition %j", (condition, line) => {
  expect(told({ ...MACHINE, conditions: [condition] })[1]).toBe(line);
});

// What an engineer cannot mend, and what goes on by itself, has no next step.
const GOES_ON = ["Cordoning", "Evicting", "WaitingForPods", "Blocked", "Ended", "InProgress", "NodeDeleted"];
const REFUSALS: readonly Refusal[] = ["DeletedByCustomer", "NameTaken"];
const STOPS = [...WAITS_FOR, ...MACHINE_DRAIN_CONDITIONS.Removed].filter((reason) => !GOES_ON.includes(reason));
test.each([...STOPS, ...REFUSALS, "NodeNotFound"])("a drain that is %s has a next step", (reason) => {
  const conditions = [{ type: "DrainProgressing", status: "False" as const, reason }];
  expect(told({ ...MACHINE, conditions })[1]).toContain(`(${reason}): `);
  expect(whyOf({ ...MACHINE, conditions })).toBe(reason);
});

const DENIALS: readonly DenialReason[] = [
  ...(["DeniedByPerson", "BadRequest", "PoolGone", "PoolClosed", "PoolFull", "NameNotAllowed", "NameTaken"] as const),
  ...(["RequestTaken", "SignerFailed", "SignerSilent"] as const),
];
test.each([...DENIALS, "Expired", "AwaitingSigner", "AwaitingNode"])("a join with %s has a next step", (reason) => {
  const conditions = [{ type: "JoinApproved", status: "False" as const, reason }];
  expect(told({ ...MACHINE, joinState: "denied", conditions })[1]).toContain(`(${reason}): `);
});

test("what the customer cancelled is told with the time and the next step", () => {
  const cancelled = { ...MACHINE, status: "ready" as const, customerCancelledAt: AT };
  expect(told(cancelled)).toEqual([
    "m-3 is ready",
    "  cancelled by the customer at 2100-01-01T12:00:00Z: ask them, then ask for it again",
  ]);
  expect(whyOf(cancelled)).toBe("CancelledByCustomer");
});

test("only what has changed is told, and what is over", () => {
  const before = linesOf({
    ...MACHINE,
    drainBlockers: [budget(), { reason: "unmanaged-pod", workloadName: "shop/job" }],
  });
  expect(changes(before, before)).toEqual([]);
  expect(changes(before, linesOf({ ...MACHINE, drainBlockers: [budget(), budget()] }))).toEqual([
    "  shop/api (2 pods): pod-disruption-budget: raise the budget's maxUnavailable, or run one replica more",
    "  over: unmanaged-pod shop/job",
  ]);
  expect(changes(before, linesOf({ ...MACHINE, status: "drained" }))[0]).toBe("m-3 is drained");
});

test("a machine that does not join says how far it is, and a silent one that it is silent", () => {
  expect(told({ ...MACHINE, status: "joining", joinState: "waiting", stale: true })[0]).toBe(
    "m-3 is joining, its join is waiting, and says nothing any more",
  );
  const conditions = [
    { type: "Drained", status: "False", reason: "InProgress" } as const,
    { type: "Progressing", status: "False", reason: "Queued" } as const,
  ];
  expect(whyOf({ ...MACHINE, joinState: "denied", conditions, drainBlockers: [budget(), budget()] })).toBe(
    "join denied pod-disruption-budget:2 Queued",
  );
  expect(whyOf(MACHINE)).toBeNull();
});
