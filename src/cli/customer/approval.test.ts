import { expect, test } from "vitest";
import type { AccessGrant, AccessGrantSpec, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import { planHash } from "../../crds/plan.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { FriendlyError, UsageError } from "../kernel/command.ts";
import { runCli } from "../run-cli.ts";
import { approvalOf, approvalText, decisionOf } from "./approval.ts";
import { approveCommand } from "./approve-command.ts";
import { planText, shownPlan } from "./shown-plan.ts";
import { type WindowLimit, windowLimit } from "./window-limit.ts";

const NOW = new Date("2026-01-01T10:00:00Z");
const ACCOUNT = "grant-aaaaaaaa0000";
const LINE = `kubectl create rolebinding ${ACCOUNT}-kubernetes-scale -n shop --clusterrole=sallyport-op-kubernetes-scale --serviceaccount=sallyport-grants:${ACCOUNT}`;
const APPROVERS_LEND: AccessGrantStatus = { state: "Pending", bindings: [LINE] };
const UNLIMITED = { minutes: undefined, isUnseen: false };
const NO_OPTIONS = { minutes: undefined, planHash: undefined, policy: UNLIMITED };

function grant(spec: Partial<AccessGrantSpec> = {}, status: AccessGrantStatus = { state: "Pending" }): AccessGrant {
  const params = { namespace: "shop", kind: "deployment", name: "web", replicas: 5 };
  const commands = [{ command: "kubernetes/scale", params, summary: "more replicas" }];
  const plan = { requestId: "req_1", deploymentId: "dpl_1", risk: "mutating" as const, commands };
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "AccessGrant",
    metadata: {
      name: "req-1",
      namespace: "sallyport-grants",
      uid: "aaaaaaaa-0000-4000-8000-000000000001",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T09:00:00Z",
    },
    spec: {
      ...plan,
      title: "more replicas",
      maxMinutes: 45,
      decideBefore: "2026-01-01T12:00:00Z",
      planHash: planHash(plan),
      planHashVersion: "v1",
      ...spec,
    },
    status,
  };
}

test("where the operator lends, the decision is all: as long as the plan allows, with the hash that was shown", () => {
  const approval = approvalOf(grant(), NO_OPTIONS, NOW);
  expect(approval).toMatchObject({ minutes: 45, isDecided: false, bindings: [] });
  expect(decisionOf(approval, "alice")).toEqual({
    spec: { approvedForMinutes: 45, approvedPlanHash: grant().spec.planHash, decidedBy: "alice" },
  });
  expect(approvalText(approval)).toBe("Saying yes approves it for 45 minutes.\n");
});

test.each([
  ["typed, and more than the policy allows", 40, 15, 40, "for 15 minutes (40 were asked for; the policy allows 15)."],
  ["typed, and as much as the policy allows", 15, 15, 15, "for 15 minutes."],
  ["typed, and less than the policy allows", 10, 15, 10, "for 10 minutes."],
  ["not typed: what the policy allows is asked for", undefined, 15, 15, "for 15 minutes."],
])("the policy's cut is said before the question: minutes %s", (_, typed, allowed, written, words) => {
  const policy = { ...UNLIMITED, minutes: allowed };
  const approval = approvalOf(grant({}, APPROVERS_LEND), { ...NO_OPTIONS, minutes: typed, policy }, NOW);
  expect(approvalText(approval)).toContain(`Saying yes approves it ${words}\n`);
  expect(decisionOf(approval, undefined)).toMatchObject({ spec: { approvedForMinutes: written } });
  const end = new Date(NOW.getTime() + Math.min(written, 15) * 60_000).toISOString().replace(".000Z", "Z");
  expect(approval.bindings).toMatchObject([{ metadata: { annotations: { "sallyport.dev/expires-at": end } } }]);
});

test("an approver who may not read the policies is told that they may allow less", () => {
  const policy = { ...UNLIMITED, isUnseen: true };
  expect(approvalText(approvalOf(grant(), { ...NO_OPTIONS, policy }, NOW))).toBe(
    "Saying yes approves it for 45 minutes, or less where the policies allow less: you may not read them (operationpolicies).\n",
  );
});

