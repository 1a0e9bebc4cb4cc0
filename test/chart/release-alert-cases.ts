import type { AlertCase } from "./alert-case.ts";

/** One pod of an installation. */
const of = (metric: string, labels: string): string =>
  `${metric}{cluster="east",namespace="sallyport-system",pod="pod-0",${labels}}`;
const ended = (result: string): string => of("sallyport_rollouts_total", `action="update",result="${result}"`);
const rollouts = (state: string): string => of("sallyport_rollouts", `state="${state}"`);
const drift = of("sallyport_drift", 'kind="ConfigMap"');
const objects = (verb: string): string => of("sallyport_rollout_objects_total", `verb="${verb}"`);

/** Of each alert on releases. */
export const RELEASE_ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  SallyportRolloutFailed: {
    at: "10m",
    fires: [
      [ended("Succeeded"), "0+1x60"],
      [ended("RolledBack"), "0x5 1x60"],
    ],
    quiet: [
      [ended("Failed"), "3x60"],
      [ended("Denied"), "0+1x60"],
      [ended("Superseded"), "0+1x60"],
    ],
  },
  SallyportRolloutAwaitingApproval: {
    at: "25m",
    fires: [[rollouts("AwaitingApproval"), "0x5 2x60"]],
    quiet: [
      [rollouts("AwaitingApproval"), "0x15 2x60"],
      [rollouts("Queued"), "2x60"],
    ],
  },
  SallyportRolloutStuck: {
    at: "40m",
    fires: [[rollouts("Gating"), "0x5 1x60"]],
    quiet: [
      [rollouts("Gating"), "0x5 1x20 0x2 1x60"],
      [rollouts("Queued"), "1x60"],
      [rollouts("AwaitingApproval"), "1x60"],
      [rollouts("Failed"), "1x60"],
    ],
  },
  SallyportDriftDetected: {
    at: "40m",
    fires: [[drift, "0x5 1x60"]],
    quiet: [[drift, "0x5 1x20 0x2 1x60"]],
  },
  SallyportPruneFailed: {
    at: "10m",
    fires: [[objects("left"), "0x5 1x60"]],
    quiet: [
      [objects("left"), "4x60"],
      [objects("prune"), "0+3x60"],
    ],
  },
};
