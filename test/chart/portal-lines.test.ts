import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { pack } from "tar-stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findPrograms } from "../../lab/cluster/programs.ts";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { until } from "../../src/base/testing/until.ts";
import { objectName } from "../../src/crds/group.ts";
import { linesOf } from "../../src/platform/areas/deployment-portal/testing/portal-lines.ts";
import { STACK } from "../../src/platform/areas/releases/testing/releases.ts";
import { TestBrowser } from "../../src/platform/identity/testing/test-browser.ts";
import type { RunningPlatform } from "../../src/platform/server.ts";
import { type Answer, call } from "../../src/platform/testing/harness.ts";
import { newWorkspace, startPlatformInMemory } from "../world/platform.ts";
import { helmProgram } from "./helm.ts";
import { runCommands } from "./page-commands.ts";
import { CHART } from "./use-helm.ts";

// Every line that the page of a deployment link shows is run as it is shown: by the real helm, kubectl and curl, against a
// real API server and platform. Only the words in capitals are replaced, and `--watch`, which does not end.

const cluster = useCluster();
const BINARY = "#!/bin/sh\necho shop\n";
const TEMPLATE = "Resources: {}\n";
const CLUSTER_ADMIN = { folders: [] as readonly string[] };
let folder = "";
let platform: RunningPlatform;
let files: Server;
let filesUrl = "";
let admin: (method: string, path: string, body?: object) => Promise<Answer["body"]>;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const TERRAFORM = spawnSync("sh", ["-c", "command -v terraform"]).stdout.toString().trim();
if (TERRAFORM === "")
  console.warn("SKIPPED: test/chart/portal-lines, terraform's own reading of its lines: no terraform");

/** What the chart was told of the customer's namespace stands in a ConfigMap. */
const FILES = {
  "values.yaml": "sallyport: {}\n",
  "templates/told.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: told}\ndata: {sallyport: {{ .Values.sallyport | toJson | quote }}}\n",
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-portal-lines-"));
  const signal = AbortSignal.timeout(600_000);
  const [{ kubectl }, helm] = [await findPrograms({}, signal), await helmProgram(() => undefined, signal)];
  CLUSTER_ADMIN.folders = [kubectl, helm, TERRAFORM].filter((each) => each !== "").map(dirname);
  files = createServer(async ({ url }, response) => {
    if (url === "/module.tar.gz") return void response.end(await moduleArchive());
    response.end(url === "/template.yaml" ? TEMPLATE : BINARY);
  });
  await new Promise<void>((resolve) => void files.listen(0, "127.0.0.1", resolve));
  filesUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  platform = await startPlatformInMemory(folder);
  const { bootstrap, url } = platform;
  const { workspaceId, key } = await newWorkspace(platform);
  await bootstrap.manager({ workspaceId, name: "customer one", shared: true });
  admin = async (method, path, body) => {
    const answer = await call(url, method, path, { key, ...(body && { body }) });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  };
}, 900_000);

afterAll(async () => {
  files?.close();
  await platform?.close();
  await rm(folder, { recursive: true, force: true });
});

async function moduleArchive(): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: "main.tf" }, 'output "product" {\n  value = "shop"\n}\n');
  archive.finalize();
  return promisify(gzip)(await buffer(archive));
}

async function page(token: string): Promise<readonly string[]> {
  const browser = new TestBrowser();
  const entry = await browser.get(new URL("/deploy", platform.url));
  const seen = await browser.submit(entry, { token }, "/deploy");
  expect(seen.status, seen.text).toBe(200);
  return linesOf(seen);
}

/** The one block of lines that has this in it. */
function block(lines: readonly string[], what: string): string {
  const found = lines.filter((each) => each.includes(what));
  expect(found, `${what} in\n${lines.join("\n---\n")}`).toHaveLength(1);
  return found[0] ?? "";
}

async function run(line: string, words: Readonly<Record<string, string>> = {}): Promise<string> {
  const said = Object.entries(words).reduce((text, [word, by]) => text.replaceAll(word, by), line);
  const given = { ...CLUSTER_ADMIN, kubeconfig: cluster().adminKubeconfig, home: folder, cwd: folder };
  const { code, stdout, stderr } = await runCommands(said.replaceAll(" --watch", ""), given);
  expect(code, `${said}\n${stderr}`).toBe(0);
  return stdout;
}

test("a manager's lines put its key into the cluster and install the agent and the operator", async () => {
  const body = { name: "our manager", cloud: "aws", region: "eu-west-1", setupMethod: "cloudformation" };
  const { deploymentLink } = await admin("POST", "/v1/managers", body);
  const lines = await page(deploymentLink.split("#token=")[1]);
  await run(block(lines, "kubectl create namespace"));
  // The chart takes a platform behind TLS alone, which this one is not.
  const https = platform.url.replace("http:", "https:");
  const install = await run(block(lines, "YOUR-CHART"), { "YOUR-CHART": CHART, [platform.url]: https });
  expect(install).toContain("STATUS: deployed");
  const [secret, operator] = [
    await cluster().kubectl(["get", "secret", "sallyport-runtime-key", "-n", "sallyport-system", "-o", "json"]),
    await cluster().kubectl(["get", "deployment", "sallyport-operator", "-n", "sallyport-system", "-o", "name"]),
  ];
  expect(Buffer.from(JSON.parse(secret.stdout).data.key, "base64").toString()).toMatch(/^sp_m_/);
  expect(operator.stdout).toBe("deployment.apps/sallyport-operator\n");
  const [template] = block(lines, "manager.cloudformation.yaml").split("\n");
  await run(template ?? "");
  expect(await readFile(join(folder, "manager.cloudformation.yaml"), "utf8")).toContain("AWSTemplateFormatVersion");
  // One thing for each block, and each block was run.
  expect(lines).toHaveLength(3);
});

