import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { EXPIRES_AT_ANNOTATION, GRANT_UID_LABEL, grantAccount } from "../../crds/group.ts";
import { type KubeObject, resources } from "../../kube/objects/resource.ts";
import { FakeCluster, refusal } from "../testing/fake-cluster.ts";
import { approvedGrant, at, automatic, GRANT_UID, INVOCATION_UID, invocation, NAMESPACE } from "../testing/fixtures.ts";
import { Access } from "./access.ts";
import { livingOwners, Sweeper, type SweepPorts, sweep } from "./sweep.ts";

const signal = new AbortController().signal;
const ORPHAN = "dddddddd-0000-4000-8000-000000000001";
const READ_LIVE = "eeeeeeee-0000-4000-8000-000000000001";
const made = (kind: string, name: string, namespace: string, uid: string, expiresAt?: string): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: {
    name,
    namespace,
    uid: `uid-of-${name}`,
    resourceVersion: "0",
    creationTimestamp: "2026-01-01T10:00:00Z",
    labels: { [GRANT_UID_LABEL]: uid },
    ...(expiresAt && { annotations: { [EXPIRES_AT_ANNOTATION]: expiresAt } }),
  },
  ...(kind === "RoleBinding" && lent(grantAccount(uid))),
});
const lent = (account: string, role = "sallyport-op-kubernetes-scale"): object => ({
  roleRef: { kind: "ClusterRole", name: role },
  subjects: [{ kind: "ServiceAccount", name: account, namespace: NAMESPACE }],
});

function scene(more: Partial<SweepPorts> = {}): {
  cluster: FakeCluster;
  ports: SweepPorts;
  told: string[];
  clock: FakeClock;
} {
  const cluster = new FakeCluster();
  const clock = new FakeClock("2026-01-01T10:30:00Z");
  const told: string[] = [];
  const client = cluster.client();
  const ports: SweepPorts = {
    client,
    access: new Access(client, { grantsNamespace: NAMESPACE }),
    fence: () => undefined,
    clock,
    log: silentLogger,
    metrics: { swept: (result) => void told.push(result), removed: (kind) => void told.push(kind) },
    grants: () => [approvedGrant()],
    invocations: () => [],
    running: () => [],
    lendingMode: "operator",
    places: () => ["shop"],
    ...more,
  };
  return { cluster, ports, told, clock };
}

test.each([
  ["an open grant", [approvedGrant()], [], "10:30:00", [GRANT_UID]],
  ["the last millisecond of a window", [approvedGrant()], [], "10:59:59.999", [GRANT_UID]],
  ["the end of a window", [approvedGrant()], [], "11:00:00", []],
  ["a revoked grant", [approvedGrant({ revokedReason: "x" })], [], "10:30:00", []],
  ["a completed grant", [approvedGrant({}, { state: "Completed" })], [], "10:30:00", []],
  ["an automatic invocation that begins", [], [automatic()], "10:30:00", [INVOCATION_UID]],
  [
    "an automatic invocation that runs",
    [],
    [{ ...automatic(), status: { state: "Running" } as const }],
    "10:30:00",
    [INVOCATION_UID],
  ],
  [
    "an automatic invocation that is done",
    [],
    [{ ...automatic(), status: { state: "Failed" } as const }],
    "10:30:00",
    [],
  ],
  ["an invocation under a grant", [], [invocation()], "10:30:00", []],
] as const)("who may still need access: %s", (_, grants, invocations, now, living) => {
  expect([...livingOwners(grants, invocations, at(now), "operator")]).toEqual(living);
});

test("what has no owner, or is past its end, is removed; what is in use stays", async () => {
  const { cluster, ports, told } = scene();
  const later = "2026-01-01T10:31:00Z";
  cluster.put(resources.roleBindings, made("RoleBinding", "in-use", "shop", GRANT_UID, later));
  cluster.put(resources.roleBindings, made("RoleBinding", "at-its-end", "shop", GRANT_UID, "2026-01-01T10:30:00Z"));
  cluster.put(resources.roleBindings, made("RoleBinding", "without-end", "shop", GRANT_UID));
  cluster.put(resources.roleBindings, made("RoleBinding", "orphan", "shop", ORPHAN, later));
  cluster.put(resources.roleBindings, made("RoleBinding", "elsewhere", "bank", ORPHAN, later));
  cluster.put(resources.serviceAccounts, made("ServiceAccount", grantAccount(GRANT_UID), NAMESPACE, GRANT_UID));
  cluster.put(resources.serviceAccounts, made("ServiceAccount", grantAccount(ORPHAN), NAMESPACE, ORPHAN));
  await sweep(ports, signal);
  const left = [...cluster.all(resources.roleBindings), ...cluster.all(resources.serviceAccounts)];
  expect(left.map(({ metadata }) => metadata.name)).toEqual(["in-use", "elsewhere", grantAccount(GRANT_UID)]);
  expect(told.sort()).toEqual(["RoleBinding", "RoleBinding", "RoleBinding", "ServiceAccount"]);
});

