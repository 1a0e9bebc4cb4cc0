import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../src/base/testing/fake-clock.ts";
import { scalesIn } from "./acting.ts";
import { argumentsOf, withName } from "./deciding.ts";
import { Narrator, StepFailed } from "./narrator.ts";
import { parseOptions } from "./options.ts";
import { openRunFolder } from "./run-folder.ts";
import { until, verify } from "./until.ts";

const never = new AbortController().signal;

describe("options", () => {
  it("default to a person who approves, our own cluster, and ./.sallyport", () => {
    expect(parseOptions([])).toEqual({
      approve: false,
      exit: false,
      kubeconfig: undefined,
      folder: join(process.cwd(), ".sallyport"),
    });
  });

  it.each([["--kubeconfig"], ["--aprove"], ["up"]])("refuse %s", (word) => {
    expect(() => parseOptions([word])).toThrow(/npm start -- --help/);
  });

  it("never take a cluster from the environment", () => {
    expect(parseOptions(["--approve"]).kubeconfig).toBeUndefined();
  });
});

describe("the line that approves", () => {
  const line = (patch: string) =>
    `kubectl patch accessgrants.sallyport.dev ar-1 -n sallyport-grants --type=merge -p '${patch}'`;

  it("is split into what kubectl gets", () => {
    expect(argumentsOf(line('{"spec":{"approvedForMinutes":60}}'))).toEqual([
      "patch",
      "accessgrants.sallyport.dev",
      "ar-1",
      "-n",
      "sallyport-grants",
      "--type=merge",
      "-p",
      '{"spec":{"approvedForMinutes":60}}',
    ]);
  });

  it("gets the approver's own name where the API server stamps none", () => {
    const patch = '{"spec":{"approvedForMinutes":60,"approvedPlanHash":"sha256:1"}}';
    const named = '{"spec":{"approvedForMinutes":60,"approvedPlanHash":"sha256:1","decidedBy":"$&@customer.example"}}';
    expect(withName(line(patch), "$&@customer.example")).toBe(line(named));
    expect(() => argumentsOf(withName(line(patch), "o'hara"))).toThrow(StepFailed);
  });

  it.each([
    ["another command behind it", `${line("{}")}; rm -rf /`],
    ["another resource", line("{}").replace("accessgrants.sallyport.dev", "secrets")],
    ["another flag", line("{}").replace("--type=merge", "--type=merge --as=admin")],
    ["a quote within", line("{'}")],
    ["nothing", ""],
  ])("is refused with %s", (_name, text) => {
    expect(() => argumentsOf(text)).toThrow(StepFailed);
  });
});

describe("waiting", () => {
  it("asks until there is an answer", async () => {
    const clock = new FakeClock();
    let asked = 0;
    const answer = until(clock, { what: "answer" }, async () => (++asked === 3 ? "yes" : undefined), never);
    await advance(clock, 1_000);
    expect(await answer).toBe("yes");
  });

  it("says what there was not when the time is over", async () => {
    const clock = new FakeClock();
    const answer = until(clock, { what: "answer", timeoutMs: 2_000 }, async () => undefined, never);
    const failed = expect(answer).rejects.toThrow("There was no answer after 2 s.");
    await advance(clock, 3_000);
    await failed;
  });

  it("ends at once when it is told to stop", async () => {
    const stop = new AbortController();
    const answer = until(new FakeClock(), { what: "answer" }, async () => undefined, stop.signal);
    stop.abort(new Error("Ctrl-C"));
    await expect(answer).rejects.toThrow("Ctrl-C");
  });
});

it("a comparison that fails names both sides", () => {
  verify("the state", ["a", 1], ["a", 1]);
  expect(() => verify("the state", "Held", "Succeeded")).toThrow('Expected the state to be "Succeeded", found "Held".');
});

