import { execFile, spawn } from "node:child_process";
import { on, once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { NAMESPACED_KINDS } from "../../../src/cli/engineer/plugin/resource-names.ts";
import { INSTALLED } from "../../world/installation.ts";

// `sallyport plugin test` of the example, as its author types it, on a real API server.

const ROOT = join(import.meta.dirname, "../../..");
const EXAMPLE = join(ROOT, "examples/plugin-log-level");
const PROGRAM = join(ROOT, "src/cli/people.ts");

const cluster = useCluster({ holds: INSTALLED });
const run = promisify(execFile);
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-plugin-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function type(plugin: string, operation: string, ...words: readonly string[]): Promise<Said> {
  const args = [PROGRAM, "plugin", "test", plugin, operation, "-n", "default", ...words];
  const cli = run(process.execPath, [...args, "--kubeconfig", cluster().adminKubeconfig], { env: { HOME: folder } });
  return cli.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Said) => ({ code, stdout, stderr }),
  );
}

const level = async (): Promise<string> =>
  (await cluster().kubectl(["get", "configmap", "web", "-o", "jsonpath={.data.LOG_LEVEL}"])).stdout;

test("a dry run says each request and changes nothing; --apply changes, and reads back", async () => {
  await cluster().kubectl(["create", "configmap", "web", "--from-literal=LOG_LEVEL=warn"]);
  const set = ["--params", "name=web", "--params", "level=debug"];
  const dry = await type(EXAMPLE, "set", ...set);
  expect([dry.code, dry.stderr.split("\n")]).toEqual([
    0,
    [
      expect.stringMatching(
        /^(plugin\.mjs runs in Linux namespaces of its own|WARNING: plugin\.mjs runs without a boundary)/,
      ),
      "dry run: GET /api/v1/namespaces/default/configmaps/web",
      expect.stringMatching(
        /^dry run: PATCH \/api\/v1\/namespaces\/default\/configmaps\/web\?fieldManager=sallyport-plugin-test&dryRun=All \{.*"data":\{"LOG_LEVEL":"debug"\}\}$/,
      ),
      "dry run: verify was left out: nothing was changed. --apply changes it",
      "",
    ],
  ]);
  expect(await level()).toBe("warn");
  const applied = await type(EXAMPLE, "set", ...set, "--apply", "-o", "json");
  expect([applied.code, JSON.parse(applied.stdout)]).toEqual([
    0,
    { result: { before: "warn", level: "debug", changed: true }, dropped: [], verified: true },
  ]);
  expect(applied.stderr.trim().split("\n")).toHaveLength(4);
  expect(await level()).toBe("debug");
});

test("what the operation, the API server and the rules refuse is told, each in its words", async () => {
  const absent = await type(EXAMPLE, "show", "--params", "name=api");
  expect([absent.code, absent.stderr]).toEqual([8, expect.stringContaining("show says no: there is no ConfigMap api")]);
  const bound = await type(EXAMPLE, "set", "--params", "name=kube-root-ca.crt", "--params", "level=info");
  expect([bound.code, bound.stderr]).toEqual([8, expect.stringContaining("kube-root-ca.crt is no program's")]);
  const lean = join(folder, "lean");
  const yaml = await readFile(join(EXAMPLE, "plugin.yaml"), "utf8");
  await run("cp", ["-r", EXAMPLE, lean]);
  await writeFile(join(lean, "plugin.yaml"), yaml.replace("verbs: [get, patch]", "verbs: [get]"));
  const refused = await type(lean, "set", "--params", "name=web", "--params", "level=error", "--apply");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(
      /plugin\.mjs:\d+:\d+ a request of set is refused \(403\): the rules of this operation do not have patch configmaps/,
    ),
  ]);
});

