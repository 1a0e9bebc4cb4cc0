import type { InstallationNames } from "../../group.ts";
import { rule, type ShippedRole } from "./shipped-role.ts";

/** Where readers of the metrics are checked: what agent and operator ask the API server, and what a reader needs. */
export function metricsRoles({ agentAccount, operatorAccount }: InstallationNames): readonly ShippedRole[] {
  const asks = (account: string, holder: "agent" | "operator"): ShippedRole => ({
    name: `${account}-metrics-auth`,
    holder,
    reach: "metrics",
    about: "Asks the API server who reads the metrics. Only with `metrics.auth.enabled`.",
    rules: [
      rule("authentication.k8s.io", ["tokenreviews"], ["create"], "Asks whose the reader's token is."),
      rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"], "Asks whether that user may read /metrics."),
    ],
  });
  return [
    asks(agentAccount, "agent"),
    asks(operatorAccount, "operator"),
    {
      name: "sallyport-metrics-reader",
      holder: "person",
      reach: "metrics",
      about:
        "Reads the metrics of agent and operator, for Prometheus. Only with `metrics.auth.enabled`; you bind it cluster-wide.",
      rules: [
        {
          apiGroups: [],
          resources: [],
          nonResourceURLs: ["/metrics"],
          verbs: ["get"],
          why: "What agent and operator ask for. The path has no namespace, so other metrics at this path that ask the API server are readable with it, too.",
        },
      ],
    },
  ];
}
