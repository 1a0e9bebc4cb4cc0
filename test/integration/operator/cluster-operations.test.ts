import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES, EXPIRES_AT_ANNOTATION, GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import type { AccessGrant } from "../../../src/crds/kinds/access-grant.ts";
import { lentBinding } from "../../../src/crds/kinds/lending.ts";
import { type OperationPolicySpec, operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { openCluster } from "../../../src/crds/manifests/installation.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { INSTALLED } from "../../world/installation.ts";
import { condition } from "../../world/objects.ts";
import { APPROVER, bound, GRANTS } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { useTerminal } from "../typed/terminal.ts";
import { allowed, eventuallyAllowed, refused } from "./kubectl-results.ts";
import { DEPLOYMENT_ID, OperatorWorld, type RunningOperator } from "./operator-world.ts";

// Operations on nodes: honest runs, and what a stolen operator can do with the same rights.

const MAIN = join(import.meta.dirname, "../../../bin/sallyport.mjs");
const INVENTED = "0badcafe-0000-4000-8000-000000000001";
const CORDON = "sallyport-op-kubernetes-cordon-node";
const EXPIRES = { [EXPIRES_AT_ANNOTATION]: "2099-01-01T00:00:00Z" };

const node = (name: string): object => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels: { disk: "ssd" } },
  spec: { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"] },
});
const opened = (more: object = {}): OperationPolicySpec => ({
  clusterOperations: [
    { operation: "kubernetes/cordon-node", deployments: [DEPLOYMENT_ID], ...more },
    { operation: "kubernetes/uncordon-node", deployments: [DEPLOYMENT_ID], ...more },
  ],
});
const line = (name: string, operation = "cordon-node") => ({ command: `kubernetes/${operation}`, params: { name } });
const granted = (grant: AccessGrant): { grantName: string } => ({ grantName: grant.metadata.name });