describe("the narrator", () => {
  function narrator(isTerminal: boolean) {
    const clock = new FakeClock();
    const printed: string[] = [];
    const made = new Narrator({ write: (text) => void printed.push(text), isTerminal }, clock);
    return { clock, narrator: made, printed: () => printed.join("") };
  }

  it("tells a step in one line with the time of day and how long it took", async () => {
    const { clock, narrator: told, printed } = narrator(false);
    const value = await told.step("engineer", "asking", async () => {
      await advance(clock, 1_230);
      return { text: "asks for more", value: 42 };
    });
    expect(value).toBe(42);
    expect(printed()).toMatch(/^ {2}\d\d:\d\d:\d\d +1\.23 s {2}engineer +asks for more\n$/);
  });

  it("tells a failure, and throws it on", async () => {
    const { narrator: told, printed } = narrator(false);
    await expect(
      told.step("operator", "acting", () => Promise.reject(new StepFailed("It ended Held."))),
    ).rejects.toThrow(StepFailed);
    expect(printed()).toContain("FAILED: acting. It ended Held.");
  });

  it("says on a terminal that it is still at it, in a line that the next one replaces", async () => {
    const { clock, narrator: told, printed } = narrator(true);
    await told.step("agent", "carrying", async () => {
      await advance(clock, 2_500);
      return { text: "carried", value: undefined };
    });
    const lines = printed().split("\r\u001b[2K");
    expect(lines).toHaveLength(4);
    expect(lines.at(-1)).toMatch(/carried\n$/);
  });

  it("prints no control characters where there is no terminal", async () => {
    const { clock, narrator: told, printed } = narrator(false);
    told.heading("A heading");
    await told.step("agent", "carrying", async () => {
      await advance(clock, 25_000);
      return { text: "carried", value: undefined };
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
    expect(printed()).not.toMatch(/[\u001b\r]/);
    expect(printed().match(/carrying …/g)).toHaveLength(2);
  });
});

it("a start prints a line before it reads the source of what it starts", () => {
  const started = spawnSync(process.execPath, [join(import.meta.dirname, "..", "main.ts"), "--no-such-flag"], {
    encoding: "utf8",
  });
  expect([started.status, started.stdout]).toEqual([2, "npm start: loading …\n"]);
}, 60_000);

describe("the folder of a run", () => {
  async function folder(): Promise<string> {
    const made = await mkdtemp(join(tmpdir(), "sallyport-test-"));
    onTestFinished(() => rm(made, { recursive: true }));
    return join(made, "run");
  }

  it("is empty at each start", async () => {
    const run = await folder();
    await (await openRunFolder(run, () => false))();
    await writeFile(join(run, "old"), "");
    await openRunFolder(run, () => false);
    expect(existsSync(join(run, "old"))).toBe(false);
  });

  it("is not taken from a run that goes on", async () => {
    const run = await folder();
    await openRunFolder(run, () => false);
    await writeFile(join(run, "made-by-sallyport-dev"), "4711");
    await expect(openRunFolder(run, (pid) => pid === 4711)).rejects.toThrow(/process 4711/);
  });

  it("is taken over from a run that was killed", async () => {
    const run = await folder();
    await openRunFolder(run, () => false);
    await writeFile(join(run, "made-by-sallyport-dev"), "4711");
    await openRunFolder(run, () => false);
    expect(await readdir(run)).toEqual(["logs", "made-by-sallyport-dev"]);
  });

  it("stays ours when a run is killed while it empties the folder", async () => {
    const run = await folder();
    await openRunFolder(run, () => false);
    await writeFile(join(run, "old"), "");
    const killed = () => Promise.reject(new Error("killed"));
    await expect(openRunFolder(run, () => false, killed)).rejects.toThrow("killed");
    expect(existsSync(join(run, "old"))).toBe(true);
    await openRunFolder(run, () => false);
    expect(await readdir(run)).toEqual(["logs", "made-by-sallyport-dev"]);
  });

  it("is never one with files of another program", async () => {
    const run = await folder();
    await mkdir(run);
    await writeFile(join(run, "thesis.tex"), "");
    await expect(openRunFolder(run, () => false)).rejects.toThrow(/not ours/);
    expect(existsSync(join(run, "thesis.tex"))).toBe(true);
  });
});

it("the audit log tells who changed the scale, without refused tries, other objects and a half-written line", () => {
  const entry = (username: string, subresource: string | undefined, name: string, code: number) =>
    JSON.stringify({
      verb: "patch",
      user: { username },
      objectRef: { resource: "deployments", subresource, name },
      responseStatus: { code },
    });
  const log = [
    entry("grant", "scale", "web", 200),
    entry("stranger", "scale", "web", 403),
    entry("admin", undefined, "web", 200),
    entry("grant", "scale", "api", 200),
    '{"verb":"patch","user":{"usern',
  ].join("\n");
  expect(scalesIn(log)).toEqual(["grant"]);
});

/** Moves the clock in small steps; between them the code that waits for it runs. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let moved = 0; moved < ms; moved += 10) {
    clock.advance(10);
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
  }
}
