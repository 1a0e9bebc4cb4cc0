import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES, GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import { installation } from "../../../src/crds/manifests/installation.ts";
import { WITH_RELEASES } from "../../world/installation.ts";
import { APPROVER, GRANTS, SHOP } from "../../world/people.ts";
import { eventually } from "../../world/wait.ts";
import { NAME_ATTACKS } from "../admission/name-attacks.ts";
import { OBJECT_ATTACKS } from "../admission/object-attacks.ts";
import { POD_ATTACKS } from "../admission/pod-attacks.ts";
import { RELEASE_PASSAGES } from "../admission/release-passages.ts";
import { bound, ONCALL, RBAC, role, setReleaseScene, user } from "../admission/release-scene.ts";
import { BINDINGS, binding, DIGEST, type Lent, say, type Who } from "../admission/release-writes.ts";
import { WORD_ATTACKS } from "../admission/word-attacks.ts";
import { create } from "../admission/writes.ts";
import { inForce, testPassages, testRefusals, useTyping } from "../attacks.ts";
import { OperatorWorld } from "../operator/operator-world.ts";
import { PLAN, ROLLOUT_RUN, ROLLOUT_UID } from "./released-objects.ts";

// Neither agent nor operator runs. An attacker has the credentials of one account, which has every right, and types any
// command: what is refused here is refused by policies alone.

const cluster = useCluster({ holds: WITH_RELEASES });
const kubeconfigs: Partial<Record<Who, string>> = {};
let world: OperatorWorld;
const attacked = { cluster, kubeconfigs };
const typing = useTyping<Who>(attacked);
const { run } = typing;
const ATTACKS = [...OBJECT_ATTACKS, ...POD_ATTACKS, ...NAME_ATTACKS, ...WORD_ATTACKS];

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
  Object.assign(kubeconfigs, await setReleaseScene(cluster()));
  await inForce(ATTACKS, typing);
});
afterAll(() => world?.close());

testRefusals(ATTACKS, attacked, typing);

describe("let through", () => {
  testPassages(RELEASE_PASSAGES, typing);

  test("the API server writes the name of the person who decides", async () => {
    const said = async (as: Who, name: string, spec: object): Promise<string> => {
      const args = ["patch", "rout", name, "-n", GRANTS, "--type=merge", "-o", "json", "-p", JSON.stringify({ spec })];
      const { stdout, stderr } = await run({ as, args });
      expect(stderr).toBe("");
      return stdout;
    };
    expect(JSON.parse(await said("approver", "waiting", { approvedDigest: DIGEST })).spec.approvedBy).toBe(APPROVER);
    expect(JSON.parse(await said("oncall", "waiting", { abortReason: "peak" })).spec.abortedBy).toBe(ONCALL);
    expect(JSON.parse(await said("oncall", "denied", { deniedReason: "no" })).spec.deniedBy).toBe(ONCALL);
  });

  test.each([
    ["sallyport-stamp-rollout-approver", { approvedDigest: DIGEST }, "approvedDigest carries no name"],
    ["sallyport-stamp-rollout-denier", { deniedReason: "no" }, "deniedReason carries no name"],
    ["sallyport-stamp-rollout-aborter", { abortReason: "no" }, "abortReason carries no name"],
  ])(
    "without %s a word that carries no name is refused, and one with the person's own is taken",
    async (policy, spec, words) => {
      await cluster().kubectl(["delete", "mutatingadmissionpolicybinding", policy]);
      await eventually(
        () => run({ as: "approver", args: say("unnamed", spec) }),
        ({ stderr }) => stderr.includes(words),
      );
      const by = { approvedDigest: "approvedBy", deniedReason: "deniedBy", abortReason: "abortedBy" };
      const own = Object.fromEntries(
        Object.entries(by).flatMap(([word, name]) => (word in spec ? [[name, APPROVER]] : [])),
      );
      const { code, stderr } = await run({ as: "approver", args: say("unnamed", { ...spec, ...own }) });
      expect({ code, stderr }).toMatchObject({ code: 0 });
    },
  );
});

// The last: it exchanges a policy.
test("a role of the customer's own goes to the accounts of one rollout too, and to no others", async () => {
  const own = "acme-releases";
  const { policies } = installation({ ...DEFAULT_NAMES, releaseRole: own });
  await cluster().apply(policies.filter(({ metadata }) => metadata.name === BINDINGS));
  await cluster().apply([role(own, { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] })]);
  const lends = (lent: Lent) => run({ as: "operator", ...create(() => binding({ role: own, ...lent })) });
  await eventually(
    () => lends({}),
    ({ code }) => code === 0,
  );
  expect((await lends({ account: PLAN })).code).toBe(0);
  const grant = { account: grantAccount(ROLLOUT_UID), labels: { [GRANT_UID_LABEL]: ROLLOUT_UID } };
  expect((await lends(grant)).stderr).toContain("only make RoleBindings labelled");
  expect((await lends({ minutes: 130 })).stderr).toContain("two hours at most");
  expect((await lends({ kind: "ClusterRoleBinding" })).stderr).toContain("may not touch ClusterRoleBindings");
  expect((await lends({ role: "view" })).stderr).toContain("only make RoleBindings labelled");
  // One that was lent before the customer has chosen that role is taken back all the same.
  await cluster().apply([binding({ role: "view" }) as Record<string, unknown>]);
  const removed = ["delete", "rolebinding", ROLLOUT_RUN, "-n", SHOP, "--dry-run=server"];
  expect(await run({ as: "operator", args: removed })).toMatchObject({ code: 0 });
});

test("a person lends that role to no account among the grants, by any name, and to others as they like", async () => {
  const own = "acme-releases";
  const { policies } = installation({ ...DEFAULT_NAMES, releaseRole: own });
  const lends = (subject: object, kind = "RoleBinding") =>
    run({ as: "admin", ...create(() => bound(kind, "own-role", { name: own }, subject)) });
  const group = (name: string): object => ({ apiGroup: RBAC, kind: "Group", name });
  const among = { kind: "ServiceAccount", name: grantAccount(ROLLOUT_UID), namespace: GRANTS };
  // Until now nothing speaks against it.
  expect(await lends(among)).toMatchObject({ code: 0 });
  await cluster().apply(policies.filter(({ metadata }) => metadata.name === "sallyport-lending"));
  const words = "the role of releases is lent by the operator alone";
  await eventually(
    () => lends(among),
    ({ stderr }) => stderr.includes(words),
  );
  const names = [
    { ...among, name: ROLLOUT_RUN },
    user(`system:serviceaccount:${GRANTS}:${grantAccount(ROLLOUT_UID)}`),
    ...["system:authenticated", "system:serviceaccounts", `system:serviceaccounts:${GRANTS}`].map(group),
  ];
  for (const subject of names) expect((await lends(subject)).stderr).toContain(words);
  expect((await lends(among, "ClusterRoleBinding")).stderr).toContain(words);
  const others = [user("ann@example.com"), { ...among, namespace: SHOP }];
  for (const subject of others) expect(await lends(subject)).toMatchObject({ code: 0 });
});
