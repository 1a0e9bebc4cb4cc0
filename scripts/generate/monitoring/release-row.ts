import { lines, PROCESS, RATE, type Row } from "./panel.ts";

/** Empty until releases are switched on. */
export const RELEASE_ROW: Row = {
  title: "Releases",
  panels: [
    lines(
      "Rollouts",
      "By state: AwaitingApproval ones wait for a person.",
      "short",
      `max by (state) (sallyport_rollouts{${PROCESS}})`,
      "{{state}}",
    ),
    lines(
      "Ended",
      "By what was asked for and how it ended. Failed or RolledBack: the release did not come up.",
      "short",
      `sum by (action, result) (increase(sallyport_rollouts_total{${PROCESS}}${RATE}))`,
      "{{action}} {{result}}",
    ),
    lines(
      "Objects",
      "What rollouts did with them. override: a field stays as another manager has it.",
      "short",
      `sum by (verb) (increase(sallyport_rollout_objects_total{${PROCESS}}${RATE}))`,
      "{{verb}}",
    ),
    lines(
      "Time, p99",
      "Of each phase of a rollout.",
      "s",
      `histogram_quantile(0.99, sum by (phase, le) (rate(sallyport_rollout_duration_seconds_bucket{${PROCESS}}${RATE})))`,
      "{{phase}}",
    ),
    lines(
      "Conflicts",
      "Fields of others that an apply met: many mean that two programs manage the same objects.",
      "short",
      `sum(increase(sallyport_rollout_conflicts_total{${PROCESS}}${RATE}))`,
      "conflicts",
    ),
    lines(
      "Drift",
      "Objects of installed releases that others have changed or deleted since. Status of the Rollout says which.",
      "short",
      `max by (kind) (sallyport_drift{${PROCESS}})`,
      "{{kind}}",
    ),
  ],
};
