import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, test } from "vitest";

// A platform that is not what it says, and a real process that prints what it answers.

const EVIL = "\u001b]0;gone\u0007\u001b[2J\u009b31m\u202egnp\u2066\u2028\u200b\u{e0001}\r";
const CONTROL = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u;
const record = { id: `dep_${EVIL}`, [`na${EVIL}me`]: EVIL, status: { [EVIL]: [EVIL, { [EVIL]: EVIL }] }, state: EVIL };
const ANSWERS: Readonly<Record<string, RequestListener>> = {
  "one record": (_, response) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(record)),
  "a page": (_, response) =>
    void response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ items: [record, record], nextCursor: EVIL })),
  "an error of the API": (_, response) => {
    response.writeHead(409, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        code: `BAD${EVIL}`,
        message: EVIL,
        hint: EVIL,
        retryable: false,
        context: { [EVIL]: EVIL },
        requestId: EVIL,
      }),
    );
  },
  "what is no JSON": (_, response) => void response.setHeader("content-type", "application/json").end(`{"${EVIL}`),
  "what is no answer of the API": (_, response) => void response.writeHead(400).end(EVIL),
};
/** The ways of a table: one record, a list, and a list with columns of its own. The other formats have a test of theirs. */
const LINES = ["whoami", "projects list", "resources list"];

let server: Server;
let answer: RequestListener = (_, response) => void response.end();
beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => server.close());

function typed(words: readonly string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    XDG_CONFIG_HOME: "/nowhere",
    SALLYPORT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SALLYPORT_KEY: `sp_w_0123_${"a".repeat(43)}`,
    SALLYPORT_WORKSPACE: "acme",
    // Of a CI system, for whose terminal some programs bring colours.
    ...{ CI: "1", GITHUB_ACTIONS: "1", TERM: "xterm-256color" },
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...words], { env });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  return new Promise((resolve) => child.once("close", () => resolve(said)));
}

it.each(Object.keys(ANSWERS))("no byte of %s steers a terminal", async (name) => {
  answer = ANSWERS[name] ?? answer;
  const said = await Promise.all(LINES.map((line) => typed(line.split(" "))));
  for (const each of said) {
    expect(each.replaceAll("\n", "")).not.toMatch(CONTROL);
    expect(each).not.toBe("");
  }
});

it("nor of what the person typed, as a word or as a file's name", async () => {
  const lines = [[EVIL], ["whoami", `--${EVIL}`], ["plugin", "check", `/nowhere/${EVIL}`]];
  for (const said of await Promise.all(lines.map(typed))) expect(said.replaceAll(/[\n\t]/g, "")).not.toMatch(CONTROL);
});

test("every line of these programs to standard error goes through the one place that escapes it", async () => {
  const files = (await readdir(import.meta.dirname, { recursive: true })).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  const raw: string[] = [];
  for (const file of files) {
    const text = await readFile(join(import.meta.dirname, file), "utf8");
    for (const [call] of text.matchAll(/(?:process\.stderr\.write|console\.\w+)\((?!sayable\(|"\\n"\))[^)\n]*/g))
      raw.push(`${file}: ${call}`);
  }
  expect(raw).toEqual([]);
});
