import Type from "typebox";
import { rules } from "../schema.ts";

const MINUTE = "[0-5]?[0-9]";
const HOUR = "([01]?[0-9]|2[0-3])";
const DAY = "(0?[1-9]|[12][0-9]|3[01])";
const MONTH = "(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)";
const WEEKDAY = "([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)";

/** One field of cron: values, ranges and steps, with commas between them. */
function field(value: string): string {
  const part = `(${value}|(\\*|${value}-${value})(/[1-9][0-9]?)?)`;
  return `${part}(,${part})*`;
}

/**
 * Five fields of cron. One of the two fields for days is `*`: implementations differ in whether both together mean "and" or
 * "or", and a window that opens on more days than its author meant lets a rollout run.
 */
export const SCHEDULE_PATTERN = `^${field(MINUTE)} ${field(HOUR)} (${field(DAY)} ${field(MONTH)} \\*|\\* ${field(MONTH)} ${field(WEEKDAY)})$`;

/** When rollouts may run: from each time of the schedule on, for so many minutes. */
export const ReleaseWindow = Type.Object({
  schedule: Type.String({
    maxLength: 128,
    description:
      "When it opens: minute, hour, day of the month, month, weekday, as in cron. One of the two days is *. Such as: 0 22 * * MON-THU",
    // A rule and no pattern: the API server would answer with the whole pattern, in 2,000 characters.
    ...rules({
      rule: `self.matches(r'${SCHEDULE_PATTERN}')`,
      message:
        "needs five fields with one space between them, minute, hour, day of the month, month, weekday: values, MON, JAN, ranges, lists, steps; one of the two days is *. Such as: 0 22 * * MON-THU",
    }),
  }),
  durationMinutes: Type.Integer({ minimum: 1, maximum: 10_080, description: "How long it stays open." }),
  timeZone: Type.String({
    maxLength: 64,
    pattern: "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
    description: "Of the schedule, by its IANA name: Europe/Berlin, UTC.",
  }),
});
