/** What the newest green run of everything was: test/full-run.json, written by `npm run test:full`. */
export interface FullRun {
  readonly commit: string;
  /** When it ended, ISO. */
  readonly date: string;
  readonly seconds: number;
  readonly passed: number;
  readonly failed: 0;
  /** Seconds of each test file. */
  readonly files: Readonly<Record<string, number>>;
}

export const FULL_RUN = "test/full-run.json";

const MOST_DAYS = 3;
const MOST_LANDINGS = 20;
/** git has no landings. Thirty commits have been in one on average. */
const COMMITS_IN_A_LANDING = 30;

/** The commit that is judged. */
export interface Head {
  /** Of the commit itself, never today's: a commit is right or wrong for good, whenever it is checked out. */
  readonly date: string;
  /** Commits since the full run's; undefined when this clone does not have that commit. */
  readonly commitsSince: number | undefined;
}

/** @returns why the full run is too old for that commit; undefined when it is not */
export function staleness(run: FullRun | undefined, head: Head): string | undefined {
  if (run === undefined) return `${FULL_RUN} is missing: no full run is recorded. ${WHAT_TO_DO}`;
  const days = (Date.parse(head.date) - Date.parse(run.date)) / 86_400_000;
  const since = `${run.date.slice(0, 10)} (${run.commit.slice(0, 8)})`;
  if (!(days <= MOST_DAYS)) {
    return `the newest full run, of ${since}, is ${days.toFixed(1)} days older than this commit; ${MOST_DAYS} are allowed. ${WHAT_TO_DO}`;
  }
  const most = MOST_LANDINGS * COMMITS_IN_A_LANDING;
  if ((head.commitsSince ?? 0) <= most) return undefined;
  return `${head.commitsSince} commits lie after the newest full run, of ${since}; ${most} are allowed, ${MOST_LANDINGS} landings of ${COMMITS_IN_A_LANDING}. ${WHAT_TO_DO}`;
}

const WHAT_TO_DO = `Run \`npm run test:full\` and commit ${FULL_RUN}.`;

/** One line a file, sorted, so that git's difference of two runs is short. */
export function formatFullRun({ files, ...run }: FullRun): string {
  const sorted = Object.entries(files).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `${JSON.stringify({ ...run, files: Object.fromEntries(sorted) }, null, 2)}\n`;
}