// In the cluster of the test before, which has our kinds.
test("a group's link makes a deployment, and the deployment's link installs, accepts and shows it", async () => {
  const packagesConfig = { helm: { enabled: true, chartName: "shop", description: "The shop" } };
  await admin("POST", "/v1/projects", { name: "shop", packagesConfig });
  await admin("POST", "/v1/releases", {
    project: "shop",
    stack: { kubernetes: { ...STACK, chart: { files: FILES } } },
  });
  await until(async () => (await admin("GET", "/v1/packages")).items[0].status === "ready");
  const group = await linkOf("shop", ["helm"]);
  const made = JSON.parse(await run(block(await page(group), "-X POST"), { "YOUR-NAME": "customer-one" }));
  const { id } = made.deployment;
  const lines = await page(made.token);
  for (const which of ["helm upgrade --install shop http", "helm pull"]) {
    await run(block(lines, which), { "YOUR-NAMESPACE": "shop" });
    const told = await cluster().kubectl(["get", "configmap", "told", "-o", "json"]);
    expect(JSON.parse(JSON.parse(told.stdout).data.sallyport)).toEqual({ deployments: { [id]: ["shop"] } });
    expect((await cluster().kubectl(["delete", "secret", "-l", "owner=helm,name=shop"])).code).toBe(0);
    expect((await cluster().kubectl(["delete", "configmap", "told"])).code).toBe(0);
  }
  // As the agent makes it, which does not run here.
  await cluster().apply([
    {
      ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "ManagedDeployment" },
      ...{
        metadata: { name: objectName(id), namespace: "sallyport-grants" },
        spec: { deploymentId: id, name: "shop" },
      },
    },
  ]);
  expect(await run(block(lines, "kubectl patch"), { "YOUR-NAMESPACE": "shop" })).toContain("patched\n");
  expect(await run(block(lines, "kubectl get manageddeployments"))).toContain(objectName(id));
  expect(JSON.parse(await run(block(lines, `/v1/deployments/${id}`)))).toMatchObject({ id, name: "customer-one" });
  expect(lines).toHaveLength(5);
});

test("lines for what the vendor's own builders made fetch it, and terraform takes its module", async () => {
  const enabled = { enabled: true, displayName: "Shop" };
  const cli = { ...enabled, name: "shopctl", binaryTargets: ["linux-x64"] };
  const packagesConfig = { cli, terraform: enabled, cloudformation: enabled };
  await admin("POST", "/v1/projects", { name: "tools", packagesConfig });
  await admin("POST", "/v1/releases", { project: "tools", stack: { kubernetes: STACK } });
  await admin("POST", "/v1/packages/rebuild", { project: "tools" });
  const file = { filename: "f", shasum: "0".repeat(64), size: 1 };
  const outputs: Readonly<Record<string, object>> = {
    cli: {
      binaries: { "linux-x64": { sha256: sha256(BINARY), size: BINARY.length, url: `${filesUrl}/shopctl` } },
      buildInfo: { coreSha: "a", runtimeSha: "a", platformSha: "a", sourceCliBinarySha256: "a" },
    },
    cloudformation: {
      targets: { aws: { target: "aws", templateUrl: `${filesUrl}/template.yaml`, sha256: sha256(TEMPLATE), size: 1 } },
    },
    terraform: {
      modules: {
        aws: {
          ...{ target: "aws", source: `${filesUrl}/module.tar.gz`, downloadUrl: `${filesUrl}/module.tar.gz` },
          ...{ variables: [], ...file },
        },
      },
      provider: {
        ...{ source: "registry.example.com/acme/shop", platforms: {} },
        gpgPublicKey: { asciiArmor: "none", keyId: "none" },
      },
    },
  };
  for (const [type, made] of Object.entries(outputs)) {
    const { packages } = await admin("POST", "/v1/packages/lease", { builderId: "b", types: [type] });
    const done = { builderId: "b", status: "ready", outputs: { type, ...made } };
    await admin("POST", `/v1/packages/${packages[0].id}/complete`, done);
  }
  const lines = await page(await linkOf("tools", ["cli", "terraform", "cloudformation"], ["kubernetes", "aws"]));
  expect(await run(block(lines, "sha256sum"))).toBe("shopctl: OK\n");
  await run(block(lines, "template.yaml"));
  expect(await readFile(join(folder, "template.yaml"), "utf8")).toBe(TEMPLATE);
  const module = block(lines, "module ");
  // No provider of the vendor's is in any line: none was published, and terraform would ask a registry for it.
  expect(lines.join("\n")).not.toContain("registry.example.com/acme/shop");
  if (TERRAFORM === "") return;
  await writeFile(join(folder, "main.tf"), `${module}\n`);
  expect(await run("CHECKPOINT_DISABLE=1 terraform init -input=false -no-color")).toContain("successfully initialized");
  expect(await run("terraform validate -no-color")).toContain("The configuration is valid.");
  expect(await readdir(join(folder, ".terraform/modules"))).toContain("product");
});

async function linkOf(
  project: string,
  allowedSetupMethods: readonly string[],
  allowedPlatforms: readonly string[] = ["kubernetes"],
): Promise<string> {
  const group = await admin("POST", "/v1/deployment-groups", { name: `customer-of-${project}`, project });
  const policy = { allowedPlatforms, allowedSetupMethods };
  const deploymentSetupConfig = { metadata: {}, policy, environmentVariables: [] };
  return (await admin("POST", `/v1/deployment-groups/${group.id}/tokens`, { deploymentSetupConfig })).token;
}
