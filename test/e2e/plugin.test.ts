import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/api-client/client.ts";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import type { PortalPackages } from "../../src/contract/deployment-portal/deployment-info.ts";
import type { Command } from "../../src/contract/operations/commands.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import type { PluginsValues } from "../../src/plugins/values.ts";
import { GRANTS, SHOP } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, soon, useCast } from "./cast.ts";
import { bash, command } from "./command.ts";
import { Engineer } from "./debug-engineer.ts";
import { upgradeSallyport } from "./installation.ts";
import { apply, kubectl } from "./kubectl.ts";
import { APPROVER, workersOf } from "./scene.ts";

// An operation of the vendor's own, from its two files to a changed object: the vendor's program packs and uploads it, the
// platform bakes it into the operator's image, the customer takes the image and the values, and approves.

const cast = useCast();
const SOURCE = join(import.meta.dirname, "../../examples/plugin-log-level");
const PLUGIN = "log-level";
/** A ConfigMap from which a program would read its level. */
const SETTINGS = "web-settings";
const SET = { namespace: SHOP, name: SETTINGS, level: "debug" } as const;
/** Of the customer. Nothing is pulled from it: the nodes have the image by this name. */
const OWN = { registry: "registry.customer.example", repository: "vendor/sallyport" } as const;
/** As docs/install.md says: a plugin's process has memory beside the operator. */

type OperatorImage = NonNullable<PortalPackages["operatorImage"]>;
let engineer: Engineer;
let taken: object = {};

const admin = (...args: readonly string[]): Promise<string> => kubectl(cast().scene, args, soon());

beforeAll(async () => {
  const { scene, vendorAdmin } = cast();
  engineer = await Engineer.at(cast());
  const operatorImage = { enabled: true, name: "storefront-operator", displayName: "Storefront" };
  const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: SETTINGS, namespace: SHOP } };
  await apply(scene, [{ ...settings, data: { LOG_LEVEL: "warn", OTHER: "kept" } }], soon());
  const body = { packagesConfig: { operatorImage } };
  await vendorAdmin.projects.patch({ params: { idOrName: scene.vendor.project }, body }, soon());
});

afterAll(async () => {
  const { scene, vendorAdmin } = cast();
  const { project } = scene.vendor;
  await upgradeSallyport(scene, {}, soon());
  await admin("delete", "configmap", SETTINGS, "-n", SHOP);
  const named = { params: { name: PLUGIN }, query: { project } };
  await vendorAdmin.operations.enablePlugin({ ...named, body: { enabled: false } }, soon());
  await vendorAdmin.projects.patch({ params: { idOrName: project }, body: { packagesConfig: null } }, soon());
});

/** What the customer reads by the link that the vendor has sent. */
async function offered(): Promise<OperatorImage> {
  const { scene, vendorAdmin } = cast();
  const { deploymentGroupId } = await vendorAdmin.deployments.get(
    { params: { id: scene.vendor.deploymentId } },
    soon(),
  );
  const policy = { allowedPlatforms: ["kubernetes" as const], allowedSetupMethods: ["helm" as const] };
  const deploymentSetupConfig = { metadata: {}, policy, environmentVariables: [] };
  const body = { deploymentSetupConfig, expiresAt: new Date(Date.now() + 3_600_000).toISOString() };
  const { token } = await vendorAdmin.deploymentGroups.createToken({ params: { id: deploymentGroupId }, body }, soon());
  const customer = createClient({ baseUrl: scene.vendor.directUrl, credential: token, userAgent: "e2e" });
  try {
    return await eventually(
      async () => (await customer.deploymentPortal.info({ query: {} }, soon())).packages.operatorImage,
      ({ status, values }) => status === "failed" || values?.plugins?.[PLUGIN] !== undefined,
    );
  } finally {
    await customer.close();
  }
}

/** Brings the archive onto each node that has pods of ours, under the name of {@link OWN}, as a push to a registry of theirs would. */
async function loadOntoNodes(archive: string): Promise<void> {
  const { docker, folder, vendor } = cast().scene;
  const home = await mkdtemp(join(folder, "image-"));
  try {
    const [file, authority] = [join(home, "image.tar"), join(home, "authority.pem")];
    await writeFile(authority, vendor.authority);
    const fetching = ["-fsSL", "--noproxy", "*", "--cacert", authority, "-o", file, archive];
    await command("curl", fetching, {}, soon());
    const script =
      'docker exec --interactive "$NODE" ctr --namespace k8s.io images import --base-name "$NAME" --digests - <"$FILE"';
    const env = { ...docker, NAME: `${OWN.registry}/${OWN.repository}`, FILE: file };
    await Promise.all(workersOf(cast().scene).map((node) => bash(script, { env: { ...env, NODE: node } }, soon())));
  } finally {
    await rm(home, { recursive: true });
  }
}

