import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import type { AccessGrant, GrantLine } from "../../crds/kinds/access-grant.ts";
import type { OperationPolicySpec } from "../../crds/kinds/operation-policy.ts";
import {
  approvedGrant,
  at,
  automatic,
  DEPLOYMENT_ID,
  gateInput,
  grant,
  INVOCATION_UID,
  invocation,
  SCALE,
} from "../testing/fixtures.ts";
import { claimDigest, type GateInput, gate, REFUSALS } from "./gate.ts";
import { mergePolicies } from "./policy.ts";

const policy = (...specs: OperationPolicySpec[]) => mergePolicies(specs.map((spec) => ({ spec })));
const withParams = (params: Record<string, unknown>) => invocation({ params: { ...SCALE.params, ...params } });
const summary = "s";

const AUTOMATIC: OperationPolicySpec = { rules: [{ pattern: "*", decision: "auto" }] };
const cordon = (params: Record<string, unknown>) => invocation({ operation: "cordon-node", params });
const alone = () => automatic({ operation: "cordon-node", tier: "mutating", params: { name: "node-1" } });
const openedTo = (deployment: string, names?: string[]): OperationPolicySpec => ({
  clusterOperations: [{ operation: "kubernetes/cordon-node", deployments: [deployment], ...(names && { names }) }],
});

/** The line of the plan, in `state`, claimed by `commandId` if it is given. */
function used(state: GrantLine["state"], commandId?: string, uid = INVOCATION_UID): AccessGrant {
  const claim = commandId === undefined ? {} : { commandId, digest: claimDigest(uid) };
  return approvedGrant({}, { commands: [{ index: 0, state, ...claim }] });
}

function marked(metadata: Partial<AccessGrant["metadata"]>): AccessGrant {
  const approved = approvedGrant();
  return { ...approved, metadata: { ...approved.metadata, ...metadata } };
}

const NAMED = new Map([[DEPLOYMENT_ID, ["shop"]]]);

const allowed: readonly (readonly [string, Partial<GateInput>, string])[] = [
  ["the approved line", {}, "GrantMatched"],
  ["the first millisecond of the window", { now: at("10:00:00.000") }, "GrantMatched"],
  ["the last millisecond of the window", { now: at("10:59:59.999") }, "GrantMatched"],
  [
    "the last millisecond before the deadline",
    { invocation: invocation({ deadline: at("10:30:00.001").toISOString() }) },
    "GrantMatched",
  ],
  [
    "keys of params in another order",
    { invocation: invocation({ params: { replicas: 5, name: "web", kind: "deployment", namespace: "shop" } }) },
    "GrantMatched",
  ],
  ["a tier overstated by the caller", { invocation: invocation({ tier: "destructive" }) }, "GrantMatched"],
  [
    "a risk overstated by the plan",
    { grant: approvedGrant({ risk: "destructive", approvedPlanHash: grant({ risk: "destructive" }).spec.planHash }) },
    "GrantMatched",
  ],
  [
    "a deployment that the install values name",
    { deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "x" } }], named: NAMED },
    "GrantMatched",
  ],
  ["a planned line", { grant: used("Planned") }, "GrantMatched"],
  ["our own claim, before the start", { grant: used("Starting", "cmd_1") }, "GrantMatched"],
  [
    "an approval with a grant that the policy would not need",
    { policy: policy({ defaults: { mutating: "auto" } }) },
    "GrantMatched",
  ],
  [
    "a read-only operation that the policy lets run",
    { invocation: automatic(), grant: undefined, policy: policy({ defaults: { "read-only": "auto" } }) },
    "PolicyAuto",
  ],
  [
    "a mutating one that the policy lets run",
    {
      invocation: automatic({
        ...invocation().spec,
        operation: "scale",
        tier: "mutating",
        params: SCALE.params,
        grantName: undefined as never,
      }),
      grant: undefined,
      policy: policy({ defaults: { mutating: "auto" } }),
    },
    "PolicyAuto",
  ],
];

test.each(allowed)("runs: %s", (_, more, reason) => {
  const verdict = gate(gateInput(more));
  expect(verdict).toMatchObject({ do: "run", reason });
});

