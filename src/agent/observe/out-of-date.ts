import type { ResourceStatus } from "../../contract/resources/resource-heartbeat.ts";
import type { Observation } from "./ledger.ts";

const UNREADABLE = {
  reason: "forbidden",
  severity: "error",
  source: "kubernetes",
  message: "the agent may not read this kind any more; what is shown is the last that it saw",
} as const;

const OUT_OF_DATE = {
  reason: "api-unavailable",
  severity: "error",
  source: "kubernetes",
  message: "the API server has not confirmed this kind for three minutes; what is shown is the last that it said",
} as const;

const TOO_LARGE = {
  reason: "collection-failed",
  severity: "error",
  source: "kubernetes",
  message: "there are more objects of this kind than the agent holds; what is shown is the last that it saw",
} as const;

const ISSUES = { stale: OUT_OF_DATE, starting: UNREADABLE, unreadable: UNREADABLE, "too-large": TOO_LARGE } as const;

/** The same while the kind is not read, as what it was: its health is not known. */
export function outOfDate({ row, heartbeat }: Observation, state: keyof typeof ISSUES): Observation {
  const collectionIssues = [ISSUES[state]];
  const status = { ...heartbeat?.data.data.status, health: "unknown", stale: true, collectionIssues };
  return {
    row: { ...row, health: "unknown", providerStale: true, collectionIssues },
    heartbeat: heartbeat && {
      ...heartbeat,
      data: { ...heartbeat.data, data: { ...heartbeat.data.data, status: status as ResourceStatus } },
    },
  };
}
