import { expect, test } from "vitest";
import { ApiError } from "../../kube/client/api-error.ts";
import { resources } from "../../kube/objects/resource.ts";
import { FakeCluster } from "../testing/fake-cluster.ts";
import { GRANT_UID, INVOCATION_UID, NAMESPACE } from "../testing/fixtures.ts";
import { Access, type AccessRequest } from "./access.ts";

const signal = new AbortController().signal;

type RoleKind = "ClusterRole" | "Role";

/** Access of a process that was started for `roleKind`, where the API server lets only `allowed` be bound. */
function scene(roleKind: RoleKind, allowed: readonly RoleKind[], status = 403) {
  const cluster = new FakeCluster();
  const client = cluster.client();
  const tried: string[] = [];
  const create: typeof client.create = (resource, object, each) => {
    if (resource !== resources.serviceAccounts) {
      const { kind } = (object as unknown as { readonly roleRef: { readonly kind: RoleKind } }).roleRef;
      tried.push(kind);
      if (!allowed.includes(kind)) {
        return Promise.reject(new ApiError(`${kind} is not to be bound`, { status, reason: "Forbidden" }));
      }
    }
    return client.create(resource, object, each);
  };
  return { tried, access: new Access({ ...client, create }, { grantsNamespace: NAMESPACE, roleKind }) };
}

const request = (namespace: string | undefined, last = "1"): AccessRequest => ({
  owner: { kind: "AccessGrant", name: "req-1", uid: GRANT_UID },
  invocationUid: `${last}${INVOCATION_UID.slice(1)}`,
  plugin: "kubernetes",
  operation: namespace === undefined ? "cordon-node" : "scale",
  namespace,
  expiresAt: new Date("2026-01-01T11:00:00Z"),
  tokenSeconds: 600,
});

test.each([
  ["ClusterRole", "Role", 403],
  ["Role", "ClusterRole", 403],
  ["Role", "ClusterRole", 404],
] as const)(
  "roles that were %ss and are %ss now (%d): it binds what is there, from then on",
  async (was, is, status) => {
    const { tried, access } = scene(was, [is], status);
    await access.open(request("shop", "1"), signal);
    await access.open(request("shop", "2"), signal);
    expect(tried).toEqual([was, is, is]);
  },
);

test("a refusal of both kinds is that of the installation's own kind", async () => {
  const { access } = scene("Role", []);
  await expect(access.open(request("shop"), signal)).rejects.toThrow("Role is not to be bound");
});

test("a role of the whole cluster is never looked for in a namespace, and a server that is away is asked once", async () => {
  const wide = scene("Role", []);
  await expect(wide.access.open(request(undefined), signal)).rejects.toThrow("ClusterRole is not");
  expect(wide.tried).toEqual(["ClusterRole"]);
  const away = scene("Role", [], 503);
  await expect(away.access.open(request("shop"), signal)).rejects.toThrow("Role is not");
  expect(away.tried).toEqual(["Role"]);
});
