import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { parse } from "yaml";
import { installRecipe } from "../../../lab/cluster/go-build.ts";
import { ensureRecipe, findPrograms } from "../../../lab/cluster/programs.ts";
import { PACKAGES } from "../../../scripts/packages/package-table.ts";
import { makeRelease, RELEASE_PARTS, type ReleasePart } from "../../../scripts/release/make-release.ts";
import type { Making } from "../../../scripts/release/making.ts";
import { craneProgram, pushRelease } from "../../../scripts/release/push.ts";
import { fullOnly, isFull } from "../../../src/base/testing/full.ts";
import { IMAGE_SETTINGS } from "../../../src/platform/builders/operator-image/config.ts";
import { helmProgram, runHelm } from "../../chart/helm.ts";

// A release twice: the same bytes. Each change makes chart and plugin; packages and images, which take minutes, are of a full run.

const run = promisify(execFile);
const PARTS: readonly ReleasePart[] = isFull ? RELEASE_PARTS : ["krew", "chart"];
const VERSION = "0.1.0";
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const within = (seconds: number): AbortSignal => AbortSignal.timeout(seconds * 1_000);
let folder = "";
const inRelease = (...path: string[]): string => join(folder, "one", ...path);

beforeAll(async () => {
  if (!isFull)
    process.stdout.write("LEFT OUT, only npm run test:full has them: npm packages and images of a release\n");
  folder = await mkdtemp(join(tmpdir(), "sallyport-release-test-"));
  const at = 1_700_000_000;
  const downloads = "https://sallyport.dev/releases/v0.1.0";
  const making: Making = { version: VERSION, revision: "0".repeat(40), at, downloads, say, signal: within(1_800) };
  for (const name of ["one", "two"]) await makeRelease(join(folder, name), { parts: PARTS, isDirty: false }, making);
}, 1_900_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const sha256 = async (file: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(file))
    .digest("hex");

async function filesOf(name: string): Promise<readonly string[]> {
  const entries = await readdir(join(folder, name), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.map((file) => file.slice(join(folder, name).length + 1)).sort();
}

test("has the same bytes when it is made again, and sums that fit all of it", async () => {
  const files = await filesOf("one");
  expect(await filesOf("two")).toEqual(files);
  for (const file of files) expect(await sha256(join(folder, "two", file)), file).toBe(await sha256(inRelease(file)));
  const { stdout } = await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: inRelease() });
  expect(stdout.trim().split("\n")).toHaveLength(files.length - 1);
});

