import { expect, test } from "vitest";
import {
  anyText,
  ConfigError,
  duration,
  durationMs,
  integer,
  loadSettings,
  oneOf,
  type SettingsOf,
} from "./settings.ts";

interface Config {
  readonly url: string;
  readonly level: "low" | "high";
  readonly pauseMs: number;
  readonly workers: number;
}

const TABLE: SettingsOf<Config> = {
  url: { env: "URL", default: undefined, doc: "Where it is.", parse: anyText },
  level: { env: "LEVEL", default: "low", doc: "How much.", parse: oneOf(["low", "high"]) },
  pauseMs: { env: "PAUSE", default: "5m", doc: "Between two.", parse: duration(1_000, 7_200_000) },
  workers: { env: "WORKERS", default: "4", doc: "At once.", parse: integer(1, 8) },
};

test("a setting is trimmed, and an empty one has its default", () => {
  const config = loadSettings(TABLE, { URL: " x ", LEVEL: " ", PAUSE: "2h" });
  expect(config).toEqual({ url: "x", level: "low", pauseMs: 7_200_000, workers: 4 });
  expect(Object.isFrozen(config)).toBe(true);
});

test("all bad settings are told in one error", () => {
  const load = (): unknown => loadSettings(TABLE, { LEVEL: "mid", PAUSE: "60", WORKERS: "0x2" });
  expect(load).toThrow(ConfigError);
  expect(load).toThrow(
    [
      "bad configuration:",
      "URL must be set",
      "LEVEL must be one of low, high, not mid",
      "PAUSE must be a duration such as 30s, from 1000 to 7200000 ms",
      "WORKERS must be a whole number from 1 to 8",
    ].join("\n  "),
  );
});

test("settings that contradict each other are named by their variable", () => {
  const load = (): unknown => loadSettings(TABLE, { URL: "x" }, () => [{ setting: "pauseMs", must: "be shorter" }]);
  expect(load).toThrow("PAUSE must be shorter");
});

test.each([
  ["250ms", 250],
  ["90s", 90_000],
  ["15m", 900_000],
  ["12h", 43_200_000],
  ["30d", 2_592_000_000],
])("%s is %d ms", (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

test.each(["", "1", "-1d", "1w", "1.5h", "99999999d"])("%j is no duration", (text) => {
  expect(durationMs(text)).toBeUndefined();
});
