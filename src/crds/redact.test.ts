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
  [`key-${JWT}`, "key-[redacted]", "jwt"],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0", "[redacted]", "jwt"],
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
  "eyJhbGciOiJIUzI1NiJ9",
  "eyJhbGciOiJIUzI1NiJ9.short",
  "x_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0",
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
