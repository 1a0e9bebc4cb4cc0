import type { PolicyRule } from "../../operations/operation.ts";

/** A rule and the reason for it: `docs/permissions.md` is made from both. */
export interface ExplainedRule extends PolicyRule {
  /** Paths in place of resources, which are then empty. */
  readonly nonResourceURLs?: readonly string[];
  readonly why: string;
}

/**
 * Where a role holds. `system`, `grants`: in that namespace. `opened`: in each namespace that the customer opens, by a
 * RoleBinding there. `cluster`: everywhere, because the resource has no namespace. `cluster-opened`: the same, once the
 * customer opens operations of cluster scope. `nodes`: everywhere, once the customer lets nodes be read. `name-salt`: as
 * `system`, once names are redacted. `metrics`: everywhere,
 * once readers of metrics are checked. `people`: where the customer binds it, meant for the grants namespace.
 */
export type Reach =
  | "system"
  | "grants"
  | "opened"
  | "cluster"
  | "cluster-opened"
  | "nodes"
  | "name-salt"
  | "metrics"
  | "people";

/** Where roles hold that an installation has only if the customer switched something on. */
export const OPTIONAL_REACHES: readonly Reach[] = ["cluster-opened", "nodes", "name-salt", "metrics"];

export interface ShippedRole {
  readonly name: string;
  readonly holder: "agent" | "operator" | "grant account" | "person";
  readonly reach: Reach;
  /** One sentence. */
  readonly about: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly ExplainedRule[];
}

/** A rule on one API group. */
export function rule(
  apiGroup: string,
  resources: readonly string[],
  verbs: readonly string[],
  why: string,
): ExplainedRule {
  return { apiGroups: [apiGroup], resources, verbs, why };
}

/** What taking, renewing and giving back one lease needs. */
export function leaderElection(lease: string): readonly ExplainedRule[] {
  return [
    rule("coordination.k8s.io", ["leases"], ["create"], "Makes the lease; a create cannot be limited by name."),
    {
      ...rule(
        "coordination.k8s.io",
        ["leases"],
        ["get", "update", "patch"],
        "Takes, renews and gives back this lease.",
      ),
      resourceNames: [lease],
    },
  ];
}
