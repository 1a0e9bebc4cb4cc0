import { beforeAll, describe, expect, test } from "vitest";
import type { Cluster } from "../../lab/cluster/cluster.ts";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../src/base/testing/full.ts";
import { CHART, REQUIRED, useHelm } from "./use-helm.ts";

// Who approves and what runs by itself, kept in Git with the values: the real helm against a real API server.
const helm = useHelm();
let cluster: () => Cluster;

const POLICY = { name: "shop", spec: { rules: [{ pattern: "kubernetes/logs", decision: "auto" }] } };
const PEOPLE = [
  { role: "approver", kind: "Group", name: "platform-team" },
  { role: "approver", kind: "User", name: "ann" },
  { role: "oncall", kind: "ServiceAccount", name: "pager", namespace: "shop" },
];

async function rollback(revision: number): Promise<void> {
  const where = ["-n", "sallyport-system", "--kubeconfig", cluster().adminKubeconfig];
  expect(await helm.run(["rollback", "sallyport", String(revision), ...where])).toMatchObject({ code: 0 });
}

async function release(verb: "install" | "upgrade", values: object): Promise<void> {
  const sets = Object.entries({ ...REQUIRED, ...values }).map(
    ([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`,
  );
  const where = ["-n", "sallyport-system", "--kubeconfig", cluster().adminKubeconfig];
  const { code, stderr } = await helm.run([verb, "sallyport", CHART, ...where, ...sets]);
  expect(stderr, verb).not.toContain("Error");
  expect(code).toBe(0);
}

async function policy(name: string): Promise<{ uid: string; decision: string } | undefined> {
  const found = await cluster().kubectl(["get", "operationpolicies", "-n", "sallyport-grants", "-o", "json"]);
  const item = JSON.parse(found.stdout).items.find(
    (each: { metadata: { name: string } }) => each.metadata.name === name,
  );
  return item && { uid: item.metadata.uid, decision: item.spec.rules[0].decision };
}

async function may(...who: readonly string[]): Promise<boolean> {
  const { stdout } = await cluster().kubectl([
    "auth",
    "can-i",
    "patch",
    "accessgrants.sallyport.dev",
    "-n",
    "sallyport-grants",
    ...who,
  ]);
  return stdout.trim() === "yes";
}

describe("on a real API server", () => {
  cluster = useCluster();
  beforeAll(() =>
    cluster().apply(
      ["sallyport-system", "shop"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ),
  );

  fullOnly("are there after the first install, change in place with an upgrade, and go with their values", async () => {
    await release("install", { policies: [POLICY], people: { bindings: PEOPLE } });
    const first = await policy("shop");
    expect(first?.decision).toBe("auto");
    expect(await may("--as=bob", "--as-group=platform-team")).toBe(true);
    expect(await may("--as=ann")).toBe(true);
    expect(await may("--as=bob")).toBe(false);

    const denied = { ...POLICY, spec: { rules: [{ pattern: "kubernetes/logs", decision: "deny" }] } };
    await release("upgrade", { policies: [denied], people: { bindings: PEOPLE.slice(0, 1) } });
    expect(await policy("shop")).toEqual({ uid: first?.uid, decision: "deny" });
    expect(await may("--as=ann")).toBe(false);

    // Of the first release they are hooks, which a rollback does not put back by itself.
    await rollback(1);
    expect((await policy("shop"))?.decision).toBe("auto");
    await rollback(2);
    expect((await policy("shop"))?.decision).toBe("deny");

    await release("upgrade", {});
    expect(await policy("shop")).toBeUndefined();
    expect(await may("--as=bob", "--as-group=platform-team")).toBe(false);
  });
});

test.each([
  [{ policies: [{ name: "default", spec: {} }] }, "default"],
  [{ policies: [{ name: "shop" }] }, "spec"],
  [{ people: { bindings: [{ role: "admin", kind: "User", name: "ann" }] } }, "role"],
  [{ people: { bindings: [{ role: "approver", kind: "ServiceAccount", name: "pager" }] } }, "needs its namespace"],
])("%j is refused", async (values, word) => {
  const { code, stderr } = await helm.template({ ...REQUIRED, ...values });
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining(word)]);
});
