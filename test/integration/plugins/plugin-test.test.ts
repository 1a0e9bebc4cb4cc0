import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";

// `sallyport plugin test` of the example, as its author types it, on a real API server.

const ROOT = join(import.meta.dirname, "../../..");
const EXAMPLE = join(ROOT, "examples/plugin-log-level");
const PROGRAM = join(ROOT, "src/cli/people.ts");

const cluster = useCluster();
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

/** In a process of its own: the plugin's module is imported by Node.js itself. */
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
  expect(applied.stderr.trim().split("\n")).toHaveLength(3);
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
    expect.stringContaining("(403): no rule of set lets it patch configmaps: add one to plugin.yaml"),
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

test("a kubeconfig that is not there is named", async () => {
  const words = ["plugin", "test", EXAMPLE, "show", "-n", "default", "--params", "name=web"];
  const missing = run(process.execPath, [PROGRAM, ...words, "--kubeconfig", join(folder, "none")]);
  await expect(missing).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(join(folder, "none")) });
});