test("says what it changed, and what it was made from", async () => {
  expect(await readFile(inRelease("CHANGELOG.md"), "utf8")).toMatch(/^# Changes of Sallyport 0\.1\.0\n\n- added: /);
  const { subject, predicateType, predicate } = JSON.parse(await readFile(inRelease("provenance.json"), "utf8"));
  expect(predicateType).toBe("https://slsa.dev/provenance/v1");
  for (const { name, digest } of subject) expect(digest.sha256, name).toBe(await sha256(inRelease(name)));
  expect(subject).toHaveLength((await filesOf("one")).length - 2);
  expect(predicate.buildDefinition.resolvedDependencies[0].digest).toEqual({ gitCommit: "0".repeat(40) });
});

test("has a chart with the files that helm packs", async () => {
  const helm = await helmProgram(say, within(900));
  const chart = inRelease("chart", `sallyport-${VERSION}.tgz`);
  const linted = await runHelm(helm, ["show", "chart", chart], folder);
  expect(parse(linted.stdout)).toMatchObject({ name: "sallyport", version: VERSION });
  await mkdir(join(folder, "packed"));
  const source = join(import.meta.dirname, "../../../deploy/helm/sallyport");
  expect(await runHelm(helm, ["package", source, "-d", join(folder, "packed")], folder)).toMatchObject({ code: 0 });
  const listed = async (file: string): Promise<readonly string[]> =>
    (await run("tar", ["-tzf", file])).stdout
      .split("\n")
      .filter((name) => !/(^|\/)$/.test(name))
      .sort();
  expect(await listed(chart)).toEqual(await listed(join(folder, "packed", `sallyport-${VERSION}.tgz`)));
});

// biome-ignore lint/suspicious/noExplicitAny: YAML and JSON, looked at field by field.
type Read = any;

/** What krew refuses. Source: krew v0.5.0, internal/index/validation/validate.go and docs/developer-guide/plugin-manifest. */
function krewProblems(name: string, manifest: Read): readonly string[] {
  const { apiVersion, kind, metadata, spec } = manifest;
  const isShort = typeof spec.shortDescription === "string" && /^[^\r\n]+$/.test(spec.shortDescription);
  const platformProblems = spec.platforms.flatMap((each: Read) => [
    ...(each.uri ? [] : ["uri"]),
    ...(/^[a-f0-9]{64}$/.test(each.sha256) ? [] : ["sha256"]),
    ...(each.bin ? [] : ["bin"]),
    ...(each.selector.matchExpressions.every(({ key }: Read) => ["os", "arch"].includes(key)) ? [] : ["key"]),
    ...(each.files === undefined || each.files.length > 0 ? [] : ["files"]),
  ]);
  return [
    ...(apiVersion === "krew.googlecontainertools.github.com/v1alpha2" ? [] : ["apiVersion"]),
    ...(kind === "Plugin" ? [] : ["kind"]),
    ...(metadata.name === name && /^[\w-]+$/.test(name) ? [] : ["name"]),
    ...(/^v\d+\.\d+\.\d+/.test(spec.version) ? [] : ["version"]),
    ...(isShort ? [] : ["shortDescription"]),
    ...(spec.platforms.length > 0 ? [] : ["platforms"]),
    ...platformProblems,
  ];
}

test("has a manifest that krew takes, which names the archive beside it and says that Node.js is needed", async () => {
  const manifest = parse(await readFile(inRelease("krew/sallyport.yaml"), "utf8"));
  expect(krewProblems("sallyport", manifest)).toEqual([]);
  expect(krewProblems("other", { ...manifest, kind: "P" })).toEqual(["kind", "name"]);
  const [platform] = manifest.spec.platforms;
  expect(platform.sha256).toBe(await sha256(inRelease("krew", platform.uri.split("/").at(-1))));
  expect(manifest.spec.caveats).toMatch(/needs Node\.js \d+\.\d+ or later/);
});

test("has an archive from which a real kubectl runs the plugin", async () => {
  const { kubectl } = await findPrograms({ say }, within(600));
  const unpacked = join(folder, "unpacked");
  await mkdir(unpacked);
  await run("tar", ["-xzf", inRelease("krew", `kubectl-sallyport-${VERSION}.tar.gz`), "-C", unpacked]);
  expect(await readdir(unpacked)).toEqual(
    expect.arrayContaining(["LICENSE", "THIRD-PARTY-LICENSES", "kubectl-sallyport"]),
  );
  const env = { ...process.env, PATH: `${unpacked}${delimiter}${process.env.PATH}`, HOME: folder };
  expect((await run(kubectl, ["plugin", "list"], { env })).stdout).toContain(join(unpacked, "kubectl-sallyport"));
  expect((await run(kubectl, ["sallyport", "version"], { env })).stdout).toContain(`sallyport ${VERSION} `);
  expect((await run(kubectl, ["sallyport", "version", "--help"], { env })).stdout).toContain(
    "usage: kubectl sallyport version",
  );
});

const KREW = { name: "krew", module: "sigs.k8s.io/krew", version: "v0.4.3", command: "cmd/krew" } as const;

fullOnly("has a plugin that a real krew installs", async () => {
  const krew = join(
    await ensureRecipe(installRecipe(KREW, "about a minute on 2 cores, once"), { say }, within(900)),
    "krew",
  );
  const env = { ...process.env, KREW_ROOT: join(folder, "krew"), HOME: folder };
  const archive = `--archive=${inRelease("krew", `kubectl-sallyport-${VERSION}.tar.gz`)}`;
  await run(krew, ["install", `--manifest=${inRelease("krew/sallyport.yaml")}`, archive], { env });
  const { stdout } = await run(join(folder, "krew/bin/kubectl-sallyport"), ["version"], { env });
  expect(stdout).toContain(`sallyport ${VERSION} `);
});

describe.each(["sallyport", "platform"])("the image %s", (name) => {
  /** Unpacks the layers for one architecture, as a container runtime does. */
  async function unpacked(architecture: string): Promise<string> {
    const layout = await mkdtemp(join(folder, "layout-"));
    await run("tar", ["-xf", inRelease("images", `${name}-${VERSION}.oci.tar`), "-C", layout]);
    const blob = async (digest: string): Promise<Read> =>
      JSON.parse(await readFile(join(layout, "blobs", digest.replace(":", "/")), "utf8"));
    const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
    const { manifests } = await blob(index.manifests[0].digest);
    const { digest } = manifests.find(({ platform }: Read) => platform.architecture === architecture);
    const root = await mkdtemp(join(folder, "root-"));
    // A runtime opens it to the image's user; a new temporary folder is its owner's alone.
    await chmod(root, 0o755);
    for (const layer of (await blob(digest)).layers) {
      await run("tar", ["-xzf", join(layout, "blobs", layer.digest.replace(":", "/")), "-C", root]);
    }
    return root;
  }

  fullOnly.each([
    ["amd64", 0x3e],
    ["arm64", 0xb7],
  ])("holds programs and libraries for %s alone, and the terms of each", async (architecture, machine) => {
    const root = await unpacked(architecture);
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const machines = new Set<number>();
    for (const file of files.filter((each) => /\/(node|plugin-layer|[^/]+\.so[.\d]*)$/.test(each))) {
      const bytes = await readFile(file);
      if (bytes.subarray(1, 4).toString() === "ELF") machines.add(bytes.readUInt16LE(18));
    }
    expect([...machines]).toEqual([machine]);
    const { components } = JSON.parse(await readFile(join(root, "app/sbom.cdx.json"), "utf8"));
    const named = (kind: string): readonly string[] =>
      components.filter(({ purl }: Read) => purl.startsWith(`pkg:${kind}/`)).map(({ name: each }: Read) => each);
    const tool = name === "platform" ? ["plugin-layer"] : [];
    expect((await readdir(join(root, "licenses"))).sort()).toEqual(
      [...named("generic"), ...named("deb"), ...tool].sort(),
    );
    expect(named("golang").length > 5).toBe(name === "platform");
    if (name !== "platform") return;
    const terms = await readFile(join(root, "licenses/plugin-layer"), "utf8");
    for (const each of named("golang")) expect(terms).toContain(`== ${each} `);
    // Code of others inside of a module.
    expect(terms).toMatch(/^== github.com\/klauspost\/compress v\S+: zstd\/internal\/xxhash\/LICENSE.txt ==$/m);
  });

  fullOnly("runs on this machine, with nothing but what it holds", async () => {
    if (process.getuid?.() !== 0) return void process.stdout.write("LEFT OUT: only root may run an image's files\n");
    const root = await unpacked(process.arch === "x64" ? "amd64" : "arm64");
    const { stdout } = await run("chroot", ["--userspec=65532:65532", root, "/app/node", "/app/main.js", "version"]);
    expect(stdout).toContain(`sallyport ${VERSION} `);
    if (name !== "platform") return;
    const tool = run("chroot", ["--userspec=65532:65532", root, IMAGE_SETTINGS.imageTool.default]);
    await expect(tool).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("plugin-layer append BASE") });
  });
});

