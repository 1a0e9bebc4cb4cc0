import fc from "fast-check";
import { expect, test } from "vitest";
import { cpuMs } from "../../base/testing/cpu-time.ts";
import { runs } from "../../base/testing/runs.ts";
import { SCHEDULE_PATTERN } from "../../crds/kinds/release-window.ts";
import { windowState } from "./release-windows.ts";

interface Window {
  readonly schedule: string;
  readonly durationMinutes: number;
  readonly timeZone: string;
}

const MINUTE = 60_000;
const window = (schedule: string, durationMinutes = 60, timeZone = "UTC"): Window => {
  return { schedule, durationMinutes, timeZone };
};
const policy = (...releaseWindows: Window[]) => ({ releaseWindows });
const shown = (specs: Parameters<typeof windowState>[0], now: string): string => {
  const { isOpen, opensAt, problem } = windowState(specs, new Date(now));
  const closed = opensAt === undefined ? "closed" : `opens ${opensAt.toISOString().replace(":00.000Z", "Z")}`;
  return `${isOpen ? "open" : closed}${problem === undefined ? "" : `; ${problem}`}`;
};

const EVENING = window("0 22 * * MON-THU", 240, "Europe/Berlin");
const NEVER = window("0 0 31 2 *");

// 2026: Berlin's clocks go forward on 29 March at 01:00Z and back on 25 October at 01:00Z.
test.each<[string, readonly { releaseWindows?: Window[] }[], string, string]>([
  ["no policy", [], "2026-11-24T12:00:00Z", "open"],
  ["a policy without windows", [{}], "2026-11-24T12:00:00Z", "open"],
  ["an empty list, which the API server refuses", [policy()], "2026-11-24T12:00:00Z", "closed"],
  ["before", [policy(EVENING)], "2026-11-24T12:00:00Z", "opens 2026-11-24T21:00Z"],
  ["a millisecond before", [policy(EVENING)], "2026-11-24T20:59:59.999Z", "opens 2026-11-24T21:00Z"],
  ["at its beginning", [policy(EVENING)], "2026-11-24T21:00:00Z", "open"],
  ["over midnight", [policy(EVENING)], "2026-11-25T00:59:59.999Z", "open"],
  ["at its end", [policy(EVENING)], "2026-11-25T01:00:00Z", "opens 2026-11-25T21:00Z"],
  ["over the weekend", [policy(EVENING)], "2026-11-27T12:00:00Z", "opens 2026-11-30T21:00Z"],
  ["in summer", [policy(EVENING)], "2026-07-21T12:00:00Z", "opens 2026-07-21T20:00Z"],
  ["longer than its period", [policy(window("0 0 * * *", 10_080))], "2026-11-24T23:59:00Z", "open"],
  ["a second window", [policy(EVENING, window("30 12 * * *"))], "2026-11-24T13:29:00Z", "open"],
  [
    "a second policy",
    [policy(EVENING), policy(window("0 23 * * *"))],
    "2026-11-24T21:30:00Z",
    "opens 2026-11-24T23:00Z",
  ],
  ["both", [policy(EVENING), policy(window("0 23 * * *"))], "2026-11-24T23:30:00Z", "open"],
  ["a second policy without", [policy(EVENING), {}], "2026-11-24T21:30:00Z", "open"],
  ["a time that clocks leave out", [policy(window("30 2 * * *", 30, "Europe/Berlin"))], "2026-03-29T01:00:00Z", "open"],
  ["a repeated time, first", [policy(window("30 2 * * *", 30, "Europe/Berlin"))], "2026-10-25T00:30:00Z", "open"],
  [
    "a repeated time, second",
    [policy(window("30 2 * * *", 30, "Europe/Berlin"))],
    "2026-10-25T01:30:00Z",
    "opens 2026-10-26T01:30Z",
  ],
  ["each half hour, second", [policy(window("*/30 * * * *", 5, "Europe/Berlin"))], "2026-10-25T01:30:00Z", "open"],
  ["leap day", [policy(window("0 0 29 2 *"))], "2026-11-24T12:00:00Z", "opens 2028-02-29T00:00Z"],
  [
    "a day that never comes",
    [policy(NEVER)],
    "2026-11-24T12:00:00Z",
    "closed; the release window 0 0 31 2 any (UTC) never comes",
  ],
  [
    "another beside it",
    [policy(NEVER, window("0 12 * * *"))],
    "2026-11-24T12:00:00Z",
    "open; the release window 0 0 31 2 any (UTC) never comes",
  ],
  [
    "one policy of two that never opens",
    [policy(NEVER), policy(window("0 12 * * *"))],
    "2026-11-24T12:00:00Z",
    "closed; the release window 0 0 31 2 any (UTC) never comes",
  ],
  [
    "a zone that is none",
    [policy(window("0 12 * * *", 60, "Mars/Olympus"))],
    "2026-11-24T12:00:00Z",
    "closed; the release window 0 12 any any any (Mars/Olympus) cannot be read",
  ],
  [
    "a step beyond the field",
    [policy(window("0 */99 * * *"))],
    "2026-11-24T12:00:00Z",
    "closed; the release window 0 any/99 any any any (UTC) cannot be read",
  ],
  [
    "two that cannot be read",
    [policy(window("noon"), window("60 * * * *"))],
    "2026-11-24T12:00:00Z",
    "closed; the release window noon (UTC) is no schedule (and 1 more)",
  ],
  [
    "two policies that only touch",
    [policy(window("0 2 * * *")), policy(window("0 3 * * *"))],
    "2026-11-24T02:30:00Z",
    "closed; no time was found at which a window of each policy is open",
  ],
  [
    "two policies that never meet",
    [policy(window("0 2 * * *")), policy(window("0 4 * * *"))],
    "2026-11-24T12:00:00Z",
    "closed; no time was found at which a window of each policy is open",
  ],
])("%s: %#", (_, specs, now, state) => {
  expect(shown(specs, now)).toBe(state);
});

