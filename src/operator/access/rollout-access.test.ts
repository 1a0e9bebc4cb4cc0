import { expect, test } from "vitest";
import { EXPIRES_AT_ANNOTATION, operationRole } from "../../crds/group.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { planAccount, ROLLOUT_UID_LABEL, rolloutAccount } from "../../crds/release-names.ts";
import { resources } from "../../kube/objects/resource.ts";
import { FakeCluster, refusal } from "../testing/fake-cluster.ts";
import { at, NAMESPACE } from "../testing/fixtures.ts";
import type { AccessClient } from "./access.ts";
import { RolloutAccess } from "./rollout-access.ts";

const signal = new AbortController().signal;
const UID = "aaaaaaaa-0000-4000-8000-000000000001";
const rollout = {
  metadata: { name: "duop-1", namespace: NAMESPACE, uid: UID },
  spec: { deploymentId: "dep_A.1" },
} as Rollout;
const ROLE = operationRole("release", "apply");

function scene() {
  const cluster = new FakeCluster();
  const accessWith = (role: string): RolloutAccess =>
    new RolloutAccess(cluster.client(), { grantsNamespace: NAMESPACE, roleKind: "Role", role });
  const access = accessWith(ROLE);
  const ends = (): readonly (string | undefined)[] =>
    cluster.all(resources.roleBindings).map(({ metadata }) => metadata.annotations?.[EXPIRES_AT_ANNOTATION]);
  return { cluster, access, accessWith, ends };
}

test("an account that goes with its rollout, and a binding in each namespace with its end", async () => {
  const { cluster, access } = scene();
  expect(await access.open("rollout", rollout, ["shop", "web"], at("13:00:00"), signal)).toBe(
    "token-of-rollout-aaaaaaaa0000.dep-a-1",
  );
  const name = rolloutAccount(rollout);
  expect(cluster.peek(resources.serviceAccounts, name, NAMESPACE)).toMatchObject({
    metadata: {
      labels: { [ROLLOUT_UID_LABEL]: UID },
      ownerReferences: [{ kind: "Rollout", name: "duop-1", uid: UID, blockOwnerDeletion: false }],
    },
    automountServiceAccountToken: false,
  });
  for (const namespace of ["shop", "web"]) {
    expect(cluster.peek(resources.roleBindings, name, namespace)).toMatchObject({
      metadata: {
        labels: { [ROLLOUT_UID_LABEL]: UID },
        annotations: { [EXPIRES_AT_ANNOTATION]: "2026-01-01T13:00:00Z" },
      },
      roleRef: { kind: "Role", name: ROLE },
      subjects: [{ kind: "ServiceAccount", name, namespace: NAMESPACE }],
    });
  }
});

test("a binding of the same end is left as it is; one that a crash has left with another end is made anew", async () => {
  const { cluster, access, ends } = scene();
  await access.open("plan", rollout, ["shop"], at("12:10:00"), signal);
  await access.open("plan", rollout, ["shop"], at("12:10:00"), signal);
  expect(cluster.changes().filter((change) => change === "delete rolebindings")).toEqual([]);
  await access.open("plan", rollout, ["shop"], at("12:30:00"), signal);
  expect(ends()).toEqual(["2026-01-01T12:30:00Z"]);
});

test("a binding of the role of before is made anew, as an operator with another setting finds it", async () => {
  const { cluster, access, accessWith } = scene();
  await access.open("rollout", rollout, ["shop"], at("13:00:00"), signal);
  await accessWith("mine").open("rollout", rollout, ["shop"], at("13:00:00"), signal);
  expect(cluster.all(resources.roleBindings)).toMatchObject([{ roleRef: { kind: "Role", name: "mine" } }]);
});

test("close takes both accounts with their bindings, also where a namespace is closed to us now", async () => {
  const { cluster, access } = scene();
  for (const kind of ["plan", "rollout"] as const) await access.open(kind, rollout, ["shop"], at("13:00:00"), signal);
  cluster.fault = ({ verb, namespace }) => {
    if (verb === "delete" && namespace === "closed") throw refusal(403, "Forbidden");
  };
  await access.close(["plan", "rollout"], rollout, ["closed", "shop"], signal);
  await access.close(["plan", "rollout"], rollout, ["closed", "shop"], signal);
  expect([...cluster.all(resources.roleBindings), ...cluster.all(resources.serviceAccounts)]).toEqual([]);
});

test("namespaces are visited side by side, eight at once", async () => {
  const places = Array.from({ length: 20 }, (_, index) => `place-${index}`);
  let underWay = 0;
  let most = 0;
  const visit = async (): Promise<boolean> => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return true;
  };
  const list = async function* () {
    yield { metadata: { name: String(await visit()) } };
  };
  const client = { delete: visit, list } as unknown as AccessClient;
  const access = new RolloutAccess(client, { grantsNamespace: NAMESPACE, roleKind: "Role", role: ROLE });
  await access.close(["plan", "rollout"], rollout, places, signal);
  expect(most).toBe(8);
  most = 0;
  await access.leftOvers(places, signal);
  expect(most).toBe(8);
});

test("what is left is told with its rollout, bindings before accounts", async () => {
  const { cluster, access } = scene();
  await access.open("plan", rollout, ["shop"], at("13:00:00"), signal);
  cluster.fault = ({ verb, namespace }) => {
    if (verb === "list" && namespace === "closed") throw refusal(403, "Forbidden");
  };
  const found = await access.leftOvers(["closed", "shop", "web"], signal);
  const told = found.map(({ kind, rolloutUid, object }) => [kind, rolloutUid, object.metadata.name]);
  expect(told).toEqual([
    ["RoleBinding", UID, planAccount(rollout)],
    ["ServiceAccount", UID, planAccount(rollout)],
  ]);
});
