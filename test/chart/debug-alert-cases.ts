import type { AlertCase } from "./alert-case.ts";

/** One pod of an installation, with one more label or none. */
const of = (metric: string, labels = ""): string =>
  `${metric}{cluster="east",namespace="sallyport-system",pod="pod-0"${labels && `,${labels}`}}`;
const opened = (mode: string): string => of("sallyport_debug_opened_total", `mode="${mode}"`);
const enabled = (mode: string): string => of("sallyport_debug_mode_enabled", `mode="${mode}"`);
const closed = (reason: string): string => of("sallyport_debug_closed_total", `reason="${reason}"`);
const records = (result: string): string => of("sallyport_debug_audit_events_total", `result="${result}"`);
const uploads = (result: string): string => of("sallyport_debug_uploads_total", `result="${result}"`);
const sessions = (state: string): string => of("sallyport_debug_sessions", `state="${state}"`);
const spool = of("sallyport_debug_audit_spool_bytes");

/** Of each alert on debug sessions. */
export const DEBUG_ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  SallyportDebugSessionOverTTL: {
    at: "10m",
    fires: [[of("sallyport_debug_sessions_overdue"), "0x5 1x60"]],
    quiet: [
      [of("sallyport_debug_sessions_overdue"), "0x9 1x60"],
      [sessions("Open"), "3x60"],
    ],
  },
  SallyportDebugSessionsUnexpected: {
    at: "10m",
    fires: [
      [opened("exec"), "0x5 1x60"],
      [enabled("exec"), "0x60"],
    ],
    quiet: [
      [opened("logs"), "0x5 1x60"],
      [enabled("logs"), "1x60"],
      [opened("exec"), "7x60"],
      [enabled("exec"), "0x60"],
    ],
    labels: ["mode"],
  },
  SallyportAuditFailed: {
    at: "10m",
    fires: [
      [records("failed"), "0x5 1x60"],
      [records("durable"), "0+5x60"],
    ],
    quiet: [
      [records("failed"), "1x60"],
      [records("durable"), "0+5x60"],
    ],
  },
  SallyportAuditSetAside: {
    at: "10m",
    fires: [[of("sallyport_debug_audit_files_aside"), "0x5 1x60"]],
    quiet: [
      [of("sallyport_debug_audit_files_aside"), "0x60"],
      [spool, "0+1000x60"],
    ],
    labels: ["pod"],
  },
  SallyportAuditSpoolFull: {
    at: "20m",
    fires: [[of("sallyport_debug_audit_spool_full"), "0x5 1x60"]],
    quiet: [
      [of("sallyport_debug_audit_spool_full"), "1x60"],
      ['sallyport_debug_audit_spool_full{cluster="east",namespace="sallyport-system",pod="pod-1"}', "0x60"],
    ],
  },
  SallyportAuditSpoolGrowing: {
    at: "50m",
    fires: [
      [spool, "0+1000x60"],
      [uploads("failed"), "0+1x60"],
    ],
    quiet: [
      [spool, "0+1000x60"],
      [uploads("failed"), "0x60"],
      [uploads("ok"), "0+1x60"],
    ],
    labels: ["pod"],
  },
  SallyportDebugPinMismatch: {
    at: "10m",
    fires: [
      [closed("pin-mismatch"), "0x5 1x60"],
      [of("sallyport_debug_denied_total", 'reason="path"'), "0+1x60"],
      [of("sallyport_debug_tunnel_bytes_total", 'direction="out"'), "0+1000x60"],
    ],
    quiet: [
      [closed("pin-mismatch"), "0x60"],
      [closed("client"), "0+1x60"],
    ],
  },
  SallyportDebugSessionOpen: {
    at: "10m",
    fires: [[sessions("Open"), "0x5 1x60"]],
    quiet: [
      [sessions("Open"), "1x5 0x60"],
      [sessions("Pending"), "2x60"],
    ],
  },
};
