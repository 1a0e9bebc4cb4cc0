import { lines, PROCESS, RATE, type Row } from "./panel.ts";

/** Empty but for its first panel until debug sessions are switched on. */
export const DEBUG_ROW: Row = {
  title: "Debug sessions",
  panels: [
    lines(
      "Sessions",
      "In the cluster, by state: Open is an engineer of the vendor who is inside.",
      "short",
      `max by (state) (sallyport_debug_sessions{${PROCESS}})`,
      "{{state}}",
    ),
    lines(
      "Opened",
      "By mode.",
      "short",
      `max by (mode) (sum by (job, mode) (increase(sallyport_debug_opened_total{${PROCESS}}${RATE})))`,
      "{{mode}}",
    ),
    lines(
      "Ended",
      "By reason. pin-mismatch or audit-failed: look at once.",
      "short",
      `max by (reason) (sum by (job, reason) (increase(sallyport_debug_closed_total{${PROCESS}}${RATE})))`,
      "{{reason}}",
    ),
    lines(
      "Requests refused",
      "What engineers' kubectl asked for and did not get, by reason.",
      "short",
      `sum by (reason) (increase(sallyport_debug_denied_total{${PROCESS}}${RATE}))`,
      "{{reason}}",
    ),
    lines(
      "Bytes carried",
      "In is from the engineer, out is to them.",
      "Bps",
      `sum by (direction) (rate(sallyport_debug_tunnel_bytes_total{${PROCESS}}${RATE}))`,
      "{{direction}}",
    ),
    lines(
      "Audit records",
      "On disk, or failed, which ends the session.",
      "short",
      `sum by (result) (increase(sallyport_debug_audit_events_total{${PROCESS}}${RATE}))`,
      "{{result}}",
    ),
    lines(
      "Spool",
      "Audit files and recordings that wait for their upload.",
      "bytes",
      `max by (pod) (sallyport_debug_audit_spool_bytes{${PROCESS}})`,
      "{{pod}}",
    ),
  ],
};