test("where approvers lend, their bindings have no end of their own and go with the grant", async () => {
  const { cluster, ports } = scene({ lendingMode: "approver" });
  const named = (name: string, more: object): KubeObject => {
    const { labels: _, ...metadata } = made("RoleBinding", name, "shop", GRANT_UID).metadata;
    return { apiVersion: "v1", kind: "RoleBinding", metadata, ...more };
  };
  const account = grantAccount(GRANT_UID);
  cluster.put(resources.roleBindings, named("of-the-open-grant", lent(account)));
  cluster.put(resources.roleBindings, named("of-another", lent(grantAccount(ORPHAN))));
  cluster.put(resources.roleBindings, named("by-itself", lent("sallyport-auto")));
  cluster.put(resources.roleBindings, named("another-role", lent(grantAccount(ORPHAN), "view")));
  const left = (): readonly string[] => cluster.all(resources.roleBindings).map(({ metadata }) => metadata.name);
  await sweep(ports, signal);
  expect(left()).toEqual(["of-the-open-grant", "by-itself", "another-role"]);
  await sweep({ ...ports, grants: () => [approvedGrant({}, { state: "Pending" })] }, signal);
  expect(left()).toEqual(["of-the-open-grant", "by-itself", "another-role"]);
  await sweep({ ...ports, grants: () => [approvedGrant({ revokedReason: "enough" })] }, signal);
  expect(left()).toEqual(["by-itself", "another-role"]);
});

test("access that is opened while a sweep is under way stays", async () => {
  const invocations: ReturnType<typeof automatic>[] = [];
  const { cluster, ports } = scene({ invocations: () => invocations, running: () => [READ_LIVE] });
  const later = "2026-01-01T10:31:00Z";
  cluster.fault = ({ verb, resource }, when) => {
    if (verb !== "list" || when !== "before") return;
    if (invocations.length === 0) invocations.push(automatic());
    for (const uid of [INVOCATION_UID, READ_LIVE]) {
      if (resource === "rolebindings")
        cluster.put(resources.roleBindings, made("RoleBinding", `of-${uid}`, "shop", uid, later));
      else cluster.put(resources.serviceAccounts, made("ServiceAccount", grantAccount(uid), NAMESPACE, uid));
    }
  };
  await sweep(ports, signal);
  expect([cluster.all(resources.roleBindings).length, cluster.all(resources.serviceAccounts).length]).toEqual([2, 2]);
});

test("a namespace that was closed to us does not keep the others from being swept", async () => {
  const { cluster, ports } = scene({ places: () => ["closed", "shop"] });
  cluster.put(resources.roleBindings, made("RoleBinding", "orphan", "shop", ORPHAN));
  cluster.fault = ({ verb, namespace }) => {
    if (verb === "list" && namespace === "closed") throw refusal(403, "Forbidden");
  };
  await sweep(ports, signal);
  expect(cluster.all(resources.roleBindings)).toEqual([]);
});

test("what was lent in the whole cluster is swept like what was lent in a namespace", async () => {
  const { cluster, ports, told } = scene({ places: () => ["shop", undefined] });
  const wide = (name: string, uid: string): KubeObject => {
    const binding = made("RoleBinding", name, "", uid, "2026-01-01T10:31:00Z");
    return { ...binding, metadata: { ...binding.metadata, namespace: undefined } } as unknown as KubeObject;
  };
  cluster.put(resources.clusterRoleBindings, wide("in-use", GRANT_UID));
  cluster.put(resources.clusterRoleBindings, wide("orphan", ORPHAN));
  await sweep(ports, signal);
  expect(cluster.all(resources.clusterRoleBindings).map(({ metadata }) => metadata.name)).toEqual(["in-use"]);
  expect(told).toEqual(["ClusterRoleBinding"]);
});

test("without leadership nothing is removed", async () => {
  const { cluster, ports } = scene({
    fence: () => {
      throw new Error("not the leader");
    },
  });
  cluster.put(resources.roleBindings, made("RoleBinding", "orphan", "shop", ORPHAN));
  await expect(sweep(ports, signal)).rejects.toThrow("not the leader");
  expect(cluster.all(resources.roleBindings)).toHaveLength(1);
});

test("it sweeps at the start, every minute, and soon when asked; a failed sweep is not the last", async () => {
  const { cluster, ports, told, clock } = scene();
  const sweeper = new Sweeper(ports, 60_000);
  const stop = new AbortController();
  const done = sweeper.run(stop.signal);
  const until = async (count: number): Promise<void> => {
    while (told.length < count || clock.pending === 0) await new Promise(setImmediate);
  };
  await until(1);
  cluster.fault = () => {
    throw refusal(503, "ServiceUnavailable");
  };
  clock.advance(60_000);
  await until(2);
  cluster.fault = () => undefined;
  sweeper.soon();
  await until(3);
  expect(told).toEqual(["ok", "failed", "ok"]);
  stop.abort();
  await done;
  expect(clock.pending).toBe(0);
});