test.each<readonly [{ readonly specs?: readonly (number | undefined)[]; readonly status?: number }, WindowLimit]>([
  [{ specs: [45, undefined, 20] }, { minutes: 20, isUnseen: false }],
  [{ specs: [undefined] }, { minutes: undefined, isUnseen: false }],
  [{ status: 403 }, { minutes: undefined, isUnseen: true }],
])("the shortest limit of all policies counts: %j", async ({ specs = [], status }, expected) => {
  const list = async function* () {
    if (status !== undefined) throw new ApiError("no", { status, reason: "" });
    for (const maxWindowMinutes of specs) yield { spec: maxWindowMinutes === undefined ? {} : { maxWindowMinutes } };
  };
  const client = { list } as unknown as Pick<Client, "list">;
  expect(await windowLimit(client, "sallyport-grants", new AbortController().signal)).toEqual(expected);
});

test("an operation on nodes has its rights in the whole cluster, and says so", () => {
  const commands = [{ command: "kubernetes/cordon-node", params: { name: "node-1" }, summary: "keep pods away" }];
  const plan = { requestId: "req_1", deploymentId: "dpl_1", risk: "mutating" as const, commands };
  const approval = approvalOf(grant({ ...plan, planHash: planHash(plan) }, APPROVERS_LEND), NO_OPTIONS, NOW);
  expect(approval.bindings).toMatchObject([{ kind: "ClusterRoleBinding" }]);
  expect(approvalText(approval)).toContain("  in the whole cluster: sallyport-op-kubernetes-cordon-node, as ");
});

test("where approvers lend, the bindings are those of the plan, whatever lines the operator shows", () => {
  const lying = { ...APPROVERS_LEND, bindings: [LINE.replaceAll("scale", "delete-pod")] };
  for (const status of [APPROVERS_LEND, lying]) {
    const { bindings } = approvalOf(grant({}, status), { ...NO_OPTIONS, minutes: 30 }, NOW);
    expect(bindings).toMatchObject([
      {
        metadata: {
          name: `${ACCOUNT}-kubernetes-scale`,
          namespace: "shop",
          annotations: { "sallyport.dev/expires-at": "2026-01-01T10:30:00Z" },
        },
        roleRef: { kind: "ClusterRole", name: "sallyport-op-kubernetes-scale" },
        subjects: [{ kind: "ServiceAccount", name: ACCOUNT, namespace: "sallyport-grants" }],
      },
    ]);
  }
});

test("called again after the approval, it goes on with the bindings", () => {
  const decided = { approvedForMinutes: 20, decidedBy: "alice" };
  expect(approvalOf(grant(decided, APPROVERS_LEND), NO_OPTIONS, NOW)).toMatchObject({
    isDecided: true,
    bindings: [{ metadata: { annotations: { "sallyport.dev/expires-at": "2026-01-01T10:20:00Z" } } }],
  });
  expect(() => approvalOf(grant(decided), NO_OPTIONS, NOW)).toThrow("approved already, by alice");
});

test.each<readonly [string, AccessGrant, object, RegExp]>([
  ["a denied one", grant({ deniedReason: "no" }), {}, /was denied/],
  ["a revoked one", grant({ approvedForMinutes: 5, revokedReason: "no" }), {}, /was revoked/],
  ["one that is over", grant({}, { state: "Lapsed" }), {}, /is over: Lapsed/],
  ["one with the hash of another plan", grant({ planHash: `sha256:${"0".repeat(64)}` }), {}, /not that of its plan/],
  ["another plan than the one cited", grant(), { planHash: "sha256:0" }, /another plan than the one you cite/],
  ["one that the operator has not seen", grant({}, {}), {}, /has not looked at/],
])("does not approve %s", (_, of, options, words) => {
  const attempt = () => approvalOf(of, { ...NO_OPTIONS, ...options }, NOW);
  expect(attempt).toThrow(words);
  expect(attempt).toThrow(FriendlyError);
});

