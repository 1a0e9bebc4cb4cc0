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
  await world.cluster.kubectl(["delete", ...LEFT_OUT]);
});
afterAll(async () => {
  await operator?.stop();
  await world?.close();
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
  expect(await operator.registry.getSingleMetricAsString("sallyport_policies_present")).not.toContain("{");
});

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