test.each<readonly [string, Partial<GateInput>, string]>([
  ["an unknown operation", { invocation: invocation({ operation: "exec" }) }, "UnknownOperation"],
  ["another plugin's operation", { invocation: invocation({ plugin: "debug" }) }, "UnknownOperation"],
  [
    "an act of a release, by a rule that names it",
    {
      invocation: automatic({ plugin: "release", operation: "update" }),
      policy: policy({ rules: [{ pattern: "release/update", decision: "auto" }] }),
    },
    "UnknownOperation",
  ],
  [
    "an act of a release, by an approved line that the API server of an older kind let through",
    {
      invocation: invocation({ plugin: "release", operation: "update" }),
      grant: approvedGrant({ commands: [{ command: "release/update", summary, params: SCALE.params }] }),
    },
    "UnknownOperation",
  ],
  ["a tier understated by the caller", { invocation: invocation({ tier: "read-only" }) }, "TierMismatch"],
  ["a missing parameter", { invocation: invocation({ params: { namespace: "shop" } }) }, "InvalidParams"],
  ["no params at all", { invocation: invocation({ params: {} }) }, "InvalidParams"],
  ["an unknown parameter", { invocation: withParams({ force: true }) }, "InvalidParams"],
  ["a parameter of another type", { invocation: withParams({ replicas: "5" }) }, "InvalidParams"],
  ["a name that would climb out of its path", { invocation: withParams({ name: "../pods" }) }, "InvalidParams"],
  ["a deployment that is not here", { deployments: [] }, "DeploymentNotServed"],
  [
    "another deployment's namespace",
    { deployments: [{ spec: { deploymentId: "dpl_2", name: "x", acceptedNamespaces: ["shop"] } }] },
    "DeploymentNotServed",
  ],
  [
    "a detached deployment",
    {
      deployments: [
        {
          spec: { deploymentId: DEPLOYMENT_ID, name: "x", acceptedNamespaces: ["shop"] },
          status: { state: "Detached" },
        },
      ],
    },
    "DeploymentNotServed",
  ],
  [
    "a deployment that the customer has not answered",
    { deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "x" } }] },
    "DeploymentNotAccepted",
  ],
  [
    "a deployment whose acceptance was taken back",
    { deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "x", acceptedNamespaces: [] } }] },
    "DeploymentNotAccepted",
  ],
  [
    "namespaces that only the agent's report names",
    { deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "x" }, status: { namespaces: ["shop"] } }] },
    "DeploymentNotAccepted",
  ],
  [
    "install values that name it for another deployment",
    {
      deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "x" } }],
      named: new Map([["dpl_2", ["shop"]]]),
    },
    "DeploymentNotAccepted",
  ],
  ["install values alone, while the platform lists nothing", { deployments: [], named: NAMED }, "DeploymentNotServed"],
  [
    "a namespace that is not open",
    { deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "x", acceptedNamespaces: ["other"] } }] },
    "NamespaceNotOpen",
  ],
  [
    "a policy that denies, approved or not",
    { policy: policy({ rules: [{ pattern: "kubernetes/scale", decision: "deny" }] }) },
    "PolicyDenied",
  ],
  [
    "one of two policies that denies",
    {
      policy: policy({ rules: [{ pattern: "*", decision: "auto" }] }, { rules: [{ pattern: "*", decision: "deny" }] }),
    },
    "PolicyDenied",
  ],
  ["a read-only operation without any policy", { invocation: automatic(), grant: undefined }, "NoGrant"],
  [
    "a read-only operation that the policy wants approved",
    { invocation: automatic(), grant: undefined, policy: policy({ defaults: { "read-only": "manual" } }) },
    "NoGrant",
  ],
  ["a grant that is not there", { grant: undefined }, "NoGrant"],
  ["a grant of another deployment", { grant: approvedGrant({ deploymentId: "dpl_2" }) }, "ParamsMismatch"],
  ["a grant that waits", { grant: grant() }, "GrantClosed"],
  ["a grant that was denied", { grant: grant({ deniedReason: "no" }) }, "GrantClosed"],
  ["a grant that was revoked", { grant: approvedGrant({ revokedReason: "enough" }) }, "GrantClosed"],
  ["a grant that is being deleted", { grant: marked({ deletionTimestamp: "2026-01-01T10:29:00Z" }) }, "GrantClosed"],
  ...(["Denied", "Lapsed", "Revoked", "Expired", "Superseded", "Completed"] as const).map(
    (state) => [`a grant that says ${state}`, { grant: approvedGrant({}, { state }) }, "GrantClosed"] as const,
  ),
  ["a status that says Approved without an approval", { grant: grant({}, approvedGrant().status) }, "GrantClosed"],
  ["the end of the window, exactly", { now: at("11:00:00.000") }, "GrantClosed"],
  [
    "a forged end of the window",
    { grant: approvedGrant({}, { approvedUntil: "2026-01-01T23:00:00Z" }), now: at("11:00:00") },
    "GrantClosed",
  ],
  [
    "a window that began after decideBefore",
    {
      grant: approvedGrant({}, { approvedAt: "2026-01-01T12:00:01Z", approvedUntil: "2026-01-01T13:00:00Z" }),
      now: at("12:30:00"),
    },
    "GrantClosed",
  ],
  ["a window that cannot be read", { grant: approvedGrant({}, { approvedUntil: "soon" }) }, "GrantClosed"],
  [
    "a hash that is not the plan's",
    { grant: approvedGrant({ planHash: `sha256:${"0".repeat(64)}` }) },
    "PlanHashMismatch",
  ],
  ["a hash of another version", { grant: approvedGrant({ planHashVersion: "v2" }) }, "PlanHashMismatch"],
  ["a line swapped after the hash", { grant: swapped() }, "PlanHashMismatch"],
  [
    "an approved hash that is another's",
    { grant: approvedGrant({ approvedPlanHash: `sha256:${"0".repeat(64)}` }) },
    "PlanHashMismatch",
  ],
  [
    "a destructive plan approved without its hash",
    { grant: approvedGrant({ risk: "destructive" }) },
    "PlanHashMismatch",
  ],
  ["a risk understated by the plan", { grant: approvedGrant({ risk: "read-only" }) }, "RiskUnderstated"],
  [
    "a plan with an unknown line, not called destructive",
    {
      grant: approvedGrant({
        commands: [
          { ...SCALE, summary },
          { command: "other/thing", summary },
        ],
      }),
    },
    "RiskUnderstated",
  ],
  [
    "one parameter more than approved",
    {
      grant: approvedGrant({
        commands: [{ command: "kubernetes/logs", summary, params: { namespace: "shop", pod: "a" } }],
      }),
      invocation: invocation({ operation: "logs", params: { namespace: "shop", pod: "a", tailLines: 200 } }),
    },
    "ParamsMismatch",
  ],
  ["another value than approved", { invocation: withParams({ replicas: 6 }) }, "ParamsMismatch"],
  [
    "another command than approved",
    { invocation: invocation({ operation: "restart-pod", params: { namespace: "shop", pod: "a" } }) },
    "ParamsMismatch",
  ],
  [
    "a line approved without params, run with some",
    { grant: approvedGrant({ commands: [{ command: SCALE.command, summary }] }) },
    "ParamsMismatch",
  ],
  ["a line that another command used", { grant: used("Succeeded", "cmd_2") }, "LineUsed"],
  ["a line that another command has claimed", { grant: used("Starting", "cmd_2") }, "LineUsed"],
  ["a line that ended unknown", { grant: used("Unknown", "cmd_2") }, "LineUsed"],
  ["a line that this command has run", { grant: used("Succeeded", "cmd_1") }, "LineUsed"],
  ["a line that this command is running", { grant: used("Running", "cmd_1") }, "LineUsed"],
  [
    "a line that an earlier object of this name has claimed",
    { grant: used("Starting", "cmd_1", "another-uid") },
    "LineUsed",
  ],
])("refuses: %s", (_, more, reason) => {
  expect(gate(gateInput(more))).toMatchObject({ do: "refuse", reason });
});

