import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { pageCommands, runCommands } from "../chart/page-commands.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, soon, useCast } from "./cast.ts";
import { CHART, helm, installSallyport, RELEASE } from "./installation.ts";
import { type Entry, inventory } from "./inventory.ts";
import { kubectl } from "./kubectl.ts";
import { APPROVER } from "./scene.ts";

const cast = useCast();
const ANN = "ann";
const [ONCE = "", RIGHTS = ""] = pageCommands("docs/install.md", "Without cluster-wide roles");
const VALUES = join(CHART, "ci/namespaces-values.yaml");
const ROOT = join(import.meta.dirname, "../..");

/** What the customer brings: it is there before the installation and after it. */
const BROUGHT = [
  `ConfigMap ${SYSTEM}/vendor-authority`,
  `Namespace ${SYSTEM}`,
  `RoleBinding ${GRANTS}/approvers`,
  `Secret ${SYSTEM}/sallyport-runtime-key`,
];

/** The kinds of which docs/upgrade.md says that objects stay. */
function staying(): readonly string[] {
  const [, section = ""] = readFileSync(join(ROOT, "docs/upgrade.md"), "utf8").split("\n## Uninstall\n");
  return section.split("\n").flatMap((line) => {
    const [, cell = ""] = line.startsWith("| `") ? line.split("|") : [];
    return [...cell.matchAll(/`(\w+)`/g)].map(([, kind = ""]) => kind);
  });
}

const look = (): Promise<readonly Entry[]> => inventory(cast().scene, RELEASE, soon());

/** What is left when the pods have ended and the garbage collector is done. */
async function left(before: readonly Entry[]): Promise<readonly Entry[]> {
  const kinds = staying();
  const surplus = (all: readonly Entry[]): readonly Entry[] =>
    all.filter((entry) => !before.includes(entry) && !kinds.includes(entry.split(" ")[0] ?? ""));
  const read = async (): Promise<readonly Entry[]> => surplus(await look());
  return eventually(read, (entries) => entries.length === 0, 60_000).catch(read);
}

async function admin(commands: string): Promise<void> {
  const { scene } = cast();
  const folders = [dirname(scene.programs.kubectl), dirname(scene.programs.helm)];
  const text = commands.replaceAll("your-values.yaml", VALUES);
  const kubeconfig = scene.cluster.adminKubeconfig;
  const { code, stderr } = await runCommands(text, { folders, kubeconfig, home: scene.folder });
  expect(code, stderr).toBe(0);
}

/** The page's values, with the scene's platform and key. */
function annsValues(): object {
  const { platform: _, runtimeKey: __, ...rest } = parse(readFileSync(VALUES, "utf8"));
  return { ...rest, people: { bindings: [{ role: "approver", kind: "User", name: APPROVER }] } };
}

const asAnn = (args: readonly string[], values?: object): Promise<string> =>
  helm(cast().scene, [...args, "--kube-as-user", ANN], values, soon());

beforeAll(async () => {
  await kubectl(cast().scene, ["create", "namespace", "payments"], soon());
});

afterAll(async () => {
  const { scene } = cast();
  const policies = ["validating", "mutating"].flatMap((each) => [
    `${each}admissionpolicies`,
    `${each}admissionpolicybindings`,
  ]);
  await admin(`kubectl delete ${policies.join(",")} -l app.kubernetes.io/instance=${RELEASE}
kubectl delete --ignore-not-found -f deploy/manifests/installer.yaml
for namespace in ${SYSTEM} ${GRANTS} ${SHOP}; do
  for role in admin opened grants people; do
    kubectl delete rolebinding --ignore-not-found -n $namespace sallyport-installer-$role
  done
done
kubectl delete namespace payments --wait=false`);
  await helm(scene, ["uninstall", RELEASE, "--ignore-not-found", "--wait"], undefined, soon());
  await installSallyport(scene, {}, soon());
}, 300_000);

test("the page names the kinds that stay", () => {
  expect(staying()).toContain("CustomResourceDefinition");
});

test("helm test and uninstall leave what the page says and nothing else, in the whole cluster", async () => {
  const { scene } = cast();
  const before = await look();
  expect(before).toEqual(expect.arrayContaining([...BROUGHT, `Deployment ${SYSTEM}/sallyport-operator`]));
  await helm(scene, ["test", RELEASE, "--timeout", "120s"], undefined, soon());
  expect(await look()).not.toContain(`Pod ${SYSTEM}/sallyport-check`);
  await helm(scene, ["uninstall", RELEASE, "--wait", "--timeout", "60s"], undefined, soon());
  // The accounts of grants that other tests have left open.
  const open = before.filter((entry) => entry.startsWith(`ServiceAccount ${GRANTS}/grant-`));
  expect(await left([...BROUGHT, ...open])).toEqual([]);
});

// After the test above: the cluster has no release.
test("a namespace's admin installs, an approved request runs, and uninstalls without a trace", async () => {
  await admin(ONCE);
  await admin(RIGHTS);
  const before = await look();

  await asAnn(["install", RELEASE, CHART, "--wait", "--timeout", "180s"], annsValues());
  expect([...(await cast().pods("agent")), ...(await cast().pods("operator"))].map(isReady)).toEqual([
    true,
    true,
    true,
  ]);
  const scale = { namespace: SHOP, kind: "deployment", name: "web", replicas: 2 };
  const { id, approve } = await cast().ask({ command: "kubernetes/scale", summary: "to 2", params: scale });
  await cast().approve(approve);
  await cast().request(id, ({ execution: { state } }) => state === "succeeded");
  expect(await asAnn(["test", RELEASE, "--logs", "--timeout", "120s"])).toMatch(/^ok +operator/m);

  await asAnn(["uninstall", RELEASE, "--wait", "--timeout", "60s"]);
  expect(await left(before)).toEqual([]);
}, 300_000);
