import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assemble } from "../../deploy/image/assemble.ts";
import { provenance } from "../../deploy/image/provenance.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const parent = mkdtempSync(join(tmpdir(), "sallyport-image-"));
const app = join(parent, "app");

beforeAll(() => assemble(root, app), 120_000);
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** Runs it as in the image: without the checkout, and with a root that the process may not write to. */
async function sallyport(...args: readonly string[]): Promise<{ readonly stdout: string; readonly ms: number }> {
  const flags = ["--import", `data:text/javascript,${TELLS_CPU}`];
  const main = join(app, "src/cli/main.js");
  const { stdout, stderr } = await run(process.execPath, [...flags, main, ...args], { cwd: "/", env: {} });
  return { stdout, ms: Number(/cpu (\d+)/.exec(stderr)?.[1]) };
}

/** CPU time, not wall time: other programs run on this machine too. */
const TELLS_CPU = `process.on("exit", () => console.error("cpu", Math.round(
  Object.values(process.cpuUsage()).reduce((a, b) => a + b) / 1000)))`;

describe("what goes into the image", () => {
  test("starts with less than a second of a core", async () => {
    const runs = [await sallyport("version"), await sallyport("version"), await sallyport("version")];
    expect(runs[0]?.stdout).toMatch(/^sallyport \d+\.\d+\.\d+ \(Node 24\./);
    expect(Math.min(...runs.map(({ ms }) => ms))).toBeLessThan(1_000);
  });

  test.each(["agent", "operator", "platform", "check"])("has all that %s loads", async (command) => {
    expect((await sallyport(command, "--help")).stdout).toContain("SALLYPORT_");
  });

  test("is JavaScript that names JavaScript", () => {
    const files = readdirSync(join(app, "src"), { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    expect(files.length).toBeGreaterThan(500);
    for (const { parentPath, name } of files) {
      expect(name).toMatch(/\.js$/);
      expect(readFileSync(join(parentPath, name), "utf8"), name).not.toMatch(/["'`]\.{1,2}\/[^"'`\n]*\.ts["'`]/);
    }
  });

  test("holds no test, no type, no map, no machine code and no package for development", () => {
    const files = readdirSync(app, { recursive: true, encoding: "utf8" });
    const isSurplus = (file: string): boolean =>
      /\.test\.[jt]s$|\.map$|\.d\.[cm]?ts$|\.(node|bare|so)$/.test(file) || /^src\/.*testing\//.test(file);
    expect(files.filter(isSurplus)).toEqual([]);
    for (const name of ["vitest", "typescript", "@biomejs", "fast-check", "node"]) {
      expect(existsSync(join(app, "node_modules", name)), name).toBe(false);
    }
  });

  test("is small", () => {
    const files = readdirSync(app, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
    expect(bytes / 1024 ** 2).toBeLessThan(100);
  });

  test("the agent and the operator run without the platform's packages", async () => {
    for (const name of ["@electric-sql", "fastify", "kysely", "pg"])
      rmSync(join(app, "node_modules", name), { recursive: true });
    for (const command of ["agent", "operator", "check"]) {
      expect((await sallyport(command, "--help")).stdout).toContain("SALLYPORT_");
    }
  });
});

describe("the Dockerfile", () => {
  const lines = readFileSync(join(root, "deploy/image/Dockerfile"), "utf8").split("\n");
  const instructions = (word: string): readonly string[] => lines.filter((line) => line.startsWith(`${word} `));

  test("builds in an image named by digest, onto nothing, and each can be replaced by an argument", () => {
    expect(instructions("FROM").every((line) => /^FROM \$\{\w+_IMAGE\}/.test(line))).toBe(true);
    expect(instructions("ARG").filter((line) => line.includes("_IMAGE="))).toEqual([
      expect.stringMatching(/^ARG BUILD_IMAGE=\S+@sha256:[0-9a-f]{64}$/),
      "ARG BASE_IMAGE=scratch",
    ]);
  });

  test("runs as a number that is not root, without a shell", () => {
    expect(instructions("USER")).toEqual(["USER 65532:65532"]);
    expect(instructions("ENTRYPOINT")).toEqual(['ENTRYPOINT ["/app/node", "/app/src/cli/main.js"]']);
    const last = lines.findLastIndex((line) => line.startsWith("FROM "));
    expect(lines.slice(last).filter((line) => line.startsWith("RUN "))).toEqual([]);
  });

  test("copies only what the context lets through", () => {
    const allowed = readFileSync(join(root, ".dockerignore"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const copied = instructions("COPY")
      .filter((line) => !line.includes("--from"))
      .flatMap((line) => line.split(" ").slice(1, -1));
    expect([...copied].sort()).toEqual([...allowed].sort());
  });
});

test("the build script leaves an SBOM and a provenance beside the image, whatever the arguments", async () => {
  const bin = join(parent, "bin");
  const out = join(parent, "papers");
  mkdirSync(bin);
  // A fake docker that writes down its arguments and says that it has built an image.
  const docker = `#!/bin/sh\necho "$@" >> ${join(parent, "calls")}\n[ "$1" = image ] && echo sha256:abc linux/arm64 85000000\nexit 0\n`;
  writeFileSync(join(bin, "docker"), docker, { mode: 0o755 });
  const base = `mirror.example.com/base@sha256:${"b".repeat(64)}`;
  const args = ["--tag", "r.example.com/s:1", "--arch", "arm64", "--base", base, "--out", out];
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  await run(process.execPath, [join(root, "deploy/image/build.ts"), ...args], { env });
  const [build] = readFileSync(join(parent, "calls"), "utf8").split("\n");
  for (const part of ["--tag r.example.com/s:1", "--platform linux/arm64", `--build-arg BASE_IMAGE=${base}`]) {
    expect(build).toContain(part);
  }
  const read = (name: string) => JSON.parse(readFileSync(join(out, name), "utf8"));
  const names = read("sbom.cdx.json").components.map((component: { name: string }) => component.name);
  expect(names).toContain("undici");
  expect(names).not.toContain("vitest");
  const { subject, predicate } = read("provenance.json");
  expect(subject).toEqual([{ name: "r.example.com/s:1", digest: { sha256: "abc" } }]);
  expect(JSON.stringify(predicate)).toContain("b".repeat(64));
});

test("provenance names the image, the revision, the lock file and both bases", () => {
  const at = new Date("2026-01-01T00:00:00Z");
  const statement = provenance({
    name: "sallyport:1",
    imageId: "sha256:aa",
    revision: "bb",
    dirty: false,
    repository: "git+file:.",
    platform: "linux/amd64",
    arguments: { VERSION: "1" },
    bases: ["base:1@sha256:cc", "local:dev"],
    lockSha256: "dd",
    startedAt: at,
    finishedAt: at,
  });
  expect(statement).toMatchObject({
    subject: [{ name: "sallyport:1", digest: { sha256: "aa" } }],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        resolvedDependencies: [
          { digest: { gitCommit: "bb" } },
          { digest: { sha256: "dd" } },
          { uri: "base:1", digest: { sha256: "cc" } },
          { uri: "local:dev" },
        ],
      },
    },
  });
});
