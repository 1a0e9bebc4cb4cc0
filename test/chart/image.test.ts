import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
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
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assemble } from "../../deploy/image/assemble.ts";
import { contentsOf, nameAndVersion, PARTS } from "../../deploy/image/parts.ts";
import { provenance } from "../../deploy/image/provenance.ts";
import { sbomOf } from "../../deploy/image/sbom.ts";
import { fullOnly } from "../../src/base/testing/full.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const parent = mkdtempSync(join(tmpdir(), "sallyport-image-"));
const AT = 1_700_000_000;
const folderOf = (part: string): string => join(parent, part);

beforeAll(async () => {
  for (const part of ["cluster", "platform"] as const) await assemble(root, folderOf(part), part, AT);
}, 120_000);
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** Runs it as in the image: without the checkout, and with a root that the process may not write to. */
async function sallyport(part: string, ...args: readonly string[]) {
  const flags = ["--import", `data:text/javascript,${TELLS_CPU}`];
  const { stdout, stderr } = await run(process.execPath, [...flags, join(folderOf(part), "main.js"), ...args], {
    ...{ cwd: "/", env: {} },
  });
  return { stdout, ms: Number(/cpu (\d+)/.exec(stderr)?.[1]) };
}

/** CPU time, not wall time: other programs run on this machine too. */
const TELLS_CPU = `process.on("exit", () => console.error("cpu", Math.round(
  Object.values(process.cpuUsage()).reduce((a, b) => a + b) / 1000)))`;

function filesOf(part: string): readonly string[] {
  return readdirSync(folderOf(part), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folderOf(part), join(parentPath, name)))
    .sort();
}