test("an operation ends at its time limit, and words that are not declared are dropped", async () => {
  const slow = join(folder, "slow");
  const yaml = await readFile(join(EXAMPLE, "plugin.yaml"), "utf8");
  await run("cp", ["-r", EXAMPLE, slow]);
  await writeFile(join(slow, "plugin.yaml"), yaml.replace("timeLimitSeconds: 20", "timeLimitSeconds: 1"));
  const module = `import { defineOperation } from "@sallyport/plugin";
    const show = defineOperation({ run: ({ clock }) => clock.sleep(60_000) });
    const set = defineOperation({ run: async ({ redact }) => ({ level: redact("password=hunter22"), other: 1 }) });
    export default { show, set };`;
  await writeFile(join(slow, "plugin.mjs"), module);
  const late = await type(slow, "show", "--params", "name=web");
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining("show was not done within its 1 s")]);
  const more = await type(slow, "set", "--params", "name=web", "--params", "level=info", "-o", "json");
  expect(JSON.parse(more.stdout)).toMatchObject({ result: { level: "password=[redacted]" }, dropped: ["other"] });
});

const YAML = `name: tools
version: 0.1.0
tier: destructive
description: For a test.
operations:
  - name: act
    description: Acts.
    paramsSchema: { type: object, required: [namespace], properties: { namespace: { type: string } }, additionalProperties: false }
    rules:
      - { apiGroups: [apps], resources: [deployments, deployments/scale], verbs: [get, patch] }
      - { apiGroups: [""], resources: [pods], verbs: [delete] }
    timeLimitSeconds: 5
    result: { said: what it said }
`;

/** A plugin whose one operation has this as the body of its `run`. */
async function acting(name: string, body: string): Promise<string> {
  const to = join(folder, name);
  await mkdir(to);
  await writeFile(join(to, "plugin.yaml"), YAML);
  const head = `const WEB = [{ group: "apps", version: "v1", plural: "deployments" }, { namespace: "default", name: "web" }];`;
  await writeFile(
    join(to, "plugin.mjs"),
    `${head}\nexport default { act: { async run({ client }) {\n${body}\n} } };\n`,
  );
  return to;
}

test("what a customer's admission policies refuse to a plugin is refused in a dry run, and changes nothing with --apply", async () => {
  await cluster().kubectl(["create", "deployment", "web", "--image=example.com/web:1"]);
  await cluster().kubectl(["run", "lone", "--image=example.com/web:1"]);
  const patch = (name: string, body: object, options = {}) =>
    acting(
      name,
      `await client.patch(...WEB, ${JSON.stringify(body)}, ${JSON.stringify(options)}); return { said: "done" };`,
    );
  const pod = `client.delete({ group: "", version: "v1", plural: "pods" }, { namespace: "default", name: "lone" })`;
  const [account, scale, lone, allowed] = await Promise.all([
    patch("account", { spec: { template: { spec: { serviceAccountName: "other" } } } }),
    patch("scale", { spec: { replicas: 5_000 } }, { subresource: "scale" }),
    acting("lone", `await ${pod}; return {};`),
    patch("allowed", { spec: { replicas: 3 }, metadata: { labels: { a: "b" } } }),
  ]);
  const refusals = [
    [account, [], /plugin\.mjs:3:\d+ .*\(422\): a customer's admission policies refuse it: .*nothing of its pods/],
    [scale, ["--apply"], /at most 1000 replicas/],
    [lone, ["--apply"], /delete a pod that a controller replaces/],
  ] as const;
  for (const [plugin, words, told] of refusals) {
    expect(await type(plugin, "act", ...words)).toMatchObject({ code: 1, stderr: expect.stringMatching(told) });
  }
  const read = async (what: string, path: string) =>
    (await cluster().kubectl(["get", ...what.split(" "), "-o", `jsonpath={${path}}`])).stdout;
  expect(await read("deployment web", ".spec.replicas")).toBe("1");
  expect(await read("pod lone", ".metadata.deletionTimestamp")).toBe("");
  expect(await type(allowed, "act", "--apply")).toMatchObject({ code: 0 });
  expect(await read("deployment web", ".spec.replicas")).toBe("3");
});

test("what it deletes goes with what it owns; a dry run deletes nothing", async () => {
  await cluster().kubectl(["create", "job", "once", "--image=example.com/once:1"]);
  const jobs = `{ group: "batch", version: "v1", plural: "jobs" }`;
  const remove = await acting(
    "remove",
    `await client.delete(${jobs}, { namespace: "default", name: "once" }); return {};`,
  );
  const yaml = YAML.replace(`[""], resources: [pods]`, "[batch], resources: [jobs]");
  await writeFile(join(remove, "plugin.yaml"), yaml);
  const left = async () => (await cluster().kubectl(["get", "jobs", "-o", "jsonpath={..metadata.name}"])).stdout;
  const dry = await type(remove, "act");
  expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining("jobs/once?dryRun=All")]);
  expect(await left()).toBe("once");
  expect(await type(remove, "act", "--apply")).toMatchObject({ code: 0 });
  // By the default of jobs it would wait here for what orphans its pods.
  expect(await left()).toBe("");
});