function swapped(): AccessGrant {
  const approved = approvedGrant();
  const commands = [{ ...SCALE, summary, params: { ...SCALE.params, replicas: 500 } }];
  return { ...approved, spec: { ...approved.spec, commands } };
}

test("waits until the approval is recorded, and until a window that has not begun", () => {
  const unseen = grant({ approvedForMinutes: 60, decidedBy: "alice" }, { state: "Pending" });
  expect(gate(gateInput({ grant: unseen }))).toMatchObject({ do: "wait" });
  expect(gate(gateInput({ now: at("09:59:59.900") }))).toMatchObject({ do: "wait", againMs: 100 });
});

test("expires at the deadline, exactly, whatever else is wrong", () => {
  const late = invocation({ deadline: at("10:30:00").toISOString(), operation: "nonsense" });
  expect(gate(gateInput({ invocation: late }))).toMatchObject({ do: "expire" });
  expect(gate(gateInput({ invocation: invocation({ deadline: "not a time" }) }))).toMatchObject({ do: "expire" });
});

test("of two equal lines the first free one is taken, and its end is the window's", () => {
  const twice = {
    commands: [
      { ...SCALE, summary },
      { ...SCALE, summary },
    ],
  };
  const first = approvedGrant(twice, { commands: [{ index: 0, state: "Succeeded", commandId: "cmd_0" }] });
  expect(gate(gateInput({ grant: first }))).toMatchObject({
    granted: { index: 1, claimed: false, until: at("11:00:00"), grantUid: first.metadata.uid },
  });
});

const anything = fc.record({
  invocation: fc.record({
    deadline: fc.constantFrom(undefined, "2026-01-01T10:29:00Z", "2026-01-01T12:00:00Z"),
    operation: fc.constantFrom("scale", "get-pods", "exec"),
    tier: fc.constantFrom("read-only", "mutating", "destructive"),
    params: fc.constantFrom(SCALE.params, { namespace: "shop" }, { namespace: "kube-system" }, {}),
    grantName: fc.constantFrom(undefined, "req-1"),
  }),
  spec: fc.record(
    {
      approvedForMinutes: fc.constantFrom(30, 60),
      deniedReason: fc.constant("no"),
      revokedReason: fc.constant("enough"),
      risk: fc.constantFrom("read-only", "mutating"),
      planHash: fc.constantFrom("sha256:0"),
    },
    { requiredKeys: [] },
  ),
  state: fc.constantFrom("Pending", "Approved", "Expired", "Completed"),
  line: fc.constantFrom("Planned", "Starting", "Succeeded"),
  minutes: fc.integer({ min: -40, max: 80 }),
  decision: fc.constantFrom("auto", "manual", "deny"),
});

