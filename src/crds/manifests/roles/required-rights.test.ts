import { expect, test } from "vitest";
import { DEFAULT_NAMES } from "../../group.ts";
import { nodesRights, requiredRights, rightsNotes, rightsText } from "./required-rights.ts";
import { OPTIONAL_REACHES } from "./shipped-role.ts";
import { shippedRoles } from "./shipped-roles.ts";

/**
 * Without the reads of the whole cluster and without what the customer opens apart: there a missing right shows on the
 * command.
 */
const ALWAYS = shippedRoles(DEFAULT_NAMES).filter(({ reach }) => !["cluster", ...OPTIONAL_REACHES].includes(reach));

test.each(["agent", "operator"] as const)("every rule of the %s's roles is required, where it holds", (holder) => {
  const rights = requiredRights(holder, DEFAULT_NAMES, ["shop", "billing"]);
  for (const role of ALWAYS.filter((each) => each.holder === holder)) {
    const where = { system: ["sallyport-system"], grants: ["sallyport-grants"] } as Record<string, string[]>;
    for (const namespace of where[role.reach] ?? ["shop", "billing"]) {
      for (const { apiGroups, resources, verbs, resourceNames = [undefined] } of role.rules) {
        const found = rights.filter(
          (right) =>
            right.role === role.name &&
            right.namespace === namespace &&
            apiGroups.includes(right.group) &&
            resources.includes(right.resource) &&
            verbs.includes(right.verb) &&
            (resourceNames as readonly (string | undefined)[]).includes(right.name),
        );
        expect(found, `${role.name} ${resources.join()} in ${namespace}`).toHaveLength(
          resources.length * verbs.length * resourceNames.length,
        );
      }
    }
  }
  expect(rights.some(({ reach }) => reach === "cluster" || reach === "people")).toBe(false);
});

test("the agent deletes nothing but applications of deployments, and patches only what it reports", () => {
  const writes = requiredRights("agent", DEFAULT_NAMES, ["shop"]).filter(({ reach }) => reach === "grants");
  const of = (verb: string) => writes.filter((right) => right.verb === verb).map(({ resource }) => resource);
  expect(of("delete")).toEqual(["manageddeployments"]);
  expect(of("patch").toSorted()).toEqual(["events", "manageddeployments/status"]);
  expect(of("update")).toEqual([]);
});

test("verbs of one resource are told together, and a long list is cut", () => {
  const pods = requiredRights("agent", DEFAULT_NAMES, ["shop"]).filter(({ resource }) => resource === "pods");
  expect(rightsText(pods)).toBe(
    "get, list, watch pods in shop (role sallyport-agent-observe); list pods.metrics.k8s.io in shop (role sallyport-agent-observe)",
  );
  const many = requiredRights("operator", DEFAULT_NAMES, ["a", "b"]).filter(({ verb }) => verb === "bind");
  expect(rightsText(many)).toMatch(/; and 12 more$/);
});

test("each resource of a role is one event a namespace, in the grants namespace", () => {
  const lost = requiredRights("agent", DEFAULT_NAMES, ["shop", "billing"]).filter(({ reach }) => reach === "opened");
  const watched = [
    ...["Deployments", "Statefulsets", "Daemonsets", "Replicasets", "Pods", "Jobs", "Cronjobs"],
    ...["Poddisruptionbudgets", "Persistentvolumeclaims"],
  ].map((resource) => `GetListWatch${resource}`);
  const actions = [...watched, "ListEvents", "ListPodsMetricsK8sIo"];
  expect(rightsNotes("the agent", { lost, regained: [] }, DEFAULT_NAMES)).toMatchObject(
    ["shop", "billing"].flatMap((name) =>
      actions.map((action) => ({
        type: "Warning",
        reason: "RuleMissing",
        action,
        regarding: { kind: "ClusterRole", name: "sallyport-agent-observe", namespace: "sallyport-grants" },
        related: { kind: "Namespace", name },
      })),
    ),
  );
});

test.each(["agent", "operator"] as const)("no two rules of a role of the %s have one action", (holder) => {
  const rights = requiredRights(holder, DEFAULT_NAMES, ["shop"]);
  const rules = shippedRoles(DEFAULT_NAMES).filter(
    (role) => role.holder === holder && role.reach !== "cluster" && role.reach !== "metrics",
  );
  const actions = rules.flatMap((role) =>
    role.rules.flatMap(({ apiGroups, resources, verbs }) => {
      const lost = rights.filter(
        (right) =>
          right.role === role.name &&
          right.reach === role.reach &&
          apiGroups.includes(right.group) &&
          resources.includes(right.resource) &&
          verbs.includes(right.verb),
      );
      const notes = rightsNotes("it", { lost, regained: [] }, DEFAULT_NAMES);
      return notes.map(({ action, related }) => `${role.name} ${related.name} ${action}`);
    }),
  );
  expect(new Set(actions).size).toBe(actions.length);
});

test("the right to nodes is told as one in the whole cluster, of a ClusterRole in any scope", () => {
  const lost = nodesRights(DEFAULT_NAMES);
  expect(rightsText(lost)).toBe("get, list, watch nodes in the whole cluster (role sallyport-agent-nodes)");
  const [note] = rightsNotes("the agent", { lost, regained: [] }, { ...DEFAULT_NAMES, roleKind: "Role" });
  expect(note).toMatchObject({ action: "GetListWatchNodes", regarding: { kind: "ClusterRole" } });
  expect(requiredRights("agent", DEFAULT_NAMES, ["shop"]).map(({ resource }) => resource)).not.toContain("nodes");
});
