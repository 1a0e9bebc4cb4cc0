import { POLICY_DECISIONS } from "../../../src/crds/kinds/operation-policy.ts";
import { inScope } from "../../../src/crds/operations/catalog.ts";
import { type Branch, branch, count, flag, list, words } from "./chart-value.ts";

/** What may run by itself. */
export const OPERATION_POLICY_VALUES: Branch = branch(
  "The policy that the chart makes, named `default`: yours to read and to edit (`kubectl get operationpolicies`). Made when it is not there, never changed afterwards. Argo CD does not make it (docs/install.md).",
  {
    create: flag(true, "Make it. Off, and without a policy of yours, everything is `manual`."),
    defaults: branch("By tier: `auto` runs by itself, `manual` needs an approved grant, `deny` never runs.", {
      "read-only": words("manual", POLICY_DECISIONS, "What only reads: pods, logs, events."),
      mutating: words("manual", POLICY_DECISIONS, "What changes something: restart, scale."),
      destructive: words("manual", POLICY_DECISIONS, "What may lose something: delete-pod."),
    }),
    rules: list("Exceptions, as `{pattern: kubernetes/logs, decision: deny}`.", [], {
      type: "object",
      required: ["pattern", "decision"],
      additionalProperties: false,
      properties: { pattern: { type: "string" }, decision: { enum: POLICY_DECISIONS } },
    }),
    clusterOperations: list(
      "Operations on objects without a namespace, opened to deployments: `{operation: kubernetes/cordon-node, deployments: [dep_…], names: [node-1]}`. Without `names`, on any object. Always with an approved grant; what no entry names never runs.",
      [],
      {
        type: "object",
        required: ["operation", "deployments"],
        additionalProperties: false,
        properties: {
          operation: { enum: inScope("cluster").map(({ command }) => command) },
          deployments: { type: "array", minItems: 1, items: { type: "string" } },
          names: { type: "array", items: { type: "string" } },
        },
      },
    ),
  },
);

/** How much may lie in the grants namespace. */
export const QUOTA_VALUES: Branch = branch(
  "A ResourceQuota in the grants namespace: the most records that it may hold, also when an account of ours is stolen. Open ones have bounds of their own in agent and operator, far below; finished ones stay until you delete them (docs/install.md).",
  {
    create: flag(
      false,
      "Make it. Switch it on by an upgrade: a quota refuses everything until a controller has counted it, for minutes where the kinds came with the same install.",
    ),
    accessGrants: count(5_000, 1, "Requests, open and finished."),
    operationInvocations: count(10_000, 1, "Runs, open and finished."),
    managedDeployments: count(1_000, 1, "Deployments that the vendor lists."),
    rollouts: count(5_000, 1, "With `releases.enabled`: rollouts, running and ended."),
    releaseContents: count(200, 1, "With `releases.enabled`: what releases install, up to 1.4 MiB each."),
    releaseSecrets: count(
      500,
      1,
      "With `releases.secrets`: Secrets in `releases.namespace`, which gets a quota of its own.",
    ),
    serviceAccounts: count(1_000, 1, "Accounts of grants; they go with a grant's end."),
  },
);