test.each([
  ["* * * * *", true],
  ["0 22 * * MON-THU", true],
  ["0,30 8-18/2 1,15 JAN-MAR,12 *", true],
  ["*/15 0-23 * * 0,7", true],
  ["0 0 1 * MON", false],
  ["0 0 * *", false],
  ["0 0 0 * * *", false],
  ["0 0 L * *", false],
  ["0 0 * * MON#2", false],
  ["@daily", false],
  ["60 0 * * *", false],
  ["0 24 * * *", false],
  ["0 0 32 * *", false],
  ["0 0 0 * *", false],
  ["0 0 * 13 *", false],
  ["5/10 * * * *", false],
  ["*/0 * * * *", false],
  ["0  0 * * *", false],
  ["0 0 * * *\n", false],
])("the pattern takes %j: %s", (schedule, taken) => {
  expect(new RegExp(SCHEDULE_PATTERN).test(schedule)).toBe(taken);
});

const value = (from: number, to: number) => fc.integer({ min: from, max: to }).map(String);

function field(from: number, to: number): fc.Arbitrary<string> {
  const range = fc.tuple(fc.integer({ min: from, max: to }), fc.integer({ min: from, max: to })).map(([a, b]) => {
    return `${Math.min(a, b)}-${Math.max(a, b)}`;
  });
  const step = fc
    .tuple(fc.oneof(fc.constant("*"), range), fc.integer({ min: 1, max: to }))
    .map(([of, by]) => `${of}/${by}`);
  const several = fc
    .array(fc.oneof(value(from, to), range), { minLength: 1, maxLength: 3 })
    .map((all) => all.join(","));
  return fc.oneof(value(from, to), value(from, to), fc.constant("*"), several, step);
}

const Schedule = fc
  .tuple(field(0, 59), field(0, 23), field(1, 12), fc.boolean())
  .chain(([minute, hour, month, byDay]) =>
    byDay
      ? field(1, 31).map((day) => `${minute} ${hour} ${day} ${month} *`)
      : field(0, 7).map((weekday) => `${minute} ${hour} * ${month} ${weekday}`),
  );

