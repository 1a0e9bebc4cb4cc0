import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { until } from "../../../base/testing/until.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { UnbuildableError } from "../runner.ts";
import { imageTool } from "./image-tool.ts";

const folder = mkdtempSync(join(tmpdir(), "sallyport-image-tool-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;

function script(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

const ORDER = { base: "base", layer: "layer", out: "out" };
const PUSH = { layout: "layout", reference: "registry.example.com/shop:1.0.0", work: folder };
const DIGEST = `sha256:${"a".repeat(64)}`;

describe("the image tool", () => {
  it("is killed at its time limit", async () => {
    const clock = new TestClock();
    const program = script("endless", `echo $$ > ${folder}/pid; exec sleep 600`);
    const appending = imageTool(program, undefined, clock).append(ORDER, never);
    const failed = expect(appending).rejects.toThrow("took over 5 minutes");
    const pid = await started();
    clock.advance(5 * 60_000);
    await failed;
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  it.each<[string, string]>([
    ["writes without end", "exec yes"],
    ["says no digest", "echo done"],
    ["fails", "echo 'registry.example.com: connection refused' >&2; exit 1"],
    ["is not there", ""],
  ])("that %s fails, and the build is tried again", async (what, text) => {
    const program = text === "" ? join(folder, "absent") : script(what.replaceAll(" ", "-"), text);
    const failed = await imageTool(program, undefined, new TestClock())
      .append(ORDER, never)
      .catch((error) => error);
    expect(failed).toBeInstanceOf(Error);
    expect(failed).not.toBeInstanceOf(UnbuildableError);
  });

  it("whose push the registry refuses is not tried again, and the tenant reads nothing of the registry's answer", async () => {
    const program = script("refused", "echo 'UNAUTHORIZED: user robot, canary-words' >&2; exit 2");
    const failed = await imageTool(program, undefined, new TestClock())
      .push(PUSH, never)
      .catch((error) => error);
    expect(failed).toBeInstanceOf(UnbuildableError);
    expect(failed.message).not.toContain("canary");
    expect(String(failed.cause)).toContain("canary");
  });

  it("gets the file of credentials and this process's authorities for a push, and nothing for the rest", async () => {
    const program = script("env", `env > ${folder}/$1.env; echo ${DIGEST}`);
    const tool = imageTool(program, "/run/secrets/config.json", new TestClock());
    expect(await tool.append(ORDER, never)).toBe(DIGEST);
    expect(await tool.push(PUSH, never)).toBe(DIGEST);
    const given = (word: string) =>
      readFileSync(join(folder, `${word}.env`), "utf8")
        .split("\n")
        .filter((line) => /^(?!PWD|OLDPWD|SHLVL|_)\w+=/.test(line))
        .sort();
    expect(given("append")).toEqual([]);
    expect(given("push")).toEqual([
      "REGISTRY_AUTH_FILE=/run/secrets/config.json",
      `SSL_CERT_FILE=${join(folder, "authorities.pem")}`,
    ]);
    expect(readFileSync(join(folder, "authorities.pem"), "utf8")).toContain("BEGIN CERTIFICATE");
  });
});

/** The program's process, once it has begun. */
const started = (): Promise<number> =>
  until(async () => (existsSync(join(folder, "pid")) ? Number(readFileSync(join(folder, "pid"), "utf8")) : 0));
