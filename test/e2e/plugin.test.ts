import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/api-client/client.ts";
import { EXIT_CODES } from "../../src/cli/engineer/exit-codes.ts";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import type { PortalPackages } from "../../src/contract/deployment-portal/deployment-info.ts";
import type { Command } from "../../src/contract/operations/commands.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { eventually } from "../integration/wait.ts";
import { isReady, soon, useCast } from "./cast.ts";
import { bash } from "./command.ts";
import { Engineer } from "./debug-engineer.ts";
import { upgradeSallyport } from "./installation.ts";
import { apply, kubectl } from "./kubectl.ts";
import { APPROVER, GRANTS, nodesOf, SHOP } from "./scene.ts";

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
const ROOM = { resources: { limits: { memory: "416Mi" } } } as const;

type OperatorImage = NonNullable<PortalPackages["operatorImage"]>;
let engineer: Engineer;
let taken: object = {};

const admin = (...args: readonly string[]): Promise<string> => kubectl(cast().scene, args, soon());

const level = (): Promise<string> =>
  admin("get", "configmap", SETTINGS, "-n", SHOP, "-o", "jsonpath={.data.LOG_LEVEL}");

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

/** Brings the archive onto each node under the name of {@link OWN}, as `docker load` and a push to a registry would. */
async function loadOntoNodes(archive: string): Promise<void> {
  const { docker, folder, vendor } = cast().scene;
  const home = await mkdtemp(join(folder, "image-"));
  try {
    const file = join(home, "image.tar");
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(archive, { ca: vendor.authority, signal: soon() }, resolve).once("error", reject);
    });
    expect(answer.statusCode).toBe(200);
    await pipeline(answer, createWriteStream(file));
    const script =
      'docker exec --interactive "$NODE" ctr --namespace k8s.io images import --base-name "$NAME" --digests - <"$FILE"';
    const env = { ...docker, NAME: `${OWN.registry}/${OWN.repository}`, FILE: file };
    await Promise.all(nodesOf(cast().scene).map((node) => bash(script, { env: { ...env, NODE: node } }, soon())));
  } finally {
    await rm(home, { recursive: true });
  }
}

async function invoked(operation: string, params: Readonly<Record<string, string>>): Promise<Command> {
  const { deploymentId, project } = cast().scene.vendor;
  const body = { deploymentId, plugin: PLUGIN, operation, params };
  const { commandId } = await cast().engineer.operations.invoke({ query: { project }, body }, soon());
  return ended(commandId);
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
  const { status, error, archive, digest, values } = await offered();
  expect(status, JSON.stringify(error)).toBe("ready");
  const printed = await engineer.run("plugin", "values", file, "-o", "json");
  expect(values).toEqual(JSON.parse(printed.out));
  await loadOntoNodes(archive ?? "");
  taken = { ...values, image: { ...OWN, digest }, operator: ROOM };
});

test("the customer takes both: the operator runs the image and knows the operations", async () => {
  await upgradeSallyport(cast().scene, taken, soon());
  const pods = await cast().pods("operator");
  expect(pods.map(isReady)).not.toContain(false);
  const roles = await admin("get", "clusterroles", "-o", "name");
  for (const name of ["show", "set"]) expect(roles).toContain(`/sallyport-op-${PLUGIN}-${name}\n`);
  expect(await cast().metric("operator", "sallyport_plugin_problems")).toBe(0);
});

test("what the customer approved changes the cluster, and its result is at the vendor's", async () => {
  const { code, decision, status, command } = await approved(SET);
  expect([code, status?.state], JSON.stringify([command, status])).toEqual([0, "Succeeded"]);
  expect(decision).toMatchObject({ outcome: "approved", by: APPROVER });
  expect(command.result).toEqual({ before: "warn", level: "debug", changed: true });
  const data = await admin("get", "configmap", SETTINGS, "-n", SHOP, "-o", "jsonpath={.data}");
  expect(JSON.parse(data)).toEqual({ LOG_LEVEL: "debug", OTHER: "kept" });
});

test("what both policies let run by itself needs no approval", async () => {
  const { project } = cast().scene.vendor;
  const rules = [{ pattern: `${PLUGIN}/show`, decision: "auto" as const }];
  await cast().vendorAdmin.operations.putPolicy({ query: { project }, body: { rules } }, soon());
  const { state, result, error } = await invoked("show", { namespace: SHOP, name: SETTINGS });
  expect([state, result], JSON.stringify(error)).toEqual(["SUCCEEDED", { level: "debug" }]);
});

test("what the customer has switched off is refused, approved or not, and the rest runs", async () => {
  const off = { plugins: { [PLUGIN]: { operations: { set: { enabled: false } } } } };
  await upgradeSallyport(cast().scene, merged(taken, off), soon());
  const { code, status, command } = await approved({ ...SET, level: "error" });
  expect([code, status?.state], JSON.stringify([command, status])).toEqual([EXIT_CODES.notRun.code, "Held"]);
  expect(command.error?.message).toContain("the install values (plugins) do not enable it");
  expect(await level()).toBe("debug");
  expect(await admin("get", "clusterroles", "-o", "name")).not.toContain(`/sallyport-op-${PLUGIN}-set\n`);
  expect((await invoked("show", { namespace: SHOP, name: SETTINGS })).result).toEqual({ level: "debug" });
});

/** As helm merges a second file of values over the first. */
function merged(values: object, over: object): object {
  const result: Record<string, unknown> = { ...values };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    const isDeep = typeof value === "object" && typeof below === "object" && below !== null;
    result[key] = isDeep ? merged(below, value) : value;
  }
  return result;
}
