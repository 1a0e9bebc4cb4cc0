import { duration, type Setting } from "./settings.ts";

/** How fast the replicas of a process replace a silent leader: the same three settings for each of our processes. */
export const ELECTION_SETTINGS = {
  leaseDurationMs: {
    env: "SALLYPORT_LEASE_DURATION",
    default: "15s",
    doc: "Silence after which another replica may lead: the longest fail-over. Source: client-go.",
    parse: duration(2_000, 120_000),
  },
  renewDeadlineMs: {
    env: "SALLYPORT_RENEW_DEADLINE",
    default: "10s",
    doc: "The leader steps down when it could not renew for this long. At least 2 s below the lease's duration. Source: client-go.",
    parse: duration(1_000, 110_000),
  },
  retryPeriodMs: {
    env: "SALLYPORT_RETRY_PERIOD",
    default: "2s",
    doc: "Between two tries to get or renew the lease. Below five sixths of the renew deadline. Source: client-go.",
    parse: duration(100, 60_000),
  },
} satisfies Record<string, Setting<number>>;