/** Clocks change at 02:00, at midnight, by half an hour; one leaves out a whole day, one never changes. */
const CHANGES = [
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["America/New_York", "2026-03-08T07:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  ["America/Santiago", "2026-09-06T04:00:00Z"],
  ["America/Santiago", "2026-04-05T03:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["Asia/Kolkata", "2026-06-01T00:00:00Z"],
] as const;

/** Where an implementation goes wrong: in the hours of a change, by each kind of minute and hour. */
const NearChange = fc
  .tuple(
    fc.oneof(value(0, 59), fc.constantFrom("0,30", "15-45", "*/20", "7,7")),
    fc.oneof(value(0, 3), fc.constantFrom("23", "*", "1,2", "0-3", "2,14", "*/2")),
  )
  .map(([minute, hour]) => `${minute} ${hour} * * *`);

/** Minutes from a change. */
const Near = fc.oneof(fc.integer({ min: -120, max: 180 }), fc.integer({ min: -36 * 60, max: 60 * 60 }));

const AnyWindow = fc.record({
  schedule: fc.oneof(Schedule, NearChange),
  durationMinutes: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 10_080 })),
});

test("it is open exactly when a look at each minute of the wall clock says so", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CHANGES),
      fc.array(fc.array(AnyWindow, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
      Near,
      fc.constantFrom(0, 1, 30_500, 59_999),
      ([timeZone, change], policies, minutes, ms) => {
        const now = Date.parse(change) + minutes * MINUTE + ms;
        const specs = policies.map((all) => policy(...all.map((each) => ({ ...each, timeZone }))));
        const isOpen = specs.every(({ releaseWindows }) => releaseWindows.some((each) => isOpenByMinutes(each, now)));
        expect(windowState(specs, new Date(now)).isOpen).toBe(isOpen);
      },
    ),
    { numRuns: runs(150) },
  );
});

test("so do all minutes around a change of the clocks", () => {
  const Short = fc.record({ schedule: NearChange, durationMinutes: fc.integer({ min: 1, max: 25 }) });
  fc.assert(
    fc.property(
      fc.constantFrom(...CHANGES),
      Short,
      fc.integer({ min: 0, max: 2 }),
      ([timeZone, change], each, first) => {
        const short = { ...each, timeZone };
        const wrong: string[] = [];
        for (let minutes = first - 120; minutes < 180; minutes += 3) {
          const now = Date.parse(change) + minutes * MINUTE;
          const { isOpen } = windowState([policy(short)], new Date(now));
          if (isOpen !== isOpenByMinutes(short, now)) wrong.push(new Date(now).toISOString());
        }
        expect(wrong).toEqual([]);
      },
    ),
    { numRuns: runs(60) },
  );
});

test("what it says of the next opening is the first minute that is open", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CHANGES),
      fc.array(AnyWindow, { minLength: 1, maxLength: 2 }),
      Near,
      ([timeZone, change], windows, minutes) => {
        const now = Date.parse(change) + minutes * MINUTE;
        const specs = windows.map((each) => policy({ ...each, timeZone }));
        const { isOpen, opensAt } = windowState(specs, new Date(now));
        if (opensAt === undefined) return;
        expect(isOpen).toBe(false);
        expect(windowState(specs, opensAt).isOpen).toBe(true);
        expect(windowState(specs, new Date(opensAt.getTime() - 1)).isOpen).toBe(false);
        const until = Math.min(opensAt.getTime(), now + 2 * 24 * 60 * MINUTE);
        for (let at = now; at < until; at += 41 * MINUTE) expect(windowState(specs, new Date(at)).isOpen).toBe(false);
      },
    ),
    { numRuns: runs(60) },
  );
});

test("a policy that is added never opens what was closed", () => {
  const Policy = fc.array(AnyWindow, { minLength: 1, maxLength: 3 }).map((all) => {
    return policy(...all.map((each) => ({ ...each, timeZone: "Europe/Berlin" })));
  });
  fc.assert(
    fc.property(
      fc.array(Policy, { maxLength: 3 }),
      Policy,
      fc.integer({ min: 0, max: 525_600 }),
      (before, added, minute) => {
        const now = new Date(Date.UTC(2026, 0, 1) + minute * MINUTE);
        if (windowState([...before, added], now).isOpen) expect(windowState(before, now).isOpen).toBe(true);
      },
    ),
    { numRuns: runs(100) },
  );
});