/** Of each package folder, also inside of packages. */
function packagesOf(part: string): readonly string[] {
  return filesOf(part)
    .filter((file) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
    .map((file) => file.slice(0, -"/package.json".length));
}

describe.each(["cluster", "platform"])("what goes into the image of the %s", (part) => {
  test("starts with less than a second of a core", async () => {
    const runs = [await sallyport(part, "version"), await sallyport(part, "version"), await sallyport(part, "version")];
    expect(runs[0]?.stdout).toMatch(/^sallyport \d+\.\d+\.\d+ \(Node 24\./);
    expect(Math.min(...runs.map(({ ms }) => ms))).toBeLessThan(1_000);
  });

  test.each(
    part === "cluster"
      ? ["agent", "operator", "tunnel", "join", "check"]
      : ["agent", "operator", "tunnel", "join", "platform", "check"],
  )("has all that %s loads", async (command) => {
    expect((await sallyport(part, command, "--help")).stdout).toContain("SALLYPORT_");
  });

  test("has the script that the join server hands out", () => {
    expect(filesOf(part)).toEqual(expect.arrayContaining(["deploy/join/script.sh", "deploy/join/leave.sh"]));
  });

  test("is JavaScript that names JavaScript", () => {
    const files = filesOf(part).filter((file) => file.startsWith("src/"));
    expect(files.length).toBeGreaterThan(200);
    for (const file of files) {
      expect(file).toMatch(/\.js$/);
      const script = readFileSync(join(folderOf(part), file), "utf8");
      expect(script, file).not.toMatch(/["'`]\.{1,2}\/[^"'`\n]*\.ts["'`]/);
    }
  });

  test("holds no test, no type, no map, no machine code and no package for development", () => {
    const isSurplus = (file: string): boolean =>
      /\.test\.[jt]s$|\.map$|\.d\.[cm]?ts$|\.(node|bare|so)$/.test(file) || /^src\/.*testing\//.test(file);
    expect(filesOf(part).filter(isSurplus)).toEqual([]);
    for (const name of ["vitest", "typescript", "@biomejs", "fast-check", "node"]) {
      expect(existsSync(join(folderOf(part), "node_modules", name)), name).toBe(false);
    }
  });

  test("has the terms of each package that comes with some, and our own", () => {
    const isTerms = (file: string): boolean => /^(licen[cs]e|copying)[^/]*$/i.test(file);
    const without = packagesOf(part).filter((path) => !readdirSync(join(folderOf(part), path)).some(isTerms));
    const dropped = without.filter((path) => readdirSync(join(root, path)).some(isTerms));
    expect(dropped).toEqual([]);
    expect(filesOf(part)).toEqual(expect.arrayContaining(["LICENSE", "NOTICE"]));
    // Packages that come without any: package.json names their licence, and the SBOM has it.
    for (const path of without) {
      const { license } = JSON.parse(readFileSync(join(folderOf(part), path, "package.json"), "utf8"));
      expect(license, path).toMatch(/^(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|Unlicense)$/);
    }
  });

  fullOnly("is the same bytes and times when it is made again", async () => {
    const again = join(parent, `${part}-again`);
    await assemble(root, again, part as "cluster" | "platform", AT);
    const digest = (folder: string): string => {
      const hash = createHash("sha256");
      for (const file of filesOf(part)) {
        const { mtimeMs, mode } = statSync(join(folder, file));
        hash.update(`${file} ${mtimeMs} ${mode}`).update(readFileSync(join(folder, file)));
      }
      return hash.digest("hex");
    };
    expect(digest(again)).toBe(digest(folderOf(part)));
    expect(statSync(join(again, "main.js")).mtimeMs).toBe(AT * 1000);
    rmSync(again, { recursive: true });
  });

  test("is small", () => {
    const bytes = filesOf(part).reduce((sum, file) => sum + statSync(join(folderOf(part), file)).size, 0);
    expect(bytes / 1024 ** 2).toBeLessThan(part === "cluster" ? 45 : 100);
  });
});

test("the cluster's image has nothing of the platform", () => {
  const packages = packagesOf("cluster").map((path) => path.slice("node_modules/".length));
  for (const name of ["@electric-sql/pglite", "fastify", "kysely", "pg", "oidc-provider", "nodemailer"]) {
    expect(packages).not.toContain(name);
    expect(packagesOf("platform")).toContain(`node_modules/${name}`);
  }
  expect(filesOf("cluster").filter((file) => /^src\/(platform|cli\/(platform|engineer))\//.test(file))).toEqual([]);
});

describe("the platform's image", () => {
  const TELLS_FILES = `import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) { console.error("loads", url); return next(url, context); } });`;
  async function loads(...args: readonly string[]) {
    const flags = ["--import", `data:text/javascript,${encodeURIComponent(TELLS_FILES)}`];
    const { stdout, stderr } = await run(process.execPath, [...flags, join(folderOf("platform"), "main.js"), ...args], {
      ...{ cwd: "/", env: {} },
    });
    const files = [...stderr.matchAll(/^loads file:\/\/(\S+)$/gm)].map(([, file = ""]) => file);
    return { stdout, files: files.map((file) => relative(folderOf("platform"), file).split("/")[0]) };
  }

  test.each(["version", "--version", "projects --help", "approve --help"])(
    "starts %s from the bundle",
    async (words) => {
      const { stdout, files } = await loads(...words.split(" "));
      expect(stdout).not.toBe("");
      expect(new Set(files)).toEqual(new Set(["main.js", "lib"]));
    },
  );

  test.each(["platform --help", "agent --help", "help"])("starts %s from files", async (words) => {
    const { stdout, files } = await loads(...words.split(" "));
    expect(stdout).toContain(words === "help" ? "machine-controller" : "SALLYPORT_");
    expect(files).not.toContain("lib");
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
    expect(instructions("ENTRYPOINT")).toEqual(['ENTRYPOINT ["/app/node", "/app/main.js"]']);
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

describe("the build script", () => {
  const base = `mirror.example.com/base@sha256:${"b".repeat(64)}`;

  /** With a fake docker that writes down its arguments and says that it has built, pushed and copied. */
  async function build(name: string, ...args: readonly string[]) {
    const bin = join(parent, name);
    const out = join(bin, "papers");
    mkdirSync(bin);
    const docker = `#!/bin/sh
echo "$@" >> ${bin}/calls
case "$*" in
  *RepoDigests*) echo r.example.com/other@sha256:no; echo r.example.com/s@sha256:pushed;;
  "image inspect"*) echo sha256:abc linux/arm64 85000000;;
  create*) echo container;;
  cp*) echo '{}' > "$3";;
esac
`;
    writeFileSync(join(bin, "docker"), docker, { mode: 0o755 });
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, SOURCE_DATE_EPOCH: "1" };
    await run(process.execPath, [join(root, "deploy/image/build.ts"), "--out", out, ...args], { env });
    const calls = readFileSync(join(bin, "calls"), "utf8").split("\n");
    return { calls, provenance: JSON.parse(readFileSync(join(out, "provenance.json"), "utf8")), out };
  }

  test("leaves an SBOM and a provenance beside the image, whatever the arguments", async () => {
    const args = ["--tag", "r.example.com/s:1", "--arch", "arm64", "--base", base];
    const { calls, provenance: statement, out } = await build("plain", ...args);
    for (const part of [
      "--tag r.example.com/s:1",
      "--platform linux/arm64",
      `--build-arg BASE_IMAGE=${base}`,
      "--build-arg PART=cluster",
      "--build-arg SOURCE_DATE_EPOCH=1",
    ]) {
      expect(calls[0]).toContain(part);
    }
    expect(existsSync(join(out, "sbom.cdx.json"))).toBe(true);
    expect(statement.subject).toEqual([{ name: "r.example.com/s:1", digest: { sha256: "abc" } }]);
    expect(JSON.stringify(statement.predicate)).toContain("b".repeat(64));
  });

  test("vouches for the digest that users pin, once the image is pushed", async () => {
    const { calls, provenance: statement } = await build("pushed", "--tag", "r.example.com/s:1", "--push");
    expect(calls).toContain("push r.example.com/s:1");
    expect(statement.subject).toEqual([{ name: "r.example.com/s:1", digest: { sha256: "pushed" } }]);
  });
});

test("an SBOM names the image's own packages, Node.js and the system's libraries, and is the same when made again", async () => {
  const { stdout } = await run("npm", ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"], {
    ...{ cwd: root, maxBuffer: 64 * 1024 ** 2 },
  });
  const copied = "node 24.1.0 x64\nlibc6 2.36-9+deb12u14 amd64\n";
  const sbom = (part: "cluster" | "platform", system = copied) =>
    sbomOf(JSON.parse(stdout), part, nameAndVersion(root, contentsOf(root, [PARTS[part]]).packages), system, AT);
  const names = (part: "cluster" | "platform") => sbom(part).components.map(({ name }) => name);
  expect(names("cluster")).toEqual(expect.arrayContaining(["undici", "node", "libc6"]));
  expect(names("cluster")).not.toContain("oidc-provider");
  expect(names("platform")).toEqual(expect.arrayContaining(["undici", "oidc-provider", "node", "libc6"]));
  expect(names("platform")).not.toContain("vitest");
  // One entry for each package in the image, and two for what is no package of npm's.
  expect(names("platform")).toHaveLength(new Set(packagesOf("platform").map(nameOf)).size + 2);
  expect(sbom("cluster")).toEqual(sbom("cluster"));
  expect(sbom("cluster").components).toContainEqual(expect.objectContaining({ name: "node", version: "24.1.0" }));
  // With a base image's own system nothing was copied: its SBOM names Node.js.
  expect(sbom("cluster", "").components.map(({ name }) => name)).not.toContain("node");
  const refs = new Set(sbom("cluster").components.map((component) => component["bom-ref"]));
  for (const { dependsOn } of sbom("cluster").dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
});

function nameOf(path: string): string {
  const { version } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
  return `${path.slice(path.lastIndexOf("node_modules/"))}@${version}`;
}

test("provenance names the image, the revision, the lock file and both bases", () => {
  const at = new Date("2026-01-01T00:00:00Z");
  const statement = provenance({
    name: "sallyport:1",
    digest: "sha256:aa",
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
