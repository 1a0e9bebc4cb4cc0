import { expect, test } from "vitest";
import { redactCommand } from "./redact-command.ts";

test.each([
  [
    ["psql", "--password", "hunter2", "-l"],
    ["psql", "--password", "[redacted]", "-l"],
  ],
  [
    ["vault", "-client-token", "abc"],
    ["vault", "-client-token", "[redacted]"],
  ],
  [
    ["app", "--secret", "--verbose"],
    ["app", "--secret", "--verbose"],
  ],
  [
    ["sh", "-c", "psql --password hunter2 -l; ls"],
    ["sh", "-c", "psql --password [redacted] -l; ls"],
  ],
  [
    ["curl", "-H", "authorization: bearer abcdefgh12"],
    ["curl", "-H", "authorization: bearer [redacted]"],
  ],
  [
    ["env", "DB_PASSWORD=hunter2"],
    ["env", "DB_PASSWORD=[redacted]"],
  ],
  [
    ["cat", "/etc/hosts"],
    ["cat", "/etc/hosts"],
  ],
])("%j is recorded as %j", (words, recorded) => {
  expect(redactCommand(words)).toEqual(recorded);
});
