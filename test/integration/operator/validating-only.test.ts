import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { AccessGrant } from "../../../src/crds/kinds/access-grant.ts";
import { type Rollout, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { MUTATING_POLICIES } from "../../../src/crds/manifests/admission/admission.ts";
import { openReleases } from "../../../src/crds/manifests/installation.ts";
import { INSTALLED } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { APPROVER, GRANTS } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { DEPLOYMENT_ID, OperatorWorld, type RunningOperator, scaleTo } from "./operator-world.ts";

// The chart's `admission.mode=validating-only` on an API server that could stamp: without the stamping policies, and
// without the one that requires a stamp.

const LEFT_OUT = [
  ...MUTATING_POLICIES.flatMap((name) => [`mutatingadmissionpolicybinding/${name}`, `mutatingadmissionpolicy/${name}`]),
  "validatingadmissionpolicybinding/sallyport-named-decisions",
  "validatingadmissionpolicy/sallyport-named-decisions",
];

const cluster = useCluster({ holds: INSTALLED });
let world: OperatorWorld;
let operator: RunningOperator;

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
});
afterAll(async () => {
  await operator?.stop();
  await world?.close();
});

test("deleted where the API server stamps, the three are told as required and not in force", async () => {
  operator = world.start("stamping-before");
  await eventually(
    () => missing(),
    (names) => names.length === 0,
  );
  await world.cluster.kubectl(["delete", ...LEFT_OUT]);
  const names = [...MUTATING_POLICIES, "sallyport-named-decisions"].toSorted();
  await eventually(
    () => missing(),
    (found) => found.toSorted().join() === names.join(),
  );
  await operator.stop();
});

test("as chosen, a typed name that is the approver's own is vouched for, and another one is refused", async () => {
  operator = world.start("validating-only", { admissionMode: "validating-only" });
  const grant = await world.ask([scaleTo(3)], "mutating");
  await world.grant(grant, (each) => identity(each).reason === "AwaitingDecision");
  await expect(decided(grant, "bob")).rejects.toThrow(/decidedBy/);
  await decided(grant, "alice");
  const approved = await world.grant(grant, (each) => identity(each).status === "True");
  expect(identity(approved)).toMatchObject({ reason: "ClaimCheckedByPolicy" });
  expect(approved.status?.state).toBe("Approved");
  expect(await missing()).toEqual([]);
  await operator.stop();
});

test("not chosen, the missing stampers are named", async () => {
  operator = world.start("stamping");
  const grant = await world.ask([scaleTo(4)], "mutating");
  const seen = await world.grant(grant, (each) => identity(each).reason === "NotEnforced");
  expect(identity(seen).message).toContain("admission policies are missing: ");
  for (const name of MUTATING_POLICIES) expect(identity(seen).message).toContain(name);
});

test("told not to look, it vouches for nobody and shows no policy as missing", async () => {
  await operator.stop();
  operator = world.start("unseen", { admissionMode: "unseen" });
  const grant = await world.ask([scaleTo(5)], "mutating");
  const seen = await world.grant(grant, (each) => identity(each).reason === "NotEnforced");
  expect(identity(seen).message).toContain("may not look");
  for (const name of ["sallyport_policies_present", "sallyport_policies_required"]) {
    expect(await operator.registry.getSingleMetricAsString(name)).not.toContain("{");
  }
});

test("on a rollout a typed name must be the user's own too, and a word without one is taken and stays anonymous", async () => {
  await world.cluster.apply(openReleases(undefined, { stamps: false }));
  const digest = `sha256:${"a".repeat(64)}`;
  const [typed, anonymous] = [await planned("typed", digest), await planned("anonymous", digest)];
  const words = [
    [{ approvedDigest: digest, approvedBy: "bob" }, /approvedBy must be the user who approves/],
    [{ deniedReason: "no", deniedBy: "bob" }, /deniedBy must be the user who denies/],
    [{ abortReason: "no", abortedBy: "bob" }, /abortedBy must be the user who aborts/],
  ] as const;
  for (const [spec, refusal] of words) {
    // A policy is in force a moment after it was written.
    await eventually(
      () => say(typed, spec, "--dry-run=server"),
      ({ stderr }) => refusal.test(stderr),
    );
  }
  const own = await say(typed, { approvedDigest: digest, approvedBy: APPROVER });
  expect(JSON.parse(own.stdout).spec, own.stderr).toMatchObject({ approvedDigest: digest, approvedBy: APPROVER });
  const unnamed = await say(anonymous, { approvedDigest: digest });
  const { spec } = JSON.parse(unnamed.stdout);
  expect(spec.approvedDigest, unnamed.stderr).toBe(digest);
  expect(spec).not.toHaveProperty("approvedBy");
});

/** A rollout whose plan was shown. */
async function planned(name: string, plannedDigest: string): Promise<string> {
  const spec = {
    ...{ rolloutId: name, deploymentId: DEPLOYMENT_ID, action: "update" as const, contentName: "rel-1" },
    ...{ contentDigest: plannedDigest, requestedAt: "2026-01-01T12:00:00Z", deadline: "2126-01-01T12:00:00Z" },
  };
  await world.admin.create<Rollout>(rollouts, ours("Rollout", name, spec), signal());
  for (const status of [{ state: "Planning" }, { state: "AwaitingApproval", plannedDigest }]) {
    const patch = { type: "merge", body: { status } } as const;
    await world.admin.patch(rollouts, { name, namespace: GRANTS }, patch, { subresource: "status" }, signal());
  }
  return name;
}

function say(name: string, spec: object, ...more: readonly string[]): Promise<KubectlResult> {
  const patch = ["patch", "rout", name, "-n", GRANTS, "--type=merge", "-o", "json", "-p", JSON.stringify({ spec })];
  return world.cluster.kubectl([...patch, ...more], { kubeconfig: world.cluster.kubeconfigFor({ user: APPROVER }) });
}

/** Policies for which the alert SallyportAdmissionPolicyMissing would fire; undefined before there are any series. */
async function missing(): Promise<readonly string[] | undefined> {
  const text = await operator.registry.metrics();
  const having = (name: string, value: number): readonly string[] =>
    [...text.matchAll(new RegExp(`^${name}\\{policy="([^"]+)"\\} ${value}$`, "gm"))].map(([, policy = ""]) => policy);
  const required = having("sallyport_policies_required", 1);
  if (required.length === 0) return undefined;
  return required.filter((policy) => having("sallyport_policies_present", 0).includes(policy));
}

/** The API server enforces removed policies for up to 3 s more: a stamp would replace what was typed. */
function decided(grant: AccessGrant, decidedBy: string): Promise<AccessGrant> {
  return eventually(
    () =>
      world.decide(grant, { approvedForMinutes: 30, decidedBy }).catch((error: Error) => {
        if (/not yet ready/.test(error.message)) return undefined;
        throw error;
      }),
    () => true,
  );
}

function identity({ status }: AccessGrant): {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
} {
  return status?.conditions?.find(({ type }) => type === "IdentityVerified") ?? {};
}
