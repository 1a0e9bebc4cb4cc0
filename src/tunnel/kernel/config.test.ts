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
    uploadHosts: [],
    strict: true,
  });
});

test("upload hosts are read as addresses have them", () => {
  const SALLYPORT_TUNNEL_UPLOAD_HOSTS = "Storage.Example.com, s3.example:9000,b.example:443";
  const { uploadHosts } = loadTunnelConfig({ ...minimal, SALLYPORT_TUNNEL_UPLOAD_HOSTS });
  expect(uploadHosts).toEqual(["storage.example.com", "s3.example:9000", "b.example"]);
});

test.each([
  ["SALLYPORT_PLATFORM_URL", "http://api.example.com", "an https URL"],
  ["SALLYPORT_TUNNEL_SPOOL_SIZE", "1Ki", "a size such as 256Mi, at least 1Mi"],
  ["SALLYPORT_TUNNEL_SPOOL_SIZE", "much", "a size such as 256Mi"],
  ["SALLYPORT_TUNNEL_UPLOAD", "no", "one of true, false, not no"],
  ["SALLYPORT_TUNNEL_UPLOAD_HOSTS", "https://b.example", "hosts such as storage.example.com"],
  ["SALLYPORT_TUNNEL_UPLOAD_HOSTS", "b.example/path", "hosts such as storage.example.com"],
  ["SALLYPORT_TUNNEL_UPLOAD_HOSTS", "jo@b.example", "hosts such as storage.example.com"],
  ["SALLYPORT_TUNNEL_UPLOAD_HOSTS", "b.example,*", "hosts such as storage.example.com"],
  ["SALLYPORT_TUNNEL_SESSION_SPOOL_SIZE", "1Ki", "a size such as 256Mi, at least 1Mi"],
  ["SALLYPORT_TUNNEL_MAX_TTL", "9h", "a duration"],
  ["SALLYPORT_TUNNEL_IDLE", "16m", "a duration such as 30s, from 1000 to 900000 ms"],
  ["SALLYPORT_TUNNEL_MAX_CONCURRENT", "17", "a whole number from 1 to 16"],
  ["SALLYPORT_TUNNEL_DEBUG_NAMESPACE", "Debug", "the name of a namespace"],
])("%s=%s is refused", (name, value, words) => {
  expect(() => loadTunnelConfig({ ...minimal, [name]: value })).toThrow(`${name} must be ${words}`);
});

test("a session's share is not more than the spool", () => {
  const sizes = { SALLYPORT_TUNNEL_SPOOL_SIZE: "32Mi", SALLYPORT_TUNNEL_SESSION_SPOOL_SIZE: "33Mi" };
  expect(() => loadTunnelConfig({ ...minimal, ...sizes })).toThrow(
    "SALLYPORT_TUNNEL_SESSION_SPOOL_SIZE must not be more than SALLYPORT_TUNNEL_SPOOL_SIZE",
  );
});
