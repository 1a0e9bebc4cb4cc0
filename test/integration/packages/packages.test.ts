import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { LIBRARIES, PACKAGES } from "../../../scripts/packages/package-table.ts";
import { fullOnly, isFull } from "../../../src/base/testing/full.ts";
import { startPlatform } from "../../../src/platform/server.ts";
import { newWorkspace } from "../../world/platform.ts";
import { copyExample, expectPages } from "./example-operator.ts";
import { type InstalledPackages, installPackages } from "./installed-packages.ts";

// Each change is held to what is quick: two packages that are built, packed, installed and used. The declarations of the API's
// client take half a minute, and types and other versions of Node.js are those of a full run.

/** The lowest Node.js of `engines`. */
const OLDEST_NODE = "22.19.0";
const OLDEST = `node-${process.platform}-${process.arch}`;
/** What a plugin imports runs on an older one, which has another name here. */
const OLDEST_FOR_PLUGINS = "node-for-plugins";
const BUILT = PACKAGES.filter(({ name }) => isFull || name !== "@sallyport/api-client");

const run = promisify(execFile);
const cluster = useCluster();
let folder = "";
let installed: InstalledPackages;
let nodes: readonly string[] = [process.execPath];
beforeAll(async () => {
  if (!isFull) {
    const what = "@sallyport/api-client, types under two versions of TypeScript, and the oldest Node.js";
    process.stdout.write(`LEFT OUT, only npm run test:full has them: ${what}\n`);
  }
  folder = await mkdtemp(join(tmpdir(), "sallyport-packages-"));
  const older = `${OLDEST_FOR_PLUGINS}@npm:${OLDEST}@20.19.0`;
  const others = isFull ? ["@types/node@22", `${OLDEST}@${OLDEST_NODE}`, older] : [];
  installed = await installPackages(folder, BUILT, ["prom-client@15", "pino@10", ...others]);
  if (isFull) nodes = [inPackage(OLDEST, "bin/node"), process.execPath];
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const inPackage = (name: string, ...path: string[]): string => join(installed.folder, "node_modules", name, ...path);
const tarballOf = (name: string): Promise<Buffer> => readFile(installed.tarballs.get(name) ?? "");

/** Bytes of what is downloaded: the reported size, with room for a tenth more. */
const MAX_BYTES: Readonly<Record<string, number>> = {
  "@sallyport/kube": 122_000,
  "@sallyport/api-client": 155_000,
  "@sallyport/plugin": 7_700,
  sallyport: 940_000,
};

describe.each(BUILT.map(({ name }) => name))("%s", (name) => {
  test("has nothing of the tests, and no source", async () => {
    const { stdout } = await run("tar", ["-tzf", installed.tarballs.get(name) ?? ""]);
    const files = stdout.trim().split("\n");
    expect(files).toContain("package/README.md");
    expect(files).toContain("package/LICENSE");
    expect(files).toContain("package/NOTICE");
    expect(files.filter((file) => /test|fixture|\.map$|(?<!\.d)\.ts$/.test(file))).toEqual([]);
  });

  test("is not larger than it was", async () => {
    const { size } = await stat(installed.tarballs.get(name) ?? "");
    process.stdout.write(`${name}: ${size} bytes packed\n`);
    expect(size).toBeLessThan(MAX_BYTES[name] ?? 0);
    expect(size).toBeGreaterThan((MAX_BYTES[name] ?? 0) / 2);
  });

  test("has a manifest that fits its files", async () => {
    const bytes = await tarballOf(name);
    const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([]);
  });
});

describe.each(LIBRARIES.filter((each) => BUILT.includes(each)))("$name", ({ name, entries }) => {
  const imported = Object.keys(entries).map((entry) => `${name}${entry.slice(1)}`);

  fullOnly("has types that are those of its code", async () => {
    const result = await checkPackage(createPackageFromTarballData(await tarballOf(name)));
    // Readers that do not know `exports`, or cannot require modules, are older than each Node.js that `engines` name.
    const isOfOld = ({ kind, ...where }: Problem) =>
      kind === "CJSResolvesToESM" || ("resolutionKind" in where && where.resolutionKind === "node10");
    const problems = "problems" in result ? result.problems.filter((problem) => !isOfOld(problem)) : [result];
    expect(problems).toEqual([]);
  });

  test("is imported by each Node.js that it names", async () => {
    const lines = imported.map((entry) => `if (Object.keys(await import("${entry}")).length === 0) throw 1;`);
    const also = isFull && name === "@sallyport/plugin" ? [inPackage(OLDEST_FOR_PLUGINS, "bin/node")] : [];
    for (const node of [...nodes, ...also]) {
      await run(node, ["--input-type=module", "--eval", lines.join("\n")], { cwd: installed.folder });
    }
  });
});

const CONSUMER = `import { Client, Informer, connect, deploymentShape, resources, silentLogger, systemClock } from "@sallyport/kube";
import { kubeMetrics } from "@sallyport/kube";
import { createClient, pages } from "@sallyport/api-client";
import { ROUTES, type ResponseOf } from "@sallyport/api-client/contract";
import { defineOperation, type KubeObject, OperationError } from "@sallyport/plugin";
import { Registry } from "prom-client";

const metrics = kubeMetrics(new Registry());
const client = new Client(await connect({ kubeconfig: "config" }), { metrics: metrics.client });
const informer = new Informer({
  client, clock: systemClock, log: silentLogger, resource: resources.deployments, projection: deploymentShape,
});
export const ready: number[] = [...informer.store.list()].map((each) => each.status.readyReplicas);
const platform = createClient({ baseUrl: "https://platform.example.com", credential: "key" });
const { items } = await platform.projects.list({ query: { limit: 5 } }, AbortSignal.timeout(1));
export const names: string[] = items.map(({ name }) => name);
export const path: "/v1/projects" = ROUTES.projects.list.path;
export type Projects = ResponseOf<typeof ROUTES.projects.list>;
export const all = pages;
interface Deployment extends KubeObject { readonly spec: { readonly replicas: number } }
const deployments = { group: "apps", version: "v1", plural: "deployments" };
export const size = defineOperation({
  bind: ({ name }) => ({ name: String(name) }),
  async run({ client, params, signal }) {
    const found = await client.get<Deployment>(deployments, { namespace: "shop", name: params.name });
    if (found === undefined || signal.aborted) throw new OperationError("there is none");
    return { replicas: found.spec.replicas };
  },
  verify: async (_, { replicas }) => ({ replicas: replicas + 0 }),
});
// @ts-expect-error: an operation that does nothing
defineOperation({});
// @ts-expect-error: a call without its signal
await platform.projects.list({});
`;

describe.each(["typescript", "typescript-6"])("a program of another's, checked by %s", (compiler) => {
  fullOnly.each([
    ["node16", "node16"],
    ["bundler", "esnext"],
  ])("with moduleResolution %s", async (moduleResolution, module) => {
    const compilerOptions = {
      module,
      moduleResolution,
      target: "es2022",
      lib: ["es2024", "esnext.disposable", "esnext.collection", "esnext.iterator"],
      strict: true,
      noEmit: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      types: ["node"],
    };
    const config = join(installed.folder, "tsconfig.json");
    await writeFile(config, JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    await writeFile(join(installed.folder, "consumer.ts"), CONSUMER);
    const tsc = join(import.meta.dirname, "../../../node_modules", compiler, "bin/tsc");
    const checked = await run(process.execPath, [tsc, "-p", config], { cwd: installed.folder }).catch((error) => error);
    expect([checked.stdout, checked.stderr, checked.code]).toEqual(["", "", undefined]);
  });
});

/** The program in the README, as a file of the consumer's. */
async function readmeProgram(name: string, file: string): Promise<string> {
  const text = await readFile(inPackage(name, "README.md"), "utf8");
  expect(text).toContain(`\`${file}\``);
  const [, program = ""] = /```js\n([\s\S]*?)```/.exec(text) ?? [];
  await writeFile(join(installed.folder, file), program);
  return join(installed.folder, file);
}

test("the first example of @sallyport/kube follows a real cluster", async () => {
  const program = await readmeProgram("@sallyport/kube", "deployments.mjs");
  const { adminKubeconfig } = cluster();
  const [oldest = ""] = nodes;
  const child = spawn(oldest, [program], { env: { ...process.env, KUBECONFIG: adminKubeconfig } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  await cluster().kubectl(["create", "deployment", "web", "--image=example.com/web:1"]);
  await vi.waitFor(() => expect(said).toContain("added default/web: 0 ready"), { timeout: 60_000 });
  await cluster().kubectl(["delete", "deployment", "web"]);
  await vi.waitFor(() => expect(said).toContain("deleted default/web"), { timeout: 60_000 });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGINT");
  expect(await ended).toBe(0);
});

test.each([
  ["a server that is away", "https://127.0.0.1:1", "ECONNREFUSED"],
  ["a user without rights", "$&", "is forbidden"],
])("the first example of @sallyport/kube tells of %s in one line", async (_, server, words) => {
  const program = await readmeProgram("@sallyport/kube", "deployments.mjs");
  const config = await readFile(cluster().kubeconfigFor({ user: "carol" }), "utf8");
  const KUBECONFIG = join(folder, "carol");
  await writeFile(KUBECONFIG, config.replace(/https:\/\/127\.0\.0\.1:\d+/, server));
  const child = spawn(process.execPath, [program], { env: { ...process.env, KUBECONFIG } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  await vi.waitFor(() => expect(said).toContain(words), { timeout: 60_000 });
  const [line = "", ...more] = said.trimEnd().split("\n");
  expect(JSON.parse(line)).toMatchObject({ level: 40, msg: "watch failed, will be tried again" });
  expect(more).toEqual([]);
});

test("the example operator publishes pages in a real cluster, with two replicas", async () => {
  await copyExample(installed.folder);
  for (const node of nodes) await expectPages(cluster(), installed.folder, node);
});

test("the first example of @sallyport/plugin runs, and so do the tests of the example plugin", async () => {
  const program = await readmeProgram("@sallyport/plugin", "trial.mjs");
  const told = "{ mode: 'normal' }\nthere is no ConfigMap api in shop\n";
  for (const node of nodes) expect((await run(node, [program])).stdout).toBe(told);
  const example = join(installed.folder, "plugin-log-level");
  await cp(join(import.meta.dirname, "../../../examples/plugin-log-level"), example, { recursive: true });
  const { stdout } = await run(process.execPath, ["--test", "--test-reporter=tap", join(example, "plugin.test.mjs")]);
  expect(stdout).toContain("# pass 5\n# fail 0\n");
});

test("the program makes, checks, packs and tries a plugin", async () => {
  const by = (node: string, ...args: string[]) =>
    run(node, [inPackage("sallyport", "sallyport.mjs"), "plugin", ...args], { cwd: folder });
  const cli = (...args: string[]) => by(process.execPath, ...args);
  await cli("init", "shop-tools");
  // The process that loads it has files of its own in the package.
  for (const node of nodes) {
    expect((await by(node, "check", "shop-tools")).stdout).toBe("shop-tools 0.1.0: 2 operations: no problem\n");
  }
  await cli("pack", "shop-tools");
  expect((await cli("values", "shop-tools-0.1.0.zip")).stdout).toContain("  shop-tools:\n    version: 0.1.0\n");
  await cluster().kubectl(["create", "configmap", "web", "--from-literal=mode=normal"]);
  const words = ["test", "shop-tools", "show-mode", "-n", "default", "--params", "name=web"];
  const tried = await cli(...words, "--kubeconfig", cluster().adminKubeconfig, "-o", "json");
  expect(JSON.parse(tried.stdout)).toMatchObject({ result: { mode: "normal" } });
});

async function platformWithProject() {
  const platform = await startPlatform({
    database: { pglite: join(folder, `platform-${randomUUID()}`) },
    host: "127.0.0.1",
    port: 0,
  });
  onTestFinished(() => platform.close());
  const { key } = await newWorkspace(platform);
  const env = { ...process.env, SALLYPORT_URL: platform.url, SALLYPORT_KEY: key };
  for (const node of nodes) {
    const cli = (...args: string[]) => run(node, [inPackage("sallyport", "sallyport.mjs"), ...args], { env });
    if (node === nodes[0]) await cli("projects", "create", "--name", "shop");
    expect((await cli("projects", "list", "-o", "json")).stdout).toContain('"shop"');
  }
  return env;
}

test("the program asks a real platform", async () => {
  await platformWithProject();
});

fullOnly("the first example of @sallyport/api-client asks a real platform", async () => {
  const env = await platformWithProject();
  const program = await readmeProgram("@sallyport/api-client", "projects.mjs");
  for (const node of nodes) expect((await run(node, [program], { env })).stdout).toBe("shop\n");
  const wrong = run(process.execPath, [program], { env: { ...env, SALLYPORT_KEY: "wrong" } });
  await expect(wrong).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("API_KEY_INVALID") });
});

test("the program says its version, and brings no packages", async () => {
  const { version, dependencies } = JSON.parse(await readFile(inPackage("sallyport", "package.json"), "utf8"));
  expect(dependencies).toBeUndefined();
  const bin = join(installed.folder, "node_modules/.bin");
  for (const name of ["sallyport", "kubectl-sallyport"]) {
    for (const node of nodes) {
      const { stdout } = await run(node, [join(bin, name), "version"]);
      expect(stdout).toContain(`sallyport ${version} `);
    }
  }
  expect(await readFile(inPackage("sallyport", "THIRD-PARTY-LICENSES"), "utf8")).toMatch(/^undici [\d.]+\n\nMIT/m);
});
