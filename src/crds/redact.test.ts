import { expect, test } from "vitest";
import { type RedactionRule, redactText } from "./redact.ts";

const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzYWxseXBvcnQifQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ";
const KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc\n-----END RSA PRIVATE KEY-----";

function redacted(text: string): { readonly clean: string; readonly rules: readonly RedactionRule[] } {
  const rules: RedactionRule[] = [];
  return { clean: redactText(text, (rule) => rules.push(rule)), rules };
}

test.each<readonly [string, string, RedactionRule]>([
  [`token is ${JWT}.`, "token is [redacted].", "jwt"],
  [`before\n${KEY}\nafter`, "before\n[redacted]\nafter", "private-key"],
  ["-----BEGIN PRIVATE KEY-----\nMIIEcut off", "[redacted]", "private-key"],
  ["Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]", "authorization"],
  ["GET / basic dXNlcjpwYXNz", "GET / basic [redacted]", "authorization"],
  ["password=hunter2 user=x", "password=[redacted] user=x", "assignment"],
  ["DB_PASSWORD: hunter2", "DB_PASSWORD: [redacted]", "assignment"],
  ['{"apiKey":"abc","n":1}', '{"apiKey":[redacted],"n":1}', "assignment"],
  ["client_secret = 'a b c'", "client_secret = [redacted]", "assignment"],
  ["aws_secret_access_key=AbC/123", "aws_secret_access_key=[redacted]", "assignment"],
  ["postgres://app:hunter2@db:5432/x", "postgres://app:[redacted]@db:5432/x", "url-password"],
  ["redis://:hunter2@cache", "redis://:[redacted]@cache", "url-password"],
  [`using ghp_${"a1".repeat(18)}`, "using [redacted]", "known-token"],
  [`key sp_m_abc123def456_${"Z9".repeat(20)} loaded`, "key [redacted] loaded", "known-token"],
  ["AKIAIOSFODNN7EXAMPLE", "[redacted]", "known-token"],
])("%j", (text, clean, rule) => {
  expect(redacted(text)).toEqual({ clean, rules: [rule] });
});

test.each([
  "3 tokens were processed",
  "secretary of state",
  "https://example.com:8443/path",
  "2026-01-01T10:00:00Z INFO listening on :8080",
  "pod web-7d4b9c restarted, reason=OOMKilled",
])("leaves %j alone", (text) => {
  expect(redacted(text)).toEqual({ clean: text, rules: [] });
});

test("redacting twice changes nothing more", () => {
  const once = redacted(`password=x Authorization: Bearer ${JWT} postgres://a:b@c`).clean;
  expect(redacted(once)).toEqual({ clean: once, rules: [] });
});

test.each([
  ["one word", "a".repeat(300_000)],
  ["dots", "a.".repeat(150_000)],
  ["open quotes", 'password="'.repeat(30_000)],
  ["half keys", "-----BEGIN PRIVATE KEY-----".repeat(10_000)],
  ["half tokens", "eyJaaaaaaaa.".repeat(25_000)],
  ["schemes", "http://".repeat(40_000)],
  ["almost names", "x-token_".repeat(40_000)],
])("a hostile line (%s) costs little", (_, text) => {
  const before = process.cpuUsage();
  redacted(text);
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(3_000);
});
