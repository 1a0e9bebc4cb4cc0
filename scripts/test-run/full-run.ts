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
const DAY_MS = 86_400_000;
const MOST_LANDINGS = 20;
/** git has no landings. Thirty commits have been in one on average. */
const COMMITS_IN_A_LANDING = 30;

/** The commit that is judged. */
export interface Head {
  /** Of the commit itself, never today's: a commit is right or wrong for good, whenever it is checked out. */
  readonly date: string;
  /** What git knows of the run's commit; undefined when it is none of those that led to this one. */
  readonly ofRun: CommitOfRun | undefined;
  /** Such a clone lacks most commits. */
  readonly isShallow: boolean;
}

export interface CommitOfRun {
  readonly commit: string;
  readonly date: string;
  /** Commits of the head that came after it. */
  readonly commitsSince: number;
}

/** @returns why it is no record of a green run, which a person may have written by hand; undefined when it may be one */
export function flawOf(record: unknown, now: Date): string | undefined {
  if (typeof record !== "object" || record === null) return "is missing or no JSON: no full run is recorded";
  const { commit, date, passed, failed, files }: { readonly [Key in keyof FullRun]?: unknown } = record;
  if (typeof commit !== "string" || !/^[0-9a-f]{40}$/.test(commit)) return "names no commit by its whole hash";
  // A clock may be wrong, by less than a day.
  const isPast = typeof date === "string" && Date.parse(date) <= now.getTime() + DAY_MS;
  if (!isPast) return `has a date that is none or lies ahead, ${String(date).slice(0, 40)}`;
  if (failed !== 0 || typeof passed !== "number" || !(passed > 0)) return "is of a run that was not green";
  if (typeof files !== "object" || files === null) return "names no files";
  return Object.values(files).every(Number.isFinite) ? undefined : "has seconds that are no numbers";
}

/** @returns why the full run says nothing of that commit, or is too old for it; undefined when it is fresh */
export function staleness(run: FullRun, { date, ofRun, isShallow }: Head): string | undefined {
  const since = `${run.date.slice(0, 10)} (${run.commit.slice(0, 8)})`;
  if (ofRun === undefined && !isShallow)
    return `the newest full run, of ${since}, is of a commit that did not lead to this one. ${WHAT_TO_DO}`;
  if (ofRun !== undefined && !(Date.parse(ofRun.date) <= Date.parse(run.date)))
    return `the newest full run, of ${since}, ended before its commit was made, at ${ofRun.date}. ${WHAT_TO_DO}`;
  const days = (Date.parse(date) - Date.parse(run.date)) / DAY_MS;
  if (!(days <= MOST_DAYS)) {
    return `the newest full run, of ${since}, is ${days.toFixed(1)} days older than this commit; ${MOST_DAYS} are allowed. ${WHAT_TO_DO}`;
  }
  const most = MOST_LANDINGS * COMMITS_IN_A_LANDING;
  const commits = ofRun?.commitsSince ?? 0;
  if (commits <= most) return undefined;
  return `${commits} commits lie after the newest full run, of ${since}; ${most} are allowed, ${MOST_LANDINGS} landings of ${COMMITS_IN_A_LANDING}. ${WHAT_TO_DO}`;
}

/** What a person does about a record that is missing, flawed or stale. */
export const WHAT_TO_DO: string = `Run \`npm run test:full\` and commit ${FULL_RUN}.`;

/** One line a file, sorted, so that git's difference of two runs is short. */
export function formatFullRun({ files, ...run }: FullRun): string {
  const sorted = Object.entries(files).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `${JSON.stringify({ ...run, files: Object.fromEntries(sorted) }, null, 2)}\n`;
}