test("a loop without an end is ended at the time limit, and by a signal", async () => {
  const endless = await acting("endless", `console.log("it begins"); for (;;);`);
  await writeFile(join(endless, "plugin.yaml"), YAML.replace("timeLimitSeconds: 5", "timeLimitSeconds: 2"));
  const late = await type(endless, "act");
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining("act was not done within its 2 s")]);
  expect(late.stderr).toContain("it begins");
  await writeFile(join(endless, "plugin.yaml"), YAML.replace("timeLimitSeconds: 5", "timeLimitSeconds: 300"));
  const words = ["plugin", "test", endless, "act", "-n", "default", "--kubeconfig", cluster().adminKubeconfig];
  const module = `const WEB = [{ group: "apps", version: "v1", plural: "deployments" }, { namespace: "default", name: "none" }];
    export default { act: { async run({ client }) { await client.get(...WEB); for (;;); } } };`;
  await writeFile(join(endless, "plugin.mjs"), module);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const cli = spawn(process.execPath, [PROGRAM, ...words], { stdio: ["ignore", "ignore", "pipe"] });
    const ended = once(cli, "exit");
    onTestFinished(() => void cli.kill("SIGKILL"));
    // Its first request: the loop comes next.
    for await (const line of on(cli.stderr.setEncoding("utf8"), "data", { close: ["end"] })) {
      if (line.join().includes("GET ")) break;
    }
    cli.kill(signal);
    await ended;
  }
});

test("a request without await is told in words", async () => {
  const forgot = await acting(
    "forgot",
    `client.patch(...WEB, { metadata: { labels: { c: "d" } } }); return { said: "done" };`,
  );
  const { code, stderr } = await type(forgot, "act");
  expect([code, stderr]).toEqual([1, expect.stringContaining("client.patch(…) lacks an await")]);
  expect(stderr).not.toContain("at async");
});

test("the table of kinds that rules may name is the API server's", async () => {
  for (const [group, kinds] of NAMESPACED_KINDS) {
    const { stdout } = await cluster().kubectl(["api-resources", "--namespaced", `--api-group=${group}`, "-o", "name"]);
    const served = stdout
      .trim()
      .split("\n")
      .map((name) => name.split(".")[0]);
    expect(served.filter((each) => each !== undefined && !kinds.includes(each))).toEqual([]);
    expect(kinds.filter((each) => !served.includes(each))).toEqual([]);
  }
});

test("a kubeconfig that is not there is named", async () => {
  const words = ["plugin", "test", EXAMPLE, "show", "-n", "default", "--params", "name=web"];
  const missing = run(process.execPath, [PROGRAM, ...words, "--kubeconfig", join(folder, "none")]);
  await expect(missing).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(join(folder, "none")) });
});
