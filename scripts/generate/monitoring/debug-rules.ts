import type { RuleGroup } from "./rule.ts";

const BY = "by (cluster, namespace)";

/** Debug sessions: who is inside, and whether the record holds. Agent, operator and tunnel count sessions each by themselves. */
export const DEBUG_RULES: RuleGroup = {
  name: "sallyport.debug",
  alerts: [
    {
      name: "SallyportDebugSessionOverTTL",
      severity: "critical",
      expr: `max ${BY} (sallyport_debug_sessions_overdue) > 0`,
      for: "1m",
      summary: "A debug session in {{ $labels.namespace }} outlives its end.",
      description: "{{ $value }} of them should have ended more than a minute ago.",
    },
    {
      name: "SallyportDebugSessionsUnexpected",
      severity: "critical",
      expr: `max by (cluster, namespace, mode) (increase(sallyport_debug_opened_total[15m])) > 0
        and on (cluster, namespace, mode) max by (cluster, namespace, mode) (sallyport_debug_mode_enabled) == 0`,
      for: "0m",
      summary: "A debug session was opened in {{ $labels.namespace }} in a mode that is off there.",
      description: "{{ $value | humanize }} of the mode {{ $labels.mode }} within 15 minutes.",
    },
    {
      name: "SallyportAuditFailed",
      severity: "critical",
      expr: `sum ${BY} (increase(sallyport_debug_audit_events_total{result="failed"}[15m])) > 0`,
      for: "0m",
      summary: "Debug sessions in {{ $labels.namespace }} cannot be recorded.",
      description: "{{ $value | humanize }} records were not written: the sessions ended, and no new one opens.",
    },
    {
      name: "SallyportAuditSetAside",
      severity: "critical",
      expr: `max by (cluster, namespace, pod) (sallyport_debug_audit_files_aside) > 0`,
      for: "0m",
      summary: "An audit file of a debug session was changed in the spool of {{ $labels.pod }}.",
      description: "{{ $value }} files are not as the tunnel left them. They are kept there, and were not sent.",
    },
    {
      name: "SallyportAuditSpoolFull",
      severity: "warning",
      expr: `min ${BY} (sallyport_debug_audit_spool_full) == 1`,
      for: "5m",
      summary: "No tunnel in {{ $labels.namespace }} takes a debug session.",
      description: "Their spools have no room for the records of one more session.",
    },
    {
      name: "SallyportAuditSpoolGrowing",
      severity: "warning",
      expr: `max by (cluster, namespace, pod) (sallyport_debug_audit_spool_bytes) > 0
        and on (cluster, namespace, pod)
        sum by (cluster, namespace, pod) (increase(sallyport_debug_uploads_total{result=~"failed|given-up"}[1h])) > 0`,
      for: "30m",
      summary: "Audit files of debug sessions stay in the spool of {{ $labels.pod }}.",
      description: "{{ $value | humanize1024 }}B wait, and uploads fail. With a full spool no session is taken.",
    },
    {
      name: "SallyportDebugPinMismatch",
      severity: "critical",
      expr: `max ${BY} (increase(sallyport_debug_closed_total{reason="pin-mismatch"}[15m])) > 0`,
      for: "0m",
      summary: "An end of a debug session in {{ $labels.namespace }} showed another key than the approved one.",
      description: "{{ $value | humanize }} times within 15 minutes: something may stand between the two ends.",
    },
    {
      name: "SallyportDebugSessionOpen",
      severity: "info",
      expr: `max ${BY} (sallyport_debug_sessions{state="Open"}) > 0`,
      for: "0m",
      summary: "An engineer of the vendor is in the cluster of {{ $labels.namespace }}.",
      description: "{{ $value }} debug sessions are open.",
    },
  ],
};
