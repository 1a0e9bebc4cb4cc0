import { ApiError } from "../../api-client/api-error.ts";
import type { Random } from "../../base/clock.ts";
import type { ReportPart } from "../observe/report-parts.ts";
import type { Report } from "../observe/resource-reports.ts";
import { RETRY_AFTER_CAP_MS } from "../platform-link/reconnect-rule.ts";

/** Health older than 180 s is shown as stale (§11.1): a report a minute may be lost twice. */
const REPORT_EVERY_MS = 60_000;
/** A change is looked at this soon. */
export const LOOK_AFTER_CHANGE_MS = 1_000;
/** What gets worse is reported at once, this often within a minute. */
const MAX_EARLY_REPORTS = 10;

/** While no resources are taken: the status goes on, and what the platform answers to it. */
export const STATE_ALONE: Report = { mode: "confirm", parts: [], isWorse: false };

/** The platform will keep no more of a deployment: the pause before the first try with less, and then twice as long. */
const FIRST_EXCEEDED_MS = 60_000;

/** When one deployment is reported next. */
export interface ReportPace {
  reportAtMs: number;
  /** When to look whether something is worth a report before `reportAtMs`. */
  lookAtMs: number;
  /** Reports of what got worse, within the last minute. */
  earlyAtMs: readonly number[];
  reportedAtMs: number;
  /** What the customer accepts and offers, which release is wanted, and how its rollouts go, as one text, at the last look; undefined before the first. */
  customer: string | undefined;
  /** The platform takes nothing of this deployment's resources before. */
  heldUntilMs: number | undefined;
  /** Reports in a row that were more than the platform keeps. */
  exceeded: number;
  /** What was left of a full report then. */
  rest: { readonly parts: readonly ReportPart[]; readonly accepted: readonly string[] } | undefined;
}

export function newPace(): ReportPace {
  return {
    reportAtMs: 0,
    lookAtMs: Number.POSITIVE_INFINITY,
    earlyAtMs: [],
    reportedAtMs: Number.NEGATIVE_INFINITY,
    customer: undefined,
    heldUntilMs: undefined,
    exceeded: 0,
    rest: undefined,
  };
}

/**
 * A deployment that is accepted or not any more, and a capability that comes or goes, such as that of machines with their
 * pool, are reported at once: until then the platform refuses what works, or takes what does not. So is a release that is wanted newly: the
 * vendor waits for a word on it.
 */
export function noticed(pace: ReportPace, customer: string): void {
  if (customer !== pace.customer) pace.reportAtMs = 0;
  pace.customer = customer;
}

/**
 * How long a look that found nothing urgent waits for its report; 0: report now.
 *
 * @param intervalMs between two reports: a rollout is many changes.
 */
export function waitOf(
  { reportAtMs, reportedAtMs, earlyAtMs }: ReportPace,
  { mode, isWorse }: Report,
  nowMs: number,
  intervalMs: number,
): number {
  if (nowMs >= reportAtMs || mode === "full") return 0;
  if (mode === "starting") return LOOK_AFTER_CHANGE_MS;
  if (mode === "confirm") return reportAtMs - nowMs;
  const early = earlyAtMs.filter((each) => nowMs - each < 60_000).length;
  if (isWorse && early < MAX_EARLY_REPORTS) return 0;
  return Math.max(0, reportedAtMs + intervalMs - nowMs);
}

/** Called right before a report is sent. */
export function begun(pace: ReportPace, { mode, isWorse }: Report, nowMs: number, random: Random): void {
  if (isWorse) pace.earlyAtMs = [...pace.earlyAtMs.filter((each) => nowMs - each < 60_000), nowMs];
  if (mode === "starting") pace.lookAtMs = Math.min(pace.lookAtMs, nowMs + LOOK_AFTER_CHANGE_MS);
  pace.reportedAtMs = nowMs;
  const nextAtMs = nowMs + REPORT_EVERY_MS * (0.9 + 0.2 * random());
  pace.reportAtMs = Math.min(nextAtMs, pace.heldUntilMs ?? nextAtMs);
}

/**
 * The platform has refused a part because the deployment has told as much as it may for now. Others of this agent are not
 * held up by it. Of a full report the rest is kept: begun anew each time, a large one would never come to its end.
 *
 * @param left of the report: the refused part and those after it.
 * @returns false: the error is another one.
 */
export function hold(
  pace: ReportPace,
  error: unknown,
  left: Pick<Report, "mode" | "parts">,
  accepted: readonly string[],
  nowMs: number,
): boolean {
  if (!(error instanceof ApiError) || error.budget === undefined || error.retryAfterMs === undefined) return false;
  pace.heldUntilMs = nowMs + Math.min(error.retryAfterMs, RETRY_AFTER_CAP_MS);
  pace.reportAtMs = nowMs;
  pace.rest = left.mode === "full" ? { parts: left.parts, accepted } : undefined;
  return true;
}

/**
 * The platform has refused a part because it would have to keep more of the deployment than it does. No time heals that:
 * less is told the next time, which is everything again, so it must not follow at once.
 *
 * @returns false: the error is another one.
 */
export function backOff(pace: ReportPace, error: unknown, nowMs: number): boolean {
  if (!(error instanceof ApiError) || error.code !== "BUDGET_EXCEEDED") return false;
  pace.heldUntilMs = nowMs + Math.min(FIRST_EXCEEDED_MS * 2 ** pace.exceeded, RETRY_AFTER_CAP_MS);
  pace.reportAtMs = nowMs;
  pace.exceeded += 1;
  return true;
}

/** Called before each report: whether it may tell of no resources. */
export function isHeld({ heldUntilMs }: ReportPace, nowMs: number): boolean {
  return heldUntilMs !== undefined && nowMs < heldUntilMs;
}

/** The platform takes not even the state alone: then nothing is sent until it takes resources, too. */
export function staysHeld(pace: ReportPace, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.code !== "BUDGET_EXCEEDED" && error.budget === undefined) return false;
  pace.reportAtMs = pace.heldUntilMs ?? 0;
  return true;
}

/** The rest of a full report whose time has come; undefined: there is none, or it is of other namespaces than now. */
export function resumed(pace: ReportPace, accepted: readonly string[]): Report | undefined {
  const { rest } = pace;
  pace.rest = undefined;
  pace.heldUntilMs = undefined;
  if (rest === undefined || rest.accepted.join() !== accepted.join()) return undefined;
  return { mode: "full", parts: rest.parts, isWorse: false };
}