test("whatever comes, the gate has a word, and runs only what a policy or an open, matching grant allows", () => {
  fc.assert(
    fc.property(anything, (drawn) => {
      const { deadline, grantName, ...fields } = drawn.invocation;
      const optional = { ...(deadline && { deadline }), ...(grantName && { grantName }) };
      const made = grantName
        ? invocation({ ...fields, ...optional } as never)
        : automatic({ ...fields, ...optional } as never);
      const claim = drawn.line === "Planned" ? {} : { commandId: "cmd_9" };
      const approved = approvedGrant(drawn.spec as never, {
        state: drawn.state as never,
        commands: [{ index: 0, state: drawn.line as never, ...claim }],
      });
      const now = new Date(at("10:00:00").getTime() + drawn.minutes * 60_000);
      const rules = policy({ rules: [{ pattern: "*", decision: drawn.decision as never }] });
      const verdict = gate(
        gateInput({ invocation: made, grant: grantName ? approved : undefined, now, policy: rules }),
      );
      if (verdict.do === "refuse") expect(REFUSALS).toContain(verdict.reason);
      if (verdict.do !== "run") return;
      expect(drawn.decision).not.toBe("deny");
      expect(fields.params).toHaveProperty("namespace", "shop");
      if (verdict.granted === undefined) {
        expect([verdict.reason, grantName, drawn.decision]).toEqual(["PolicyAuto", undefined, "auto"]);
        return;
      }
      const { spec } = approved;
      expect([spec.deniedReason, spec.revokedReason, drawn.line, drawn.state === "Expired"]).toEqual([
        undefined,
        undefined,
        "Planned",
        false,
      ]);
      expect(drawn.minutes).toBeGreaterThanOrEqual(0);
      expect(drawn.minutes).toBeLessThan(spec.approvedForMinutes ?? 0);
      expect(fields.params).toEqual(SCALE.params);
    }),
    { numRuns: runs(2_000) },
  );
});

const CORDON = { command: "kubernetes/cordon-node", params: { name: "node-1" } };
const OPENED: OperationPolicySpec = {
  clusterOperations: [{ operation: "kubernetes/cordon-node", deployments: [DEPLOYMENT_ID] }],
};
const cordoning = (more: Partial<GateInput> = {}): GateInput =>
  gateInput({
    invocation: invocation({ operation: "cordon-node", params: CORDON.params }),
    grant: approvedGrant({ commands: [{ ...CORDON, summary }] }),
    policy: policy(OPENED),
    ...more,
  });

test("an operation of cluster scope runs where the policies open it to the deployment, in no namespace", () => {
  expect(gate(cordoning())).toMatchObject({
    do: "run",
    reason: "GrantMatched",
    bound: { namespace: undefined, object: "node-1" },
  });
});

test.each<readonly [string, Partial<GateInput>, string]>([
  ["no policy", { policy: policy() }, "PolicyDenied"],
  ["a policy that lets all of its tier run by itself", { policy: policy(AUTOMATIC) }, "PolicyDenied"],
  ["a policy that opens it to another deployment", { policy: policy(openedTo("dpl_2")) }, "PolicyDenied"],
  ["a policy that opens it on another node", { policy: policy(openedTo(DEPLOYMENT_ID, ["node-2"])) }, "PolicyDenied"],
  [
    "a deployment that nobody accepted",
    { deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "x" } }] },
    "DeploymentNotAccepted",
  ],
  ["a deployment that is not here", { deployments: [] }, "DeploymentNotServed"],
  ["another node than the plan's", { invocation: cordon({ name: "node-2" }) }, "ParamsMismatch"],
  ["a namespace beside the node", { invocation: cordon({ name: "node-1", namespace: "shop" }) }, "InvalidParams"],
  ["several nodes", { invocation: cordon({ name: "node-1,node-2" }) }, "InvalidParams"],
  [
    "the other direction",
    { invocation: invocation({ operation: "uncordon-node", params: CORDON.params }) },
    "PolicyDenied",
  ],
  [
    "no grant, though a rule lets it run by itself",
    { invocation: alone(), policy: policy({ ...OPENED, ...AUTOMATIC }) },
    "NoGrant",
  ],
])("an operation of cluster scope is refused with %s", (_, more, reason) => {
  expect(gate(cordoning(more))).toMatchObject({ do: "refuse", reason });
});
