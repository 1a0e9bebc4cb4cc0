import type { RuleGroup } from "./rule.ts";

const BY = "by (cluster, namespace)";
/** A window, a person or another rollout may hold a Queued one for days. */
const AT_WORK = "Planning|Applying|Gating|Pruning|RollingBack|Unknown";

/** Releases: what did not come up, what waits for a person, and what does not go on. */
export const RELEASE_RULES: RuleGroup = {
  name: "sallyport.releases",
  alerts: [
    {
      name: "SallyportRolloutFailed",
      severity: "warning",
      expr: `sum ${BY} (increase(sallyport_rollouts_total{result=~"Failed|RolledBack"}[15m])) > 0`,
      for: "0m",
      summary: "A release did not come up in the cluster of {{ $labels.namespace }}.",
      description: "{{ $value | humanize }} rollouts failed within 15 minutes, or were taken back.",
    },
    {
      name: "SallyportRolloutAwaitingApproval",
      severity: "info",
      expr: `max ${BY} (sallyport_rollouts{state="AwaitingApproval"}) > 0`,
      for: "15m",
      summary: "Releases wait for an approval in the cluster of {{ $labels.namespace }}.",
      description: "{{ $value }} of them have a plan and no answer from a person.",
    },
    {
      name: "SallyportRolloutStuck",
      severity: "warning",
      expr: `max by (cluster, namespace, state) (sallyport_rollouts{state=~"${AT_WORK}"}) > 0`,
      for: "30m",
      summary: "A rollout in the cluster of {{ $labels.namespace }} does not go on.",
      description: "{{ $value }} have been {{ $labels.state }} for half an hour.",
    },
    {
      name: "SallyportDriftDetected",
      severity: "info",
      expr: "max by (cluster, namespace, kind) (sallyport_drift) > 0",
      for: "30m",
      summary: "Objects of a release in the cluster of {{ $labels.namespace }} are not as they were released.",
      description: "{{ $value }} of kind {{ $labels.kind }} have been changed by others, or deleted.",
    },
    {
      name: "SallyportPruneFailed",
      severity: "warning",
      expr: `sum ${BY} (increase(sallyport_rollout_objects_total{verb="left"}[1h])) > 0`,
      for: "0m",
      summary: "Objects of an earlier release stay in the cluster of {{ $labels.namespace }}.",
      description: "{{ $value | humanize }} within an hour were to be deleted by a rollout, and are still there.",
    },
  ],
};
