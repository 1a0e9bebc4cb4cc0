import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { AccessGrant } from "../../../src/crds/kinds/access-grant.ts";
import { MUTATING_POLICIES } from "../../../src/crds/manifests/admission/admission.ts";
import { eventually } from "../wait.ts";
import { OperatorWorld, type RunningOperator, scaleTo } from "./operator-world.ts";

// The chart's `admission.mode=validating-only` on an API server that could stamp: without the stamping policies, and
// without the one that requires a stamp.

const LEFT_OUT = [
  ...MUTATING_POLICIES.flatMap((name) => [`mutatingadmissionpolicybinding/${name}`, `mutatingadmissionpolicy/${name}`]),
  "validatingadmissionpolicybinding/sallyport-named-decisions",
  "validatingadmissionpolicy/sallyport-named-decisions",
];

const cluster = useCluster();
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
