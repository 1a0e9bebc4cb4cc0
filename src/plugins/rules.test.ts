import { describe, expect, it } from "vitest";
import { type PluginRule, rulesIssues } from "./rules.ts";
import type { Scope, Tier } from "./words.ts";

function issues(rule: Partial<PluginRule>, tier: Tier = "destructive", scope: Scope = "namespaced"): readonly string[] {
  const whole = { apiGroups: [""], resources: ["configmaps"], verbs: ["get" as const], ...rule };
  return rulesIssues([whole], { tier, scope, path: "/rules" }).map(({ path, message }) => `${path} ${message}`);
}

const ALL = ["get", "list", "create", "patch", "delete"] as const;

describe("the rules of an operation", () => {
  it.each<[Partial<PluginRule>]>([
    [{ verbs: [...ALL] }],
    [{ apiGroups: ["apps"], resources: ["deployments", "statefulsets/scale"], verbs: ["get", "patch"] }],
    [{ resources: ["pods"], verbs: ["get", "list", "delete"] }],
    [{ resources: ["pods/log"] }],
    [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["list"] }],
    [{ apiGroups: ["search.example.com"], resources: ["indexes", "indexes/status"], verbs: ["get", "patch"] }],
  ])("may be %j", (rule) => {
    expect(issues(rule)).toEqual([]);
  });

  it.each<[Partial<PluginRule>, string]>([
    [{ resources: ["secrets"] }, "/rules/0 secrets may not be in a rule: it holds credentials"],
    [{ resources: ["serviceaccounts"] }, "serviceaccounts may not be in a rule"],
    [{ resources: ["serviceaccounts/token"], verbs: ["create"] }, "serviceaccounts/token may not be in a rule"],
    [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"] }, "it gives rights"],
    [{ apiGroups: ["sallyport.dev"], resources: ["accessgrants"], verbs: ["patch"] }, "is Sallyport's own"],
    [{ apiGroups: ["admissionregistration.k8s.io"] }, "decides what the cluster admits"],
    [{ resources: ["pods/exec"], verbs: ["create"] }, "pods/exec may not be in a rule: a plugin's client reaches"],
    [{ resources: ["pods/attach"] }, "pods/attach may not"],
    [{ resources: ["pods/portforward"] }, "pods/portforward may not"],
    [{ resources: ["pods/ephemeralcontainers"], verbs: ["patch"] }, "pods/ephemeralcontainers may not"],
    [{ resources: ["pods/status"], verbs: ["patch"] }, "pods/status may not"],
    [{ resources: ["services/proxy"] }, "services/proxy may not"],
    [{ resources: ["nodes/proxy"] }, "nodes/proxy may not"],
    [{ resources: ["pods/log"], verbs: ["list"] }, "pods/log has only the verbs get"],
    [{ resources: ["pods"], verbs: ["create"] }, "pods may not have the verb create: it starts pods"],
    [{ resources: ["pods"], verbs: ["patch"] }, "pods may not have the verb patch"],
    [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["create"] }, "apps/deployments may not have the verb"],
    [{ apiGroups: ["batch"], resources: ["cronjobs"], verbs: ["patch"] }, "batch/cronjobs may not have the verb patch"],
    // A rule means each of its groups with each of its resources.
    [{ apiGroups: ["apps", ""], resources: ["deployments", "secrets"] }, " secrets may not be in a rule"],
    [{ resources: ["namespaces"], verbs: ["delete"] }, "namespaces may not have the verb delete"],
    [{ resources: ["nodes"] }, "nodes lies in no namespace"],
  ])("may not be %j", (rule, issue) => {
    expect(issues(rule).join("\n")).toContain(issue);
  });

  it("have no verb that changes something, where the operation says that it only reads", () => {
    for (const verb of ["create", "patch", "delete"] as const) {
      expect(issues({ verbs: ["get", verb] }, "read-only")).toEqual([
        `/rules/0 configmaps has the verb ${verb}, but the operation's tier is read-only`,
      ]);
    }
    expect(issues({ verbs: ["get", "list"] }, "read-only")).toEqual([]);
  });

  it("of cluster scope name nothing that lies in namespaces", () => {
    const cluster = (rule: Partial<PluginRule>) => issues(rule, "mutating", "cluster");
    expect(cluster({})).toEqual([
      "/rules/0 configmaps lies in namespaces: an operation of scope cluster would have the right in all of them",
    ]);
    expect(cluster({ apiGroups: ["apps"], resources: ["deployments"] })).toHaveLength(1);
    expect(cluster({ resources: ["nodes"], verbs: ["get", "list"] })).toEqual([]);
    expect(cluster({ apiGroups: ["storage.k8s.io"], resources: ["storageclasses"] })).toEqual([]);
  });
});
