import { afterAll, describe, expect } from "vitest";
import { fullOnly } from "../../src/base/testing/full.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, type PlanLine, soon, useCast } from "./cast.ts";
import { upgradeSallyport } from "./installation.ts";
import { kubectl } from "./kubectl.ts";
import { APPROVER } from "./scene.ts";

const cast = useCast();

const NARROW = {
  rbac: { scope: "namespaces" },
  people: { bindings: [{ role: "approver", kind: "User", name: APPROVER }] },
};

afterAll(() => upgradeSallyport(cast().scene, {}, soon()));

/** Replicas of 3 and 2 in turn. */
const lines = (count: number): readonly PlanLine[] =>
  Array.from({ length: count }, (_, index) => {
    const replicas = 3 - (index % 2);
    const params = { namespace: SHOP, kind: "deployment", name: "web", replicas };
    return { command: "kubernetes/scale", summary: `to ${replicas}`, params };
  });

async function invocationsOf(id: string): Promise<readonly OperationInvocation[]> {
  const { metadata } = await cast().grant(id, () => true);
  const all = await cast().list<OperationInvocation>(operationInvocations, GRANTS);
  return all.filter(({ spec }) => spec.grantName === metadata.name);
}

/** What became of each line. A line that failed says why. */
async function fates(id: string): Promise<readonly string[]> {
  const ended = (await invocationsOf(id)).filter(({ status }) => status?.finishedAt !== undefined);
  return ended.map(({ status }) => [status?.state, status?.error?.message].filter(Boolean).join(": "));
}

async function mayI(process: "agent" | "operator", namespace: string, ...right: readonly string[]): Promise<string> {
  const who = `system:serviceaccount:${SYSTEM}:sallyport-${process}`;
  const args = ["auth", "can-i", ...right, "-n", namespace, "--as", who];
  return (await kubectl(cast().scene, args, soon()).catch(() => "no")).trim();
}

/** The roles of this installation that the operator may lend in the opened namespace. */
async function lendable(): Promise<readonly string[]> {
  const role = "sallyport-op-kubernetes-scale";
  const kinds = ["clusterroles", "roles"];
  const answers = kinds.map((kind) => mayI("operator", SHOP, "bind", `${kind}.rbac.authorization.k8s.io/${role}`));
  const may = await Promise.all(answers);
  return kinds.filter((_, index) => may[index] === "yes");
}

/** Of those who work in the opened namespace; the look at the admission policies is not one of them. */
async function clusterRoles(): Promise<readonly string[]> {
  const args = ["get", "clusterroles", "-l", "app.kubernetes.io/instance=sallyport", "-o", "name"];
  const names = (await kubectl(cast().scene, args, soon())).trim().split("\n");
  return names.filter((name) => name !== "" && !name.endsWith("-self-check"));
}

describe.each([
  { to: "namespaces", values: NARROW, kind: "roles", remaining: false },
  { to: "cluster", values: {}, kind: "clusterroles", remaining: true },
])("rbac.scope changed to $to amid a plan", ({ values, kind, remaining }) => {
  fullOnly(
    "the rights follow, each line runs once, and so does the next request",
    async () => {
      const plan = lines(24);
      const { id, approve } = await cast().ask(...plan);
      await cast().approve(approve);
      await eventually(
        () => fates(id),
        (ended) => ended.length >= 2,
        60_000,
      );
      await upgradeSallyport(cast().scene, values, soon());
      await cast().request(id, ({ execution: { state } }) => !["pending", "running"].includes(state));
      expect(await fates(id)).toEqual(plan.map(() => "Succeeded"));

      expect(await lendable()).toEqual([kind]);
      expect((await clusterRoles()).length > 0).toBe(remaining);
      expect(await mayI("agent", SHOP, "list", "pods")).toBe("yes");
      expect(await mayI("agent", "default", "list", "pods")).toBe("no");
      expect(await mayI("operator", "default", "create", "rolebindings")).toBe("no");

      const next = await cast().ask(...lines(2));
      await cast().approve(next.approve);
      await cast().request(next.id, ({ execution: { state } }) => state === "succeeded");
      for (const process of ["agent", "operator"] as const)
        expect((await cast().pods(process)).every(isReady)).toBe(true);
    },
    300_000,
  );
});