fullOnly("is pushed: images and chart to a real registry, packages to npm's", async () => {
  const crane = await craneProgram(say, within(900));
  const registry = spawn(crane, ["registry", "serve", "--address", "127.0.0.1:0"]);
  onTestFinished(() => void registry.kill());
  const port = await new Promise<string>((resolve) => {
    registry.stderr.on("data", (text) => {
      const [, found] = / port (\d+)/.exec(String(text)) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  const published: string[] = [];
  const npm = createServer((request, response) => {
    if (request.method === "PUT") published.push(decodeURIComponent(request.url ?? ""));
    request.resume().on("end", () => response.writeHead(request.method === "PUT" ? 201 : 404).end("{}"));
  });
  await new Promise<void>((resolve) => npm.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void npm.close());
  const npmHost = `//127.0.0.1:${(npm.address() as AddressInfo).port}/`;
  vi.stubEnv("npm_config_registry", `http:${npmHost}`);
  vi.stubEnv(`npm_config_${npmHost}:_authToken`, "test");
  onTestFinished(() => void vi.unstubAllEnvs());
  const name = `127.0.0.1:${port}/acme`;
  await pushRelease(inRelease(), { registry: name, npm: true }, say, within(600));
  expect(published.sort()).toEqual(PACKAGES.map((each) => `/${each.name}`).sort());
  const digests = await readFile(inRelease("images/digests.txt"), "utf8");
  for (const image of ["sallyport", "platform"]) {
    const { stdout } = await run(crane, ["digest", `${name}/${image}:${VERSION}`]);
    expect(digests).toContain(`${image}:${VERSION} ${stdout.trim()}\n`);
    await run(crane, ["validate", "--remote", `${name}/${image}:${VERSION}`]);
  }
  const helm = await helmProgram(say, within(900));
  const pull = ["pull", `oci://${name}/charts/sallyport`, "--version", VERSION, "--plain-http", "-d", folder];
  expect(await runHelm(helm, pull, folder)).toMatchObject({ code: 0 });
  expect(await sha256(join(folder, `sallyport-${VERSION}.tgz`))).toBe(
    await sha256(inRelease("chart", `sallyport-${VERSION}.tgz`)),
  );
});
