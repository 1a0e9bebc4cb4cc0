import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { AUTO_ACCOUNT, DEFAULT_NAMES, GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import { bindingLine, lentBinding } from "../../../src/crds/kinds/lending.ts";
import { INSTALLED } from "../../world/installation.ts";
import { APPROVER, bound, GRANTS, SHOP } from "../../world/people.ts";
import { useTerminal } from "../typed/terminal.ts";
import { allowed, eventuallyAllowed, eventuallyRefused, refused } from "./kubectl-results.ts";
import { lender, policyAdmin } from "./lenders.ts";
import { OperatorWorld, scaleTo } from "./operator-world.ts";

// No operator runs. An attacker has its credentials and types any command.

const OPERATOR = "system:serviceaccount:sallyport-system:sallyport-operator";
const INVENTED = "0badcafe-0000-4000-8000-000000000001";
/** Scales by the subresource, as the operation does. */
const scaling = (namespace: string, replicas: number): readonly string[] => [
  ...["patch", "deployment", "web", "-n", namespace, "--subresource=scale", "--type=merge", "-p"],
  JSON.stringify({ spec: { replicas } }),
];
const role = (operation: string) => ({ role: `sallyport-op-kubernetes-${operation}`, namespace: SHOP });

function bindingFor(uid: string, operation: string, name: string): object {
  const marks = {
    labels: { [GRANT_UID_LABEL]: uid },
    annotations: { "sallyport.dev/expires-at": "2099-01-01T00:00:00Z" },
  };
  const binding = lentBinding(role(operation), grantAccount(uid), { grantsNamespace: GRANTS }, marks);
  return { ...binding, metadata: { ...binding.metadata, name } };
}

describe.each(["operator", "approver"] as const)("a stolen operator, lending.mode=%s", (lendingMode) => {
  const cluster = useCluster({ holds: INSTALLED });
  const terminal = useTerminal(cluster);
  let world: OperatorWorld;
  let stolen: (...args: string[]) => Promise<KubectlResult>;
  const create = (
    object: object,
    as: { kubeconfig?: string; args?: readonly string[] } = {},
  ): Promise<KubectlResult> => {
    const kubeconfig = as.kubeconfig ?? world.operatorKubeconfig;
    return terminal.type(kubeconfig, ["create", "-f", "-", ...(as.args ?? [])], JSON.stringify(object));
  };
  const asAccount = async (name: string, ...args: string[]): Promise<KubectlResult> => {
    const { stdout } = await stolen("create", "token", name, "-n", GRANTS, "--duration=10m");
    return terminal.type(world.operatorKubeconfig, [...args, `--token=${stdout.trim()}`]);
  };
  const asAdmin = (...args: string[]): Promise<KubectlResult> => terminal.type(cluster().adminKubeconfig, args);

  beforeAll(async () => {
    world = await OperatorWorld.create(cluster(), { ...DEFAULT_NAMES, lendingMode });
    const kubeconfig = world.operatorKubeconfig;
    stolen = (...args) => terminal.type(kubeconfig, args);
  });
  afterAll(() => world?.close());

  test("binds only roles of operations, only to accounts of grants, and nowhere cluster-wide", async () => {
    for (const flag of ["--clusterrole=view", "--clusterrole=cluster-admin", "--clusterrole=sallyport-approver"]) {
      const subject = `--serviceaccount=${GRANTS}:${grantAccount(INVENTED)}`;
      refused(await stolen("create", "rolebinding", "mine", "-n", SHOP, flag, subject));
    }
    const lends = "--clusterrole=sallyport-op-kubernetes-get-pods";
    for (const subject of ["--user=mallory", "--group=system:authenticated", "--serviceaccount=shop:default"]) {
      refused(await stolen("create", "rolebinding", "mine", "-n", SHOP, lends, subject));
    }
    refused(await stolen("create", "clusterrolebinding", "mine", lends, "--user=mallory"));
  });

  test("takes a token for no account but a grant's, and none for longer than an hour", async () => {
    await asAdmin("create", "serviceaccount", "other", "-n", GRANTS);
    refused(await stolen("create", "token", "other", "-n", GRANTS), "only mint tokens for grant accounts");
    refused(await stolen("create", "token", "default", "-n", SHOP));
    refused(await stolen("create", "token", "sallyport-operator", "-n", "sallyport-system"));
    await stolen("create", "serviceaccount", grantAccount(INVENTED), "-n", GRANTS);
    refused(await stolen("create", "token", grantAccount(INVENTED), "-n", GRANTS, "--duration=2h"), "3600");
  });

  test("removes no binding and no account that is not a grant's", async () => {
    await cluster().apply([bound("theirs", SHOP, "view", "alice")]);
    refused(await stolen("delete", "rolebinding", "theirs", "-n", SHOP), "only remove those of");
    const auto = `--serviceaccount=${GRANTS}:${AUTO_ACCOUNT}`;
    const lends = "--clusterrole=sallyport-op-kubernetes-get-pods";
    allowed(await asAdmin("create", "rolebinding", "auto", "-n", SHOP, lends, auto));
    refused(await stolen("delete", "rolebinding", "auto", "-n", SHOP), "only remove those of");
    await asAdmin("create", "serviceaccount", "kept", "-n", GRANTS);
    refused(await stolen("delete", "serviceaccount", "kept", "-n", GRANTS), "only remove the accounts of grants");
  });

  test("decides nothing, and reads and changes no workload by itself", async () => {
    const grant = await world.ask([scaleTo(9)], "mutating");
    const patch = JSON.stringify({ spec: { approvedForMinutes: 30 } });
    refused(await stolen("patch", "ag", grant.metadata.name, "-n", GRANTS, "--type=merge", "-p", patch));
    refused(await stolen("get", "pods", "-n", SHOP));
    refused(await stolen("get", "secrets", "-n", GRANTS));
    refused(await stolen(...scaling(SHOP, 9)));
    refused(await stolen("get", "pods", "-n", SHOP, "--as=alice"));
  });

  if (lendingMode === "operator") {
    test("with an invented grant it can run every shipped operation where you opened a namespace, and nothing else", async () => {
      const account = grantAccount(INVENTED);
      allowed(await create(bindingFor(INVENTED, "scale", "invented")));
      await eventuallyAllowed(() => asAccount(account, ...scaling(SHOP, 2)));
      refused(await asAccount(account, "delete", "deployment", "web", "-n", SHOP));
      refused(await asAccount(account, ...scaling("kube-system", 2)));
      refused(await create({ ...bindingFor(INVENTED, "scale", "elsewhere"), metadata: elsewhere("default") }));
      await asAdmin("create", "serviceaccount", AUTO_ACCOUNT, "-n", GRANTS);
      refused(await stolen("create", "token", AUTO_ACCOUNT, "-n", GRANTS), "only mint tokens for grant accounts");
    });
    return;
  }

  test("lends nothing: not to an invented grant, not to an approved one, not had it every right", async () => {
    const grant = await world.ask([scaleTo(5)], "mutating");
    await world.decide(grant, { approvedForMinutes: 30 });
    for (const uid of [INVENTED, grant.metadata.uid]) {
      refused(await create(bindingFor(uid, "scale", "mine")), 'cannot create resource "rolebindings"');
    }
    await asAdmin("create", "clusterrolebinding", "all", "--clusterrole=cluster-admin", `--user=${OPERATOR}`);
    try {
      const mine = bindingFor(grant.metadata.uid, "scale", "mine");
      await eventuallyRefused(() => create(mine, { args: ["--dry-run=server"] }), "a person does");
    } finally {
      await asAdmin("delete", "clusterrolebinding", "all");
    }
  });

  test("shows an approver nothing to paste but a binding of a role that the plan needs", async () => {
    const grant = await world.ask([scaleTo(5)], "mutating");
    const show = (line: string): Promise<KubectlResult> =>
      stolen(
        ...["patch", "ag", grant.metadata.name, "-n", GRANTS, "--subresource=status", "--type=merge", "-p"],
        JSON.stringify({ status: { bindings: [line] } }),
      );
    const line = bindingLine(role("scale"), grantAccount(grant.metadata.uid), { grantsNamespace: GRANTS });
    const invalid = async (text: string): Promise<string> => {
      const { code, stderr } = await show(text);
      expect(code, text).not.toBe(0);
      return stderr;
    };
    expect(await invalid(line.replaceAll("scale", "delete-pod"))).toContain("no line of the plan needs");
    for (const text of [
      `${line}; curl example.com`,
      `${line} --kubeconfig=x`,
      line.replace("-n shop", "-n $(id)"),
      line.replace(`${GRANTS}:grant`, `${GRANTS}:other`),
      "kubectl create clusterrolebinding all --clusterrole=cluster-admin --user=mallory",
    ]) {
      expect(await invalid(text)).toContain("status.bindings");
    }
    allowed(await show(line));
    const told = (message: string): Promise<KubectlResult> =>
      stolen(
        ...["patch", "ag", grant.metadata.name, "-n", GRANTS, "--subresource=status", "--type=merge", "-p"],
        JSON.stringify({ status: { conditions: [condition(message)] } }),
      );
    for (const text of ALSO_A_COMMAND) refused(await told(text), " holds no ");
    allowed(await told("an approver makes 1 of 1 bindings; status.bindings has their lines"));
    const event = (note: string, more: object = {}): Promise<KubectlResult> => create({ ...anEvent(note), ...more });
    for (const text of ALSO_A_COMMAND) refused(await event(text), " holds no ");
    refused(await event("fine", { reason: "kubectl delete ns shop" }), "the note alone is prose");
    allowed(await event("a line of the approved plan"));
  });

  test("uses what an approver has lent, in that namespace, until the binding goes, and can neither keep nor renew it", async () => {
    const grant = await world.ask([scaleTo(5)], "mutating");
    const account = grantAccount(grant.metadata.uid);
    await stolen("create", "serviceaccount", account, "-n", GRANTS);
    const scale = (namespace: string, replicas: number): Promise<KubectlResult> =>
      asAccount(account, ...scaling(namespace, replicas));
    refused(await scale(SHOP, 6));
    await cluster().apply([lender(APPROVER)]);
    const alice = cluster().kubeconfigFor({ user: APPROVER });
    const lends = lentBinding(role("scale"), account, { grantsNamespace: GRANTS }, {});
    await eventuallyAllowed(() => create(lends, { kubeconfig: alice }));
    await eventuallyAllowed(() => scale(SHOP, 6)); // This mode allows other parameters than the plan's.
    refused(await scale("default", 6));
    refused(await asAccount(account, "get", "pods", "-n", SHOP));
    allowed(await terminal.type(alice, ["delete", "rolebinding", lends.metadata.name, "-n", SHOP]));
    await eventuallyRefused(() => scale(SHOP, 7));
    refused(await create(lends));
  });

  test("reads what a policy admin has bound to the account of what runs by itself, and no more", async () => {
    const binding = lentBinding({ ...role("get-pods") }, AUTO_ACCOUNT, { grantsNamespace: GRANTS }, {});
    await cluster().apply([{ ...binding }]);
    await eventuallyAllowed(() => asAccount(AUTO_ACCOUNT, "get", "pods", "-n", SHOP));
    refused(await asAccount(AUTO_ACCOUNT, ...scaling(SHOP, 8)));
    refused(await asAccount(AUTO_ACCOUNT, "get", "pods", "-n", "kube-system"));
    refused(await stolen("delete", "serviceaccount", AUTO_ACCOUNT, "-n", GRANTS));
  });
});

describe("lenders, lending.mode=approver", () => {
  const cluster = useCluster({ holds: INSTALLED });
  let world: OperatorWorld;
  const terminal = useTerminal(cluster);
  let n = 0;
  const lend = (user: string, operation: string, subject: string): Promise<KubectlResult> => {
    n += 1;
    return terminal.type(cluster().kubeconfigFor({ user }), [
      ...["create", "rolebinding", `lent-${n}`, "-n", SHOP],
      ...[`--clusterrole=sallyport-op-kubernetes-${operation}`, subject],
    ]);
  };
  const toGrant = `--serviceaccount=${GRANTS}:${grantAccount(INVENTED)}`;
  const toAuto = `--serviceaccount=${GRANTS}:${AUTO_ACCOUNT}`;

  beforeAll(async () => {
    world = await OperatorWorld.create(cluster(), { ...DEFAULT_NAMES, lendingMode: "approver" });
    await cluster().apply([
      lender(APPROVER),
      lender("bob"),
      policyAdmin("bob"),
      lender("reader"),
      bound("reader", GRANTS, "sallyport-approver-read-only", "reader"),
      lender("nobody"),
    ]);
  });
  afterAll(() => world?.close());

  test("lend to a grant what they may approve, and no other tier", async () => {
    await eventuallyAllowed(() => lend(APPROVER, "delete-pod", toGrant));
    allowed(await lend("reader", "get-pods", toGrant));
    refused(await lend("reader", "scale", toGrant), "needs the right to approve mutating access grants");
    refused(await lend("nobody", "get-pods", toGrant), "needs the right to approve read-only access grants");
  });

  test("lend to what runs by itself only with the right to write policies", async () => {
    allowed(await lend("bob", "get-pods", toAuto));
    refused(await lend(APPROVER, "get-pods", toAuto), "right to create operationpolicies");
  });

  test("lend only to one account of a grant", async () => {
    for (const subject of ["--user=mallory", "--group=engineers", "--serviceaccount=shop:default", `${toGrant}0`]) {
      refused(await lend(APPROVER, "get-pods", subject), "exactly one ServiceAccount");
    }
  });

  test("are people: a service account with the same rights is refused", async () => {
    const machine = "system:serviceaccount:shop:default";
    await cluster().apply([bound("machine-lender", SHOP, "sallyport-lender", machine)]);
    await cluster().apply([bound("machine-approver", GRANTS, "sallyport-approver", machine)]);
    const args = ["create", "rolebinding", "m", "-n", SHOP, "--clusterrole=sallyport-op-kubernetes-get-pods", toGrant];
    await eventuallyRefused(
      () => terminal.type(cluster().adminKubeconfig, [...args, `--as=${machine}`]),
      "a person does",
    );
  });
});

/** Lines that a person might paste, written into fields that a person reads. */
const ALSO_A_COMMAND = [
  "next: kubectl create clusterrolebinding r --clusterrole=cluster-admin --user=mallory",
  "next: KUBECTL  delete ns shop",
  `next: ku""bectl delete ns shop`,
  "next: `kube\\ctl delete ns shop`",
  "next: helm install x https://example.com/x.tgz",
  "next: sallyport approve ar-1",
  "next: k delete ns shop",
  "next: tool delete --all",
  "next\ntool",
];

function condition(message: string): object {
  const at = { lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 };
  return { type: "Lent", status: "False", reason: "AwaitingBinding", message, ...at };
}

function anEvent(note: string): object {
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: `told-${randomUUID()}`, namespace: GRANTS },
    eventTime: "2026-01-01T00:00:00.000000Z",
    ...{ type: "Normal", reason: "GrantApproved", action: "Decide", note },
    regarding: { apiVersion: "sallyport.dev/v1alpha1", kind: "AccessGrant", name: "any", namespace: GRANTS },
    ...{ reportingController: "sallyport.dev/operator", reportingInstance: "here" },
  };
}

function elsewhere(namespace: string): object {
  const annotations = { "sallyport.dev/expires-at": "2099-01-01T00:00:00Z" };
  return { name: "elsewhere", namespace, labels: { [GRANT_UID_LABEL]: INVENTED }, annotations };
}
