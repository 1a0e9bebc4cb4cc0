import { expect, it } from "vitest";
import { type Command, FriendlyError, UsageError } from "./kernel/command.ts";
import { runCli } from "./run-cli.ts";
import { Stopped } from "./stop-signals.ts";

const never = new AbortController().signal;

function command(run: Command["run"]): Command {
  return { name: "gate", summary: "Opens.", help: async () => "usage: sallyport gate\n", run };
}

async function call(argv: readonly string[], run: Command["run"] = async () => 0) {
  const out: string[] = [];
  const error: string[] = [];
  const streams = { out: (text: string) => void out.push(text), error: (text: string) => void error.push(text) };
  const code = await runCli([command(run)], argv, streams, never);
  return { code, out: out.join(""), error: error.join("") };
}

it.each([
  ["help", 0],
  ["--help", 0],
  ["-h", 0],
])("lists the commands on %s", async (word, code) => {
  const answer = await call([word]);
  expect(answer).toMatchObject({ code, error: "" });
  expect(answer.out).toContain("gate   Opens.");
});

it("lists the commands, and fails, when there is none to run", async () => {
  expect(await call([])).toMatchObject({ code: 2, out: expect.stringContaining("gate   Opens.") });
});

it("names the commands when there is no such one", async () => {
  expect(await call(["gaet"])).toEqual({
    code: 2,
    out: "",
    error: "sallyport: there is no command gaet; there are gate\n",
  });
});

it("gives the arguments to the command, and its exit code back", async () => {
  expect(await call(["gate", "--wide"], async (args) => (args[0] === "--wide" ? 7 : 0))).toMatchObject({ code: 7 });
});

it("helps wherever --help stands, and runs nothing", async () => {
  const answer = await call(["gate", "--wide", "--help"], () => Promise.reject(new Error("ran")));
  expect(answer).toEqual({ code: 0, out: "usage: sallyport gate\n", error: "" });
});

it.each([
  ["a bug", Object.assign(new Error("\u001b]0;x\u0007 \u202e \u009b31m"), { "\u001b[2J": "\u200b" })],
  ["what is no error", "\u001b[2J"],
  ["a friendly error", new FriendlyError("no \u001b[2J such \u{e0001} file")],
  ["a wrong call", new UsageError("no --\u001b[2J\r")],
])("%s steers no terminal", async (_, thrown) => {
  const { error } = await call(["gate"], () => Promise.reject(thrown));
  expect(error.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(error).toMatch(/\\u001b|\\x1B/);
});

it.each<[string, Error, number, RegExp]>([
  ["a wrong call in one line, code 2", new UsageError("no such option"), 2, /^sallyport gate: no such option\n$/],
  [
    "what a person can act on in words only",
    new FriendlyError("the disk is full"),
    1,
    /^sallyport gate: the disk is full\n$/,
  ],
  ["a bug with its stack", new Error("undefined is not a function"), 1, /at .*run-cli\.test\.ts/],
  ["Ctrl-C as a shell would, silently", new Stopped("SIGINT"), 130, /^$/],
  ["SIGTERM as a shell would, silently", new Stopped("SIGTERM"), 143, /^$/],
])("reports %s", async (_name, error, code, words) => {
  const answer = await call(["gate"], () => Promise.reject(error));
  expect(answer.code).toBe(code);
  expect(answer.error).toMatch(words);
});
