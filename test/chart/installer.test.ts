import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { findPrograms } from "../../lab/cluster/programs.ts";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { eventually } from "../world/wait.ts";
import { helmProgram } from "./helm.ts";
import { pageCommands, runCommands } from "./page-commands.ts";
import { CHART, useHelm } from "./use-helm.ts";

const helm = useHelm();
const cluster = useCluster({ controllers: true });
const VALUES = join(CHART, "ci/namespaces-values.yaml");
const OPENED = ["shop", "payments"];
const [ONCE = "", RIGHTS = "", INSTALL = "", REMOVE = ""] = pageCommands(
  "docs/install.md",
  "Without cluster-wide roles",
);
let folders: readonly string[] = [];

/** Commands of the page with the example's values. */
async function run(commands: string, kubeconfig: string): Promise<void> {
  const key = join(cluster().dir, "runtime.key");
  await writeFile(key, "not-a-real-key");
  const text = commands.replaceAll("your-values.yaml", VALUES).replaceAll("=runtime.key", `=${key}`);
  const { code, stderr } = await runCommands(text, { folders, kubeconfig, home: cluster().dir });
  expect(code, stderr).toBe(0);
}

const person = (name: string): string => cluster().kubeconfigFor({ user: name, groups: [] });

async function release(verb: string, kubeconfig: string, ...more: readonly string[]): Promise<string> {
  const args = [verb, "sallyport", "-n", "sallyport-system", "--kubeconfig", kubeconfig];
  const { stderr } = await helm.run(verb === "uninstall" ? args : [...args, CHART, "-f", VALUES, ...more].flat());
  return stderr;
}

beforeAll(async () => {
  const signal = AbortSignal.timeout(600_000);
  const { kubectl } = await findPrograms({}, signal);
  folders = [dirname(kubectl), dirname(await helmProgram(() => undefined, signal))];
  await cluster().apply(OPENED.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
  // `admin` is empty until a controller has collected its rules.
  const read = async (): Promise<string> =>
    (await cluster().kubectl(["get", "clusterrole", "admin", "-o", "json"])).stdout;
  await eventually(read, (text) => text.includes("rolebindings"));
  // Both blocks are for the administrator; the first is repeated before each upgrade.
  await run(ONCE, cluster().adminKubeconfig);
  await run(ONCE, cluster().adminKubeconfig);
  await run(RIGHTS, cluster().adminKubeconfig);
}, 900_000);

test("a namespace's admin with the installer's roles installs, upgrades and uninstalls", async () => {
  const ann = person("ann");
  await run(INSTALL, ann);
  const lent = ["--set", "lending.mode=approver", "--set", "networkPolicy.enabled=true", "--set", "agent.replicas=2"];
  expect(await release("upgrade", ann, ...lent)).toBe("");
  expect(await release("upgrade", ann, "--set", "namespaces={shop}")).toBe("");
  const { stdout } = await cluster().kubectl(["get", "rolebindings", "-n", "payments", "-o", "name"]);
  expect(stdout).not.toContain("sallyport-agent-observe");
  expect(await release("uninstall", ann)).toBe("");
});

test("without the rights of people's roles, all but these roles can be installed", async () => {
  const bob = person("bob");
  const admin = cluster().adminKubeconfig;
  await run(RIGHTS.replaceAll("ann", "bob").replaceAll("rolebinding sallyport", "rolebinding bob"), admin);
  const { code, stderr } = await cluster().kubectl([
    "delete",
    "rolebinding",
    "bob-installer-people",
    "-n",
    "sallyport-grants",
  ]);
  expect(code, stderr).toBe(0);
  const without = ["--set", "people.create=false", "--set", "operationPolicy.create=false"];
  expect(await release("install", bob, ...without)).toBe("");
  expect(await release("upgrade", bob)).toMatch(
    /sallyport-(approver|viewer)[\s\S]*attempting to grant RBAC permissions/,
  );
  expect(await release("uninstall", bob)).toBe("");
});

test("the administrator's part is removed by the page's commands", async () => {
  const left = async (kinds: string): Promise<readonly string[]> => {
    const { stdout } = await cluster().kubectl(["get", kinds, "-A", "-o", "name"]);
    return stdout.split("\n").filter((each) => /\/sallyport-/.test(each));
  };
  const kinds = "validatingadmissionpolicies,mutatingadmissionpolicies,clusterroles,rolebindings";
  expect(await left(kinds)).toContain("rolebinding.rbac.authorization.k8s.io/sallyport-installer-opened");
  expect(await left("validatingadmissionpolicies")).not.toEqual([]);
  await run(REMOVE, cluster().adminKubeconfig);
  expect(await left(kinds)).toEqual([]);
});