test("more minutes than the plan allows are a wrong call", () => {
  expect(() => approvalOf(grant(), { ...NO_OPTIONS, minutes: 46 }, NOW)).toThrow(UsageError);
});

const shown = (of: AccessGrant): string => planText(shownPlan(of, [{ current: { replicas: 3 } }]));

test("a plan is shown with our sentence, its parameters, the vendor's words and its hash", () => {
  const { planHash: hash } = grant().spec;
  expect(shown(grant({ requestedBy: "ada@example.com", reason: "slow\nsince noon" }))).toBe(`req-1: more replicas
  deployment dpl_1, mutating, asked by ada@example.com
  Pending, to be decided by 2026-01-01T12:00:00Z
  the vendor's reason: slow
    since noon
The plan; each line runs once, with exactly these parameters:
  1. Sets a workload's replicas: deployment web in shop, replicas 3 → 5
     kubernetes/scale {"namespace":"shop","kind":"deployment","name":"web","replicas":5}
     the vendor says: more replicas
  hash ${hash}
`);
});

test.each([
  ["Accepted", "nothing runs until then"],
  ["Permitted", "It cannot run as it is: no rule"],
])("what keeps it from running is said: %s", (type, words) => {
  const condition = { type, status: "False", reason: "No", message: "no rule", lastTransitionTime: "" } as const;
  expect(shown(grant({}, { state: "Pending", conditions: [condition] }))).toContain(words);
  expect(shown(grant({}, { state: "Pending", conditions: [{ ...condition, status: "True" }] }))).not.toContain(words);
});

test.each([
  ["there", ""],
  ["absent", "Line 1: there is no Deployment web in namespace shop.\n"],
  [
    "forbidden",
    "Line 1: you may not look at Deployment web in namespace shop, so whether it is there is not known here.\n",
  ],
  ["unread", "Line 1: Deployment web in namespace shop could not be read, so whether it is there is not known here.\n"],
] as const)("before the question stands whether the target is there: %s", (state, words) => {
  const found = [{ current: {}, target: { object: "Deployment web in namespace shop", state } }];
  const hash = `  hash ${grant().spec.planHash}\n`;
  expect(planText(shownPlan(grant(), found)).split(hash)[1]).toBe(words);
  expect(planText(shownPlan(grant({}, { state: "Completed" }), found)).split(hash)[1]).toBe("");
});

test("a plan with the hash of another one says that it is not to be approved", () => {
  expect(shown(grant({ planHash: `sha256:${"0".repeat(64)}` }))).toContain("do not approve it");
  expect(shown(grant())).not.toContain("do not approve it");
});

test("what the vendor wrote cannot steer the terminal, nor look like our own lines", () => {
  const text = shown(grant({ title: "a\u001b[2J\u202eb", reason: "c\rd\nhash sha256:0" }));
  expect(text).toContain("a\\u001b[2J\\u202eb");
  expect(text).toContain("\n    hash sha256:0\n");
  for (const character of ["\u001b", "\u202e", "\r"]) expect(text).not.toContain(character);
});

test.each([
  [["approve"], "takes the name of one request"],
  [["approve", "a", "b"], "takes the name of one request"],
  [["approve", "a", "--minutes", "0"], "--minutes takes a whole number from 1 to 43200"],
  [["approve", "a", "--minutes", "43201"], "--minutes takes a whole number from 1 to 43200"],
  [["approve", "a", "--minutes", "100000"], "--minutes takes a whole number from 1 to 43200"],
  [["approve", "a", "--force"], "--force"],
])("called wrongly as %j, it says so and exits with 2", async (argv, words) => {
  const said: string[] = [];
  const streams = { out: () => undefined, error: (text: string) => void said.push(text) };
  expect(await runCli([approveCommand("sallyport")], argv, streams, new AbortController().signal)).toBe(2);
  expect(said.join("")).toContain(words);
});
