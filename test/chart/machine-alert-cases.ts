import type { AlertCase } from "./alert-case.ts";

/** One pod of an installation, with one more label or none. */
const of = (metric: string, labels = ""): string =>
  `${metric}{cluster="east",namespace="sallyport-system",pod="pod-0"${labels && `,${labels}`}}`;
const rejected = (reason: string): string => of("sallyport_join_rejected_total", `reason="${reason}"`);
const joins = (state: string): string => of("sallyport_machine_joins", `state="${state}"`);
const issued = (kind: string): string => of("sallyport_node_certificates_issued_total", `kind="${kind}"`);
const evictions = (answer: string): string => of("sallyport_evictions_total", `answer="${answer}"`);
const machines = (status: string): string => of("sallyport_machines", `status="${status}"`);
const broken = of("sallyport_machine_signer_broken");
const stalled = of("sallyport_machine_drains_stalled");
const overdue = of("sallyport_machine_drains_overdue");

/** Of each alert on machines. */
export const MACHINE_ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  SallyportMachineJoinsRejected: {
    at: "20m",
    fires: [[rejected("bad-token"), "0+2x60"]],
    quiet: [
      [rejected("bad-token"), "0+1x60"],
      [rejected("in-flight"), "0+50x60"],
    ],
  },
  SallyportMachineJoinWaiting: {
    at: "80m",
    fires: [[joins("Waiting"), "0x5 1x100"]],
    quiet: [
      [joins("Waiting"), "0x5 1x50 0x5 1x50"],
      [joins("Denied"), "3x100"],
    ],
  },
  SallyportNodeCertificateIssued: {
    at: "10m",
    fires: [[issued("first"), "0x5 1x60"]],
    quiet: [
      [issued("first"), "7x60"],
      [issued("renewal"), "0+1x60"],
    ],
  },
  SallyportMachineSignerBroken: {
    at: "15m",
    fires: [[broken, "0x5 1x60"]],
    quiet: [[broken, "0x12 1x60"]],
  },
  SallyportMachineDrainStalled: {
    at: "30m",
    fires: [
      [stalled, "0x5 1x60"],
      [of("sallyport_machine_drains", 'state="Blocked"'), "0x5 1x60"],
      [of("sallyport_machine_drain_blockers", 'reason="pod-disruption-budget"'), "0x5 3x60"],
    ],
    quiet: [[stalled, "0x12 1x60"]],
  },
  SallyportMachineDrainOverdue: {
    at: "15m",
    fires: [[overdue, "0x5 1x60"]],
    quiet: [[overdue, "0x12 1x60"]],
  },
  SallyportEvictionsMisconfigured: {
    at: "15m",
    fires: [[evictions("misconfigured"), "0x5 1x60"]],
    quiet: [
      [evictions("misconfigured"), "4x60"],
      [evictions("budget"), "0+9x60"],
    ],
  },
  SallyportMachineSilent: {
    at: "30m",
    fires: [
      [machines("ready"), "3x60"],
      [machines("unreachable"), "0x5 1x60"],
    ],
    quiet: [
      [machines("unreachable"), "0x20 1x60"],
      [machines("draining"), "2x60"],
    ],
  },
};