describe.each(["operator", "approver"] as const)("lending.mode=%s", (lendingMode) => {
  const cluster = useCluster({ controllers: true, holds: INSTALLED });
  const terminal = useTerminal(cluster);
  const names = { ...DEFAULT_NAMES, lendingMode };
  let world: OperatorWorld;
  let operator: RunningOperator;
  let stolen: (...args: string[]) => Promise<KubectlResult>;
  const create = (object: object, kubeconfig = world.operatorKubeconfig): Promise<KubectlResult> =>
    terminal.type(kubeconfig, ["create", "-f", "-"], JSON.stringify(object));
  const bindingFor = (uid: string, name: string, role = CORDON): object => {
    const marks = { labels: { [GRANT_UID_LABEL]: uid }, annotations: EXPIRES };
    const made = lentBinding({ role, namespace: undefined }, grantAccount(uid), { grantsNamespace: GRANTS }, marks);
    return { ...made, metadata: { ...made.metadata, name } };
  };
  const asAccount = async (uid: string, ...args: string[]): Promise<KubectlResult> => {
    const { stdout } = await stolen("create", "token", grantAccount(uid), "-n", GRANTS, "--duration=10m");
    return terminal.type(world.operatorKubeconfig, [...args, `--token=${stdout.trim()}`]);
  };
  const patched = (uid: string, name: string, body: object, ...more: string[]): Promise<KubectlResult> =>
    asAccount(uid, "patch", "node", name, "--type=merge", "-p", JSON.stringify(body), ...more);
  const isCordoned = async (name: string): Promise<boolean> => {
    const found = await world.admin.get(resources.nodes, { name }, signal());
    return (found as unknown as { spec: { unschedulable?: boolean } }).spec.unschedulable ?? false;
  };
  const lentWide = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { metadata } of world.admin.list(resources.clusterRoleBindings, {}, signal())) {
      if (metadata.name.startsWith("grant-")) found.push(metadata.name);
    }
    return found;
  };
  const say = async (spec: OperationPolicySpec): Promise<void> => {
    const body = { spec: { clusterOperations: null, ...spec } };
    await world.admin.patch(
      operationPolicies,
      { namespace: GRANTS, name: "default" },
      { type: "merge", body },
      {},
      signal(),
    );
  };
  /** Approves, lends where approvers lend, runs the command and waits for its end. */
  const carriedOut = async (wanted: ReturnType<typeof line>) => {
    const grant = await world.approved([wanted]);
    const run = await world.invoke(wanted.command, wanted.params, granted(grant));
    if (lendingMode === "approver") {
      const shown = await world.grant(grant, ({ status }) => (status?.bindings ?? []).length > 0);
      const args = shown.status?.bindings?.[0]?.split(" ").slice(1) ?? [];
      allowed(await cluster().kubectl(args, { kubeconfig: cluster().kubeconfigFor({ user: APPROVER }) }));
    }
    return world.ended(run);
  };
  /** What the conditions of an undecided request say, once `reason` is among them. */
  const foretold = async (wanted: ReturnType<typeof line>, reason: string): Promise<string> => {
    const asked = await world.ask([wanted], "mutating");
    const said = (grant: AccessGrant): string => condition(grant, "Permitted");
    const told = await world.grant(asked, (grant) => said(grant).endsWith(reason));
    expect(told.status?.state).toBe("Pending");
    return told.status?.conditions?.find(({ type }) => type === "Permitted")?.message ?? "";
  };
  const held = async (wanted: ReturnType<typeof line>, reason: string, more: object = {}): Promise<void> => {
    const ended = await world.ended(await world.invoke(wanted.command, wanted.params, more));
    expect([ended.status?.state, condition(ended, "Authorized")]).toEqual(["Held", `False/${reason}`]);
  };

  beforeAll(async () => {
    world = await OperatorWorld.create(cluster(), names);
    const kubeconfig = world.operatorKubeconfig;
    stolen = (...args) => terminal.type(kubeconfig, args);
    for (const name of ["node-1", "node-2"]) allowed(await create(node(name), cluster().adminKubeconfig));
    operator = world.start("operator-under-test", { accessCheckIntervalMs: 1_000 });
  });
  afterAll(async () => {
    await operator?.stop();
    await world?.close();
  });

  test("before you open it: an approved plan is held, and a stolen operator has no right on a node or a ClusterRoleBinding", async () => {
    await held(line("node-1"), "PolicyDenied", granted(await world.approved([line("node-1")])));
    refused(await stolen("get", "nodes"));
    refused(await stolen("get", "clusterrolebindings"));
    refused(await create(bindingFor(INVENTED, "mine")));
    expect(await isCordoned("node-1")).toBe(false);
  });

  test("before you decide, the request says what it lacks: a policy that opens it, and the right to lend its role", async () => {
    const right = lendingMode === "operator" ? `bind clusterroles/${CORDON}` : "get, list, delete clusterrolebindings";
    const both = await foretold(line("node-1"), "PolicyDenied");
    expect(both).toContain("do not open kubernetes/cordon-node on its object");
    expect(both).toContain(right);
    await say(opened());
    expect(await foretold(line("node-1"), "RuleMissing")).toContain(`${right} in the whole cluster`);
    await say({});
  });

  describe("opened by you", () => {
    beforeAll(async () => {
      await cluster().apply([
        ...openCluster(names),
        ...(lendingMode === "approver"
          ? [{ ...bound("wide", "", "sallyport-cluster-lender", APPROVER), ...WIDE }]
          : []),
      ]);
      await say(opened());
    });

    test("a node is cordoned and uncordoned by approved plans, and nothing that was lent is left", async () => {
      const cordoned = await carriedOut(line("node-1"));
      expect(cordoned.status).toMatchObject({
        state: "Succeeded",
        result: { name: "node-1", unschedulable: true, changed: true },
      });
      expect([await isCordoned("node-1"), await isCordoned("node-2")]).toEqual([true, false]);
      expect((await carriedOut(line("node-1", "uncordon-node"))).status?.state).toBe("Succeeded");
      expect(await isCordoned("node-1")).toBe(false);
      expect(await eventually(lentWide, (left) => left.length === 0)).toEqual([]);
    });

    test.runIf(lendingMode === "approver")(
      "sallyport approve lends in the whole cluster, as the approver",
      async () => {
        const { metadata } = await world.ask([line("node-2")], "mutating");
        const asked = await world.grant({ metadata } as never, ({ status }) => (status?.bindings ?? []).length > 0);
        const file = cluster().kubeconfigFor({ user: APPROVER });
        const typed = ["approve", metadata.name, "--minutes", "30", "--yes", "--kubeconfig", file];
        const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...typed]);
        expect(stdout).toContain(`${CORDON} is lent in the whole cluster\n`);
        const run = await world.invoke("kubernetes/cordon-node", { name: "node-2" }, granted(asked));
        expect((await world.ended(run)).status?.state).toBe("Succeeded");
        expect(await isCordoned("node-2")).toBe(true);
        expect((await carriedOut(line("node-2", "uncordon-node"))).status?.state).toBe("Succeeded");
        expect(await eventually(lentWide, (left) => left.length === 0)).toEqual([]);
      },
    );

    test("a hostile platform and a stolen agent cordon nothing but the node of an approved plan, once", async () => {
      const grant = await world.approved([line("node-1")]);
      await held(line("node-2"), "ParamsMismatch", granted(grant));
      await held(line("node-1", "uncordon-node"), "ParamsMismatch", granted(grant));
      await held(line("node-1"), "NoGrant");
      const both = { command: "kubernetes/cordon-node", params: { name: "node-1", namespace: "shop" } };
      await held(both as never, "InvalidParams", granted(grant));
      expect([await isCordoned("node-1"), await isCordoned("node-2")]).toEqual([false, false]);
    });

    test("your word is for a deployment and, if you like, for nodes: without it an approved plan is held", async () => {
      await foretold(line("node-1"), "RightsComplete");
      await say(opened({ names: ["node-2"] }));
      await foretold(line("node-1"), "PolicyDenied");
      await held(line("node-1"), "PolicyDenied", granted(await world.approved([line("node-1")])));
      await say(opened({ deployments: ["dpl_other"] }));
      await held(line("node-1"), "PolicyDenied", granted(await world.approved([line("node-1")])));
      await say({});
      await held(line("node-1"), "PolicyDenied", granted(await world.approved([line("node-1")])));
      await say(opened());
      expect(await isCordoned("node-1")).toBe(false);
    });

    test("a stolen operator makes no other ClusterRoleBinding, changes no node itself, and removes no binding of yours", async () => {
      const account = `--serviceaccount=${GRANTS}:${grantAccount(INVENTED)}`;
      for (const role of ["view", "cluster-admin", "sallyport-op-kubernetes-delete-pod", "sallyport-approver"]) {
        refused(await stolen("create", "clusterrolebinding", "mine", `--clusterrole=${role}`, account));
        refused(await create(bindingFor(INVENTED, "mine", role)));
      }
      for (const subject of ["--user=mallory", "--group=system:authenticated", "--serviceaccount=shop:default"]) {
        refused(await stolen("create", "clusterrolebinding", "mine", `--clusterrole=${CORDON}`, subject));
      }
      refused(await stolen("delete", "clusterrolebinding", "cluster-admin"), "may not touch ClusterRoleBindings");
      refused(await stolen("patch", "node", "node-1", "--type=merge", "-p", '{"spec":{"unschedulable":true}}'));
      refused(await stolen("patch", "clusterrole", CORDON, "--type=merge", "-p", '{"rules":[]}'));
      // In both modes a person who may approve may lend, and in the whole cluster only these roles.
      const asAdmin = (role: string): Promise<KubectlResult> =>
        cluster().kubectl(["create", "clusterrolebinding", "x", `--clusterrole=${role}`, account, "--dry-run=server"]);
      refused(await asAdmin("sallyport-op-kubernetes-delete-pod"), "lent in one namespace at a time");
      const auto = [`--clusterrole=${CORDON}`, `--serviceaccount=${GRANTS}:sallyport-auto`];
      refused(
        await cluster().kubectl(["create", "clusterrolebinding", "x", ...auto, "--dry-run=server"]),
        "never runs by itself",
      );
    });

    test("an account that was lent a cordon writes nothing of a node but that, in that direction", async () => {
      const uid = lendingMode === "operator" ? INVENTED : (await world.approved([line("node-1")])).metadata.uid;
      // A stolen operator would not sweep what belongs to no grant.
      await operator.stop();
      await stolen("create", "serviceaccount", grantAccount(uid), "-n", GRANTS);
      if (lendingMode === "operator") {
        refused(
          await create({ ...bindingFor(uid, "pinned"), metadata: { ...PINNED, labels: { [GRANT_UID_LABEL]: uid } } }),
        );
        allowed(await create(bindingFor(uid, "lent")));
      } else {
        refused(await create(bindingFor(uid, "lent")), 'cannot create resource "clusterrolebindings"');
        const subject = `--serviceaccount=${GRANTS}:${grantAccount(uid)}`;
        allowed(await cluster().kubectl(["create", "clusterrolebinding", "lent", `--clusterrole=${CORDON}`, subject]));
      }
      await eventuallyAllowed(() => patched(uid, "node-1", { spec: { unschedulable: true } }));
      const only = "only cordon or uncordon a node";
      refused(await patched(uid, "node-1", { spec: { unschedulable: false } }), "uncordons it with uncordon-node");
      for (const body of [
        { metadata: { labels: { disk: "none" } } },
        { metadata: { annotations: { "example.com/note": "x" } } },
        { metadata: { finalizers: ["example.com/kept"] } },
        { spec: { taints: [{ key: "x", effect: "NoExecute" }] } },
        { spec: { unschedulable: true, providerID: "aws:///x" } },
        { spec: { unschedulable: true, configSource: null, taints: [{ key: "x", effect: "NoSchedule" }] } },
      ]) {
        refused(await patched(uid, "node-2", body), only);
      }
      refused(await patched(uid, "node-1", { status: { capacity: { cpu: "0" } } }, "--subresource=status"));
      refused(await asAccount(uid, "delete", "node", "node-1"));
      refused(await asAccount(uid, "get", "nodes"));
      refused(await asAccount(uid, "get", "pods", "-A"));
      refused(await asAccount(uid, "drain", "node-1"));
      // The mode allows another node than the plan's, because RBAC knows no plan. Names in the role narrow it.
      allowed(await patched(uid, "node-2", { spec: { unschedulable: true } }));
      await cluster().kubectl(["uncordon", "node-2"]);
      const narrow = [0, 1].map((at) => ({ op: "add", path: `/rules/${at}/resourceNames`, value: ["node-1"] }));
      allowed(await cluster().kubectl(["patch", "clusterrole", CORDON, "--type=json", "-p", JSON.stringify(narrow)]));
      await eventually(
        () => patched(uid, "node-2", { spec: { unschedulable: true } }),
        ({ code }) => code !== 0,
      );
      allowed(await patched(uid, "node-1", { spec: { unschedulable: true } }));
      await cluster().kubectl(["delete", "clusterrolebinding", "lent"]);
      await eventually(
        () => patched(uid, "node-1", { spec: { unschedulable: true } }),
        ({ code }) => code !== 0,
      );
      await cluster().kubectl(["uncordon", "node-1"]);
      operator = world.start("operator-under-test", { accessCheckIntervalMs: 1_000 });
    });

    test("closed again, an approved plan cannot run", async () => {
      await cluster().kubectl(["delete", "clusterrole", "sallyport-operator-cluster-target", CORDON]);
      await say({});
      await held(line("node-1"), "PolicyDenied", granted(await world.approved([line("node-1")])));
      refused(await create(bindingFor(INVENTED, "late")));
      expect(await isCordoned("node-1")).toBe(false);
    });
  });
});

/** As a ClusterRoleBinding. */
const WIDE = { kind: "ClusterRoleBinding", metadata: { name: "wide" } };
const PINNED = { name: "pinned", annotations: EXPIRES, finalizers: ["example.com/kept"] };