const ended = (id: string | null | undefined): Promise<Command> =>
  cast().command(id ?? "", ({ state }) => ["SUCCEEDED", "FAILED", "EXPIRED"].includes(state));

/** The engineer asks and follows, the customer types the line that this shows, until the one line of the plan is over. */
async function approved(params: Readonly<Record<string, string>>) {
  const plan = ["--title", "Debug for an hour", "--command", `${PLUGIN}/set`];
  const given = Object.entries(params).flatMap(([name, value]) => ["--params", `${name}=${value}`]);
  const deployment = ["--deployment", cast().scene.vendor.deploymentId];
  const cli = engineer.sallyport("access", "request", ...deployment, ...plan, ...given, "--wait", "-o", "json");
  const [, line = ""] = await cli.says(/approves with: (kubectl patch .*)$/m);
  await cast().approve(line);
  const code = await cli.ended;
  const { id, decision, execution }: AccessRequest = JSON.parse(cli.out);
  const grant = await cast().grant(id, () => true);
  const [invocation] = (await cast().list<OperationInvocation>(operationInvocations, GRANTS)).filter(
    ({ spec }) => spec.grantName === grant.metadata.name,
  );
  return { code, decision, status: invocation?.status, command: await ended(execution.commands[0]?.commandId) };
}

test("the vendor's program packs and uploads it, and the customer is offered an image and values", async () => {
  const file = join(engineer.home, "log-level.zip");
  for (const args of [
    ["plugin", "pack", SOURCE, "--out", file],
    ["plugin", "upload", file, "--project", cast().scene.vendor.project],
  ]) {
    const { code, error } = await engineer.run(...args);
    expect(code, error).toBe(0);
  }
  // Of an earlier run that switched it off, perhaps: registering anew leaves that as it is.
  const named = { params: { name: PLUGIN }, query: { project: cast().scene.vendor.project } };
  await cast().vendorAdmin.operations.enablePlugin({ ...named, body: { enabled: true } }, soon());
  const { status, error, archive, digest, values } = await offered();
  expect(status, JSON.stringify(error)).toBe("ready");
  const printed = await engineer.run("plugin", "values", file, "-o", "json");
  expect(values).toEqual(JSON.parse(printed.out));
  await loadOntoNodes(archive ?? "");
  taken = { ...withoutShow(values), image: { ...OWN, digest } };
});

test("the customer takes both, without the operation that reads: the operator knows the other one", async () => {
  await upgradeSallyport(cast().scene, taken, soon());
  const pods = await cast().pods("operator");
  expect(pods.map(isReady)).not.toContain(false);
  const roles = await admin("get", "clusterroles", "-o", "name");
  expect(roles).toContain(`/sallyport-op-${PLUGIN}-set\n`);
  expect(roles).not.toContain(`/sallyport-op-${PLUGIN}-show\n`);
  expect(await cast().metric("operator", "sallyport_plugin_problems")).toBe(0);
});

test("what the customer approved changes the cluster, and its result is at the vendor's", async () => {
  const { code, decision, status, command: ran } = await approved(SET);
  expect([code, status?.state], JSON.stringify([ran, status])).toEqual([0, "Succeeded"]);
  expect(decision).toMatchObject({ outcome: "approved", by: APPROVER });
  expect(ran.result).toEqual({ before: "warn", level: "debug", changed: true });
  const data = await admin("get", "configmap", SETTINGS, "-n", SHOP, "-o", "jsonpath={.data}");
  expect(JSON.parse(data)).toEqual({ LOG_LEVEL: "debug", OTHER: "kept" });
});

/** As helm does, which merges a second file of values over the first. */
function withoutShow(values: OperatorImage["values"]): object {
  const plugins = (values?.plugins ?? {}) as PluginsValues;
  const { [PLUGIN]: plugin } = plugins;
  const show = { ...plugin?.operations.show, enabled: false };
  return { ...values, plugins: { ...plugins, [PLUGIN]: { ...plugin, operations: { ...plugin?.operations, show } } } };
}