test("it looks at no more than a bounded number of openings of any windows", () => {
  const apart = (hour: number) =>
    policy(...Array.from({ length: 20 }, (_, index) => window(`${index} ${hour} * * *`, 1, "Europe/Berlin")));
  const began = cpuMs();
  const { problem } = windowState(
    [...Array.from({ length: 12 }, (_, hour) => apart(hour))],
    new Date("2026-01-01T00:00:00Z"),
  );
  expect(problem).toContain("no time was found");
  // Without a bound it runs to the year 9999: minutes.
  expect(cpuMs() - began).toBeLessThan(5_000);
});

/** The slow way: each minute back to the window's length, read on the wall clock. Its rules for changes are the written ones. */
function isOpenByMinutes({ schedule, durationMinutes, timeZone }: Window, now: number): boolean {
  const wall = wallClock(timeZone);
  const [minutes = "", hours = "", days = "", months = "", weekdays = ""] = schedule.split(" ");
  const allowed = {
    minutes: valuesOf(minutes, 0, 59),
    hours: valuesOf(hours, 0, 23),
    days: valuesOf(days, 1, 31),
    months: valuesOf(months, 1, 12),
    weekdays: new Set([...valuesOf(weekdays, 0, 7)].map((weekday) => weekday % 7)),
  };
  const isDay = ({ day, month, weekday }: Wall): boolean =>
    allowed.days.has(day) && allowed.months.has(month) && allowed.weekdays.has(weekday);
  const isTime = (minuteOfDay: number): boolean =>
    allowed.hours.has(Math.floor(minuteOfDay / 60)) && allowed.minutes.has(minuteOfDay % 60);
  const isSingle = allowed.hours.size === 1 && allowed.minutes.size === 1;
  const current = Math.floor(now / MINUTE) * MINUTE;
  for (let at = current; at + durationMinutes * MINUTE > now; at -= MINUTE) {
    const here = wall(at);
    if (!isDay(here)) continue;
    const before = wall(at - MINUTE);
    if (isTime(here.minuteOfDay)) {
      const isAgain = isSingle && [30, 60].some((back) => isSameWall(wall(at - back * MINUTE), here));
      if (!isAgain) return true;
    }
    if (!isSingle) continue;
    const gapFrom = before.day === here.day ? before.minuteOfDay + 1 : 0;
    for (let minute = gapFrom; minute < here.minuteOfDay; minute += 1) if (isTime(minute)) return true;
  }
  return false;
}

interface Wall {
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly minuteOfDay: number;
}

function isSameWall(one: Wall, other: Wall): boolean {
  return one.day === other.day && one.minuteOfDay === other.minuteOfDay;
}

const WALLS = new Map<string, Map<number, Wall>>();

function wallClock(timeZone: string): (at: number) => Wall {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", hourCycle: "h23" },
  });
  const known = WALLS.get(timeZone) ?? new Map<number, Wall>();
  WALLS.set(timeZone, known);
  return (at) => {
    const before = known.get(at);
    if (before !== undefined) return before;
    const parts = new Map(format.formatToParts(at).map(({ type, value: text }) => [type, Number(text)]));
    const [year = 0, month = 0, day = 0] = [parts.get("year"), parts.get("month"), parts.get("day")];
    const minuteOfDay = (parts.get("hour") ?? 0) * 60 + (parts.get("minute") ?? 0);
    const wall = { month, day, weekday: new Date(Date.UTC(year, month - 1, day)).getUTCDay(), minuteOfDay };
    known.set(at, wall);
    return wall;
  };
}

function valuesOf(text: string, from: number, to: number): Set<number> {
  const all = text.split(",").flatMap((part) => {
    const [range = "", by = "1"] = part.split("/");
    const [low = from, high = low] = range === "*" ? [from, to] : range.split("-").map(Number);
    return Array.from({ length: high - low + 1 }, (_, index) => low + index).filter(
      (each) => (each - low) % Number(by) === 0,
    );
  });
  return new Set(all);
}
