import { Cron } from "croner";
import type { OperationPolicySpec } from "../../crds/kinds/operation-policy.ts";
import { SCHEDULE_PATTERN } from "../../crds/kinds/release-window.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";

type ReleaseWindow = NonNullable<OperationPolicySpec["releaseWindows"]>[number];

/** Whether a rollout may begin, or go on to its next wave. */
export interface WindowState {
  readonly isOpen: boolean;
  /** While it is closed: when it opens next. Undefined: never, or not found within {@link MAX_LOOKUPS}. */
  readonly opensAt?: Date;
  /** For a person: a window that cannot be read or never comes, or windows that are never open together. */
  readonly problem?: string;
}

/**
 * Most steps from one opening of a window to its next, over all windows. Windows of two policies that are never open
 * together would be compared for ever: with 1,000 steps daily ones are followed for more than a year.
 */
const MAX_LOOKUPS = 1_000;

const SCHEDULE = new RegExp(SCHEDULE_PATTERN);

/**
 * Open while each policy that has windows has an open one. A window is open in `[from, from + durationMinutes)`, by elapsed
 * time, from each time of its schedule on. Where clocks are put forward, a single time that is left out counts as the first one
 * after the gap; where they are put back, a single time counts once, at its first occurrence. Windows whose hour or minute has
 * several values have no such rule: what does not exist does not open, what comes twice opens twice.
 *
 * A window that cannot be read is closed, also when the API server let it through.
 */
export function windowState(specs: readonly Pick<OperationPolicySpec, "releaseWindows">[], now: Date): WindowState {
  const problems: string[] = [];
  const policies = specs.flatMap(({ releaseWindows }) =>
    releaseWindows === undefined ? [] : [releaseWindows.flatMap((window) => openingsOf(window, now, problems))],
  );
  const at = openTogether(policies, now.getTime());
  if (at === "not found") problems.push("no time was found at which a window of each policy is open");
  const problem = problems.length > 1 ? `${problems[0]} (and ${problems.length - 1} more)` : problems[0];
  const isOpen = at === now.getTime();
  return { isOpen, ...(typeof at === "number" && !isOpen && { opensAt: new Date(at) }), ...(problem && { problem }) };
}

/** The openings of one window, in their order: only forward, so that each is computed once. */
class Openings {
  lookups = 0;
  readonly #cron: Cron;
  readonly #durationMs: number;
  /** The first one that has not ended at the time that was asked for last; undefined: there is none any more. */
  #next: number | undefined;

  constructor({ schedule, durationMinutes, timeZone }: ReleaseWindow, now: Date) {
    this.#cron = new Cron(schedule, { timezone: timeZone, mode: "5-part" });
    this.#durationMs = durationMinutes * 60_000;
    this.#next = this.#after(now.getTime() - this.#durationMs);
  }

  /** From when on it is open, `at` or later. `at` never goes back. */
  openFrom(at: number): number | undefined {
    if (this.#next !== undefined && this.#next + this.#durationMs <= at) {
      this.#next = this.#after(at - this.#durationMs);
    }
    return this.#next === undefined ? undefined : Math.max(this.#next, at);
  }

  #after(time: number): number | undefined {
    this.lookups += 1;
    return this.#cron.nextRun(new Date(time))?.getTime();
  }
}

function openingsOf(window: ReleaseWindow, now: Date, problems: string[]): readonly Openings[] {
  // A condition holds no `*`, as no command does.
  const shown = window.schedule.replaceAll("*", "any");
  const named = lineWithoutCommands(`the release window ${shown} (${window.timeZone})`, 256);
  if (!SCHEDULE.test(window.schedule)) {
    problems.push(`${named} is no schedule`);
    return [];
  }
  try {
    const openings = new Openings(window, now);
    if (openings.openFrom(now.getTime()) !== undefined) return [openings];
    problems.push(`${named} never comes`);
  } catch {
    // A step that is too long, a zone that this Node.js does not know: its words would not say more.
    problems.push(`${named} cannot be read`);
  }
  return [];
}

/** The first time, `from` or later, at which each policy has an open window. */
function openTogether(policies: readonly (readonly Openings[])[], from: number): number | "never" | "not found" {
  let at = from;
  const lookups = (): number => policies.flat().reduce((sum, openings) => sum + openings.lookups, 0);
  while (true) {
    const opening = policies.map((windows) => firstOf(windows, at));
    if (opening.some((each) => each === undefined)) return "never";
    const latest = Math.max(at, ...opening.map((each) => each ?? at));
    if (latest === at) return at;
    if (lookups() > MAX_LOOKUPS) return "not found";
    at = latest;
  }
}

function firstOf(windows: readonly Openings[], at: number): number | undefined {
  const opening = windows.flatMap((each) => each.openFrom(at) ?? []);
  return opening.length === 0 ? undefined : Math.min(...opening);
}
