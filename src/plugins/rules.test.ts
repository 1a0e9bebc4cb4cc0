import { describe, expect, it } from "vitest";
import { type PluginRule, rulesIssues } from "./rules.ts";
import type { Tier } from "./words.ts";

function issues(rule: Partial<PluginRule>, tier: Tier = "destructive"): readonly string[] {
  const whole = { apiGroups: [""], resources: ["configmaps"], verbs: ["get" as const], ...rule };
  return rulesIssues([whole], { tier, path: "/rules" }).map(({ path, message }) => `${path} ${message}`);
}

const ALL = ["get", "list", "create", "patch", "delete"] as const;

describe("the rules of an operation", () => {
  it.each<[Partial<PluginRule>]>([
    [{ verbs: [...ALL] }],
    [{ apiGroups: ["apps"], resources: ["deployments", "statefulsets/scale"], verbs: ["get", "patch"] }],
    [{ resources: ["pods"], verbs: ["get", "list", "delete"] }],
    [{ resources: ["pods/log"] }],
    [{ apiGroups: ["batch"], resources: ["jobs", "cronjobs"], verbs: ["get", "list", "delete"] }],
    [{ apiGroups: ["apps"], resources: ["replicasets"], verbs: ["delete"] }],
    [{ resources: ["events"], verbs: ["get", "list"] }],
    [{ apiGroups: ["search.example.com"], resources: ["indexes", "indexes/status"], verbs: ["get", "patch"] }],
  ])("may be %j", (rule) => {
    expect(issues(rule)).toEqual([]);
  });

  it.each<[Partial<PluginRule>, string]>([
    [{ resources: ["secrets"] }, "/rules/0 may not have get on secrets: it holds credentials"],
    [{ resources: ["secrets"], verbs: [...ALL] }, "may not have get, list, create, patch, delete on secrets: it holds"],
    [{ resources: ["serviceaccounts"] }, "get on serviceaccounts: it is an identity"],
    [{ resources: ["serviceaccounts/token"], verbs: ["create"] }, "create on serviceaccounts/token: it is an identity"],
    [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"] }, "rbac.authorization.k8s.io/roles: it gives"],
    [{ apiGroups: ["sallyport.dev"], resources: ["accessgrants"], verbs: ["patch"] }, "it is Sallyport's own"],
    [{ apiGroups: ["admissionregistration.k8s.io"] }, "decides what the cluster admits"],
    [{ resources: ["pods/exec"], verbs: ["create"] }, "create on pods/exec: of subresources a plugin's client reaches"],
    [{ resources: ["pods/attach"] }, "get on pods/attach: of sub"],
    [{ resources: ["pods/portforward"] }, "get on pods/portforward: of sub"],
    [{ resources: ["pods/ephemeralcontainers"], verbs: ["patch"] }, "patch on pods/ephemeralcontainers: of sub"],
    [{ resources: ["pods/status"], verbs: ["patch"] }, "patch on pods/status: of sub"],
    [{ resources: ["pods/scale"], verbs: ["patch"] }, "patch on pods/scale: of sub"],
    [{ resources: ["services/proxy"] }, "get on services/proxy: of sub"],
    [{ resources: ["nodes/proxy"] }, "get on nodes/proxy: it lies in no namespace"],
    [{ resources: ["pods/log"], verbs: ["get", "list"] }, "may not have list on pods/log: of subresources"],
    [{ apiGroups: ["apps"], resources: ["deployments/log"] }, "get on apps/deployments/log: of sub"],
    [{ resources: ["pods"], verbs: ["create"] }, "create on pods: it starts pods"],
    [{ resources: ["pods"], verbs: ["patch"] }, "patch on pods: it starts pods"],
    [
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["create"] },
      "create on apps/deployments: it starts pods",
    ],
    [{ apiGroups: ["apps"], resources: ["replicasets/scale"], verbs: ["patch"] }, "replicasets/scale: it starts pods"],
    [{ apiGroups: ["batch"], resources: ["jobs"], verbs: [...ALL] }, "may not have create, patch on batch/jobs: it"],
    [
      { apiGroups: ["autoscaling"], resources: ["horizontalpodautoscalers"], verbs: [...ALL] },
      "create, patch on autoscaling/horizontalpodautoscalers: it starts as many pods as it says",
    ],
    [{ resources: ["events"], verbs: ["create"] }, "create on events: it is told to the vendor"],
    [{ apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["patch"] }, "patch on events.k8s.io/events: it is"],
    // A rule means each of its groups with each of its resources.
    [{ apiGroups: ["apps", ""], resources: ["deployments", "secrets"] }, "get on secrets: it holds"],
    [{ resources: ["namespaces"], verbs: ["delete"] }, "delete on namespaces: it lies in no namespace"],
    [{ resources: ["nodes"] }, "get on nodes: it lies in no namespace"],
  ])("may not be %j", (rule, issue) => {
    expect(issues(rule).join("\n")).toContain(issue);
  });

  it("have no verb that changes something, where the operation says that it only reads", () => {
    for (const verb of ["create", "patch", "delete"] as const) {
      expect(issues({ verbs: ["get", verb] }, "read-only")).toEqual([
        `/rules/0 may not have ${verb} on configmaps: the operation's tier is read-only`,
      ]);
    }
    expect(issues({ verbs: ["get", "list"] }, "read-only")).toEqual([]);
  });
});
