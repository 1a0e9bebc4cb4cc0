/** How long the processes that share a Lease wait for each other. */
export interface ElectionTimes {
  /** What others wait for after the last renewal that they saw. A crash costs this long. */
  readonly leaseDurationMs: number;
  /** Without a renewal for this long the leader stops. */
  readonly renewDeadlineMs: number;
  /** Between two tries. */
  readonly retryPeriodMs: number;
  /** How long before the lease's end `fence` begins to refuse: clocks of different speed, writes on their way. */
  readonly fenceMarginMs: number;
}

export const DEFAULT_ELECTION_TIMES: ElectionTimes = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
  fenceMarginMs: 2_000,
};

/** client-go's `JitterFactor`: standbys that lost the same leader do not try in step. */
export const JITTER_FACTOR = 1.2;

/** What keeps a leader from stepping down in time; none when the times fit. `must` completes "the setting must …". */
export function electionTimesProblems(
  times: Partial<ElectionTimes>,
): { readonly setting: "renewDeadlineMs" | "retryPeriodMs"; readonly must: string }[] {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, fenceMarginMs } = { ...DEFAULT_ELECTION_TIMES, ...times };
  const problems: ReturnType<typeof electionTimesProblems> = [];
  if (leaseDurationMs <= renewDeadlineMs || leaseDurationMs - fenceMarginMs < renewDeadlineMs) {
    const margin = `${fenceMarginMs / 1_000}s`;
    problems.push({ setting: "renewDeadlineMs", must: `be at least ${margin} shorter than the lease's duration` });
  }
  if (renewDeadlineMs <= retryPeriodMs * JITTER_FACTOR) {
    problems.push({ setting: "retryPeriodMs", must: `be below the renew deadline divided by ${JITTER_FACTOR}` });
  }
  return problems;
}
