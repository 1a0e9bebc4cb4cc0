import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type Profiler, Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { executedFunctions } from "../coverage/executed.ts";
import { changedFunctions, changesSince } from "./changes.ts";
import { namedFunctions } from "./named-functions.ts";

let root = "";
const git = (...args: readonly string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.test", ...args], {
    cwd: root,
    encoding: "utf8",
  });

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-changes-"));
});
afterEach(() => rm(root, { recursive: true }));

it("finds changed lines, deletions, new files and deleted ones", async () => {
  git("init", "--quiet");
  await writeFile(join(root, "edited.ts"), "1\n2\n3\n4\n5\n6\n");
  await writeFile(join(root, "gone.ts"), "1\n");
  await writeFile(join(root, "same.ts"), "1\n");
  git("add", ".");
  git("commit", "--quiet", "--message=base");
  const base = git("rev-parse", "HEAD").trim();
  await writeFile(join(root, "edited.ts"), "1\ntwo\n3\n4\n6\n7\n8\n");
  git("commit", "--quiet", "--all", "--message=later");
  await rm(join(root, "gone.ts"));
  await writeFile(join(root, "a new one.ts"), "1\n");
  expect(changesSince(base, root)).toEqual([
    {
      path: "edited.ts",
      lines: [
        [2, 2],
        [4, 5],
        [6, 7],
      ],
    },
    { path: "gone.ts", lines: [[0, 1]] },
    { path: "a new one.ts", lines: [[1, Number.MAX_SAFE_INTEGER]] },
  ]);
});

const SOURCE = `const LIMIT = 3;
export function outer() {
  return [1].map((n) => {
    const inner = () => n;
    return inner();
  });
}
export class Queue {
  #size = 0;
  constructor() {
    this.#grow();
  }
  get size() {
    return this.#size;
  }
  set size(size) {
    this.#size = size;
  }
  #grow() {
    this.#size += LIMIT;
  }
  static of = () => new Queue();
  static async *all() {
    yield 1;
  }
}
export const table = {
  row: () => 1,
  "a row": function () {
    return 2;
  },
  method() {
    return 3;
  },
  byDefault: (value = () => 4) => value(),
};
outer();
const queue = Queue.of();
queue.size += 1;
table.row();
table["a row"]();
table.method();
table.byDefault();
for await (const one of Queue.all()) LIMIT + one;
`;

it("gives functions the names that V8 gives them", async () => {
  const path = join(root, "src/sample.ts");
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await import("node:fs").then(({ mkdirSync }) => mkdirSync(join(root, "src")));
  await writeFile(path, SOURCE);
  await import(/* @vite-ignore */ pathToFileURL(path).href);
  const { result } = (await session.post("Profiler.takePreciseCoverage")) as { result: Profiler.ScriptCoverage[] };
  session.disconnect();
  // Of fields V8 makes functions of its own, which are in no source.
  const ran = executedFunctions(result, root)["src/sample.ts"]?.filter((name) => !/^<.*>$/.test(name));
  const names = new Set(namedFunctions(path, SOURCE).map(({ name }) => name));
  expect(new Set(ran)).toEqual(names);
});

it.each<[string, [number, number], (string | undefined)[]]>([
  ["the innermost named function", [4, 4], ["inner"]],
  ["the named function around a nameless one", [5, 5], ["outer"]],
  ["a private method", [20, 20], ["#grow"]],
  ["the constructor, by the name of its class", [10, 10], ["Queue"]],
  ["no function", [1, 1], [undefined]],
  ["all functions that a deletion lies between", [7, 8], ["outer", undefined]],
  ["no line after the last one", [10_000, 10_001], []],
])("takes a changed line for a change of %s", (_, lines, names) => {
  expect([...changedFunctions({ path: "a.ts", lines: [lines] }, SOURCE)]).toEqual(names);
});
