import { expect, test } from "vitest";
import { loadTunnelConfig } from "./config.ts";

const minimal = { SALLYPORT_PLATFORM_URL: "https://api.example.com" };

test("only the platform's address must be set", () => {
  expect(loadTunnelConfig(minimal)).toMatchObject({
    platformUrl: "https://api.example.com/",
    debugNamespace: "sallyport-debug",
    spoolBytes: 256 * 2 ** 20,
    idleMs: 900_000,
    maxTtlMs: 3_600_000,
    maxConcurrent: 3,
    recording: "required",
    upload: true,
    strict: true,
  });
});

test.each([
  ["SALLYPORT_PLATFORM_URL", "http://api.example.com", "an https URL"],
  ["SALLYPORT_TUNNEL_SPOOL_SIZE", "1Ki", "a size such as 256Mi, at least 1Mi"],
  ["SALLYPORT_TUNNEL_SPOOL_SIZE", "much", "a size such as 256Mi"],
  ["SALLYPORT_TUNNEL_UPLOAD", "no", "one of true, false, not no"],
  ["SALLYPORT_TUNNEL_MAX_TTL", "9h", "a duration"],
  ["SALLYPORT_TUNNEL_IDLE", "16m", "a duration such as 30s, from 1000 to 900000 ms"],
  ["SALLYPORT_TUNNEL_MAX_CONCURRENT", "17", "a whole number from 1 to 16"],
  ["SALLYPORT_TUNNEL_DEBUG_NAMESPACE", "Debug", "the name of a namespace"],
])("%s=%s is refused", (name, value, words) => {
  expect(() => loadTunnelConfig({ ...minimal, [name]: value })).toThrow(`${name} must be ${words}`);
});
