import { Histogram, type Registry } from "prom-client";
import { RELOAD_RESULTS, type ReloadResult } from "../../api-client/runtime-key.ts";
import { closedCounter, closedGauge } from "../../base/closed-series.ts";

/** Why a request was not taken up. */
const REJECTIONS = [
  "rate",
  "in-flight",
  "waiting-full",
  "connections",
  "handshake",
  "slow",
  "too-large",
  "malformed",
  "not-found",
  "bad-request",
  "bad-token",
  "many-bad-tokens",
  "certificate",
  "not-joined",
  "token-used-up",
  "name-not-allowed",
  "taken",
  "no-pool",
  "pool-closed",
  "signer",
  "platform",
  "api-server",
  "failed",
] as const;
export type Rejection = (typeof REJECTIONS)[number];

/** accepted: a MachineJoin was made; repeated: the same machine asked again; issued: its certificate was handed out. */
const JOIN_RESULTS = ["accepted", "repeated", "issued", "denied"] as const;

export interface JoinMetrics {
  keyReloaded(result: ReloadResult): void;
  rejected(reason: Rejection): void;
  joined(result: (typeof JOIN_RESULTS)[number]): void;
  /** From the MachineJoin's creation to its certificate in the hands of a machine that waited for it. */
  took(seconds: number): void;
  /** Long-polls that wait. */
  waiting(polls: number): void;
  reported(isWell: boolean): void;
}

/** Declares the join server's metrics on `registry`, every series at 0. */
export function joinMetrics(registry: Registry): JoinMetrics {
  const reloads = closedCounter(
    registry,
    "sallyport_runtime_key_reloads_total",
    "Reads of a changed runtime key file by result.",
    { result: RELOAD_RESULTS },
  );
  const rejected = closedCounter(
    registry,
    "sallyport_join_rejected_total",
    "Requests of machines refused, by reason.",
    {
      reason: REJECTIONS,
    },
  );
  const joined = closedCounter(registry, "sallyport_machine_joins_total", "Joins of machines by what became of them.", {
    result: JOIN_RESULTS,
  });
  const took = new Histogram({
    name: "sallyport_machine_join_seconds",
    help: "From a machine's first ask to its certificate.",
    buckets: [1, 2, 5, 15, 60, 300, 1_800, 7_200, 86_400],
    registers: [registry],
  });
  const waiting = closedGauge(registry, "sallyport_join_waiting", "Machines that wait for an answer.", {});
  const reports = closedCounter(
    registry,
    "sallyport_join_reports_total",
    "Reports to the platform of where machines join, by result.",
    { result: ["ok", "failed"] },
  );
  return {
    keyReloaded: (result) => reloads.inc({ result }),
    rejected: (reason) => rejected.inc({ reason }),
    joined: (result) => joined.inc({ result }),
    took: (seconds) => took.observe(seconds),
    waiting: (polls) => waiting.set(polls),
    reported: (isWell) => reports.inc({ result: isWell ? "ok" : "failed" }),
  };
}
