import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { contentDigest } from "../../../src/crds/content-digest.ts";
import { objectName } from "../../../src/crds/group.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { type ReleaseObject, releaseContents } from "../../../src/crds/kinds/release-content.ts";
import { type Rollout, type RolloutAction, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { installation, openReleases } from "../../../src/crds/manifests/installation.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { namespace } from "../../world/installation.ts";
import { accept, condition, ours } from "../../world/objects.ts";
import { GRANTS, People, SYSTEM } from "../../world/people.ts";
import { startOperator } from "../../world/processes.ts";
import { eventually, PATIENT_LEASE, signal } from "../../world/wait.ts";
import { ApiProxy, type ApiWrite } from "./api-proxy.ts";
import { configMap, deployment, member, useHands } from "./hands-world.ts";

// The operator is killed right after a write of its has been stored, and before it knows: its way to the API server is cut,
// which is all that the cluster sees of a killed process, and costs no start of another. Once it is a process of its own.

const cluster = useCluster({
  controllers: true,
  tokenUsers: [{ user: "operator", groups: ["system:masters"] }],
  isOwn: true,
});
const world = useHands(cluster);
let people: People;
let admin: Client;
let operator: Operator;
const ends: Promise<unknown>[] = [];
let kills = 0;
let made = 0;

beforeAll(async () => {
  await cluster().apply([namespace(SYSTEM), ...installation().crds, ...openReleases()]);
  people = new People(cluster());
  admin = await people.admin();
  operator = await started();
});
beforeEach(() => {
  answered = async () => undefined;
});
afterAll(async () => {
  await operator?.kill();
  await Promise.all(ends);
  await people?.close();
});

interface Operator {
  /** It can finish nothing. */
  readonly kill: () => Promise<void>;
}

/** What a test does at each write of the operator. */
let answered: ApiProxy["answered"] = async () => undefined;

/** The next one has the same name, and goes on with the lease. The lease outlives a restart of the API server. */
const SETTINGS = {
  SALLYPORT_HEALTH_HOST: "127.0.0.1",
  SALLYPORT_HEALTH_PORT: "0",
  SALLYPORT_RELEASES_ENABLED: "true",
  SALLYPORT_SWEEP_INTERVAL: "1s",
  SALLYPORT_IDENTITY: "operator-0",
  ...PATIENT_LEASE,
};

async function started(isProcess = false): Promise<Operator> {
  const proxy = await ApiProxy.start(cluster().server, readFileSync(cluster().caFile, "utf8"));
  proxy.answered = (write) => answered(write);
  const kubeconfig = join(cluster().dir, `proxied-${new URL(proxy.url).port}.kubeconfig`);
  writeFileSync(kubeconfig, kubeconfigOf(proxy.url, cluster().tokenFor("operator")));
  const env = { ...SETTINGS, SALLYPORT_KUBECONFIG: kubeconfig };
  if (isProcess) {
    const program = join(import.meta.dirname, "../operator/operator-process.ts");
    const child = spawn(process.execPath, [program], { env: { PATH: process.env.PATH, ...env }, stdio: "ignore" });
    const exit = once(child, "exit");
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await exit;
      proxy.close();
    };
    return { kill };
  }
  const running = startOperator(env);
  const kill = async (): Promise<void> => {
    proxy.close();
    ends.push(running.stop().catch(() => undefined));
  };
  return { kill };
}

/** Plain HTTP is let be only where certificates are not looked at. */
function kubeconfigOf(server: string, token: string): string {
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "it" },
    clusters: [{ name: "it", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "it", user: { token } }],
    contexts: [{ name: "it", context: { cluster: "it", user: "it" } }],
  });
}

interface Step {
  readonly name: string;
  readonly is: (write: ApiWrite) => boolean;
}
const writes = (state: string, waveOf?: string): Step => ({
  name: `${state} ${waveOf ?? ""}`,
  is: ({ path, body }) =>
    path.endsWith("/status") && body?.status?.state === state && (waveOf ?? body.status.waveOf) === body.status.waveOf,
});
const makes = (what: string, kind: string): Step => ({
  name: `makes ${what} ${kind}`,
  is: ({ method, path, body }) =>
    method === "POST" && path.endsWith(`/${what}`) && body?.metadata?.name?.startsWith(`${kind}-`) === true,
});
const applies = (name: string, isDryRun = false): Step => ({
  name: `applies ${name}`,
  is: (write) => write.method === "PATCH" && write.path.endsWith(`/${name}`) && write.isDryRun === isDryRun,
});
const deletes = (name: RegExp): Step => ({
  name: `deletes ${name}`,
  is: ({ method, path }) => method === "DELETE" && name.test(path),
});

/** Kills the operator after each of these steps, once, and starts the next one. @returns the steps that did not come. */
function killAfter(steps: readonly Step[], isProcess = false): { readonly left: readonly Step[] } {
  const left = [...steps];
  answered = async (write) => {
    if (write.status >= 300 || left[0]?.is(write) !== true) return;
    left.shift();
    kills += 1;
    await operator.kill();
    operator = await started(isProcess);
  };
  return { left };
}

/** Versions that the rollout's account has given to each object: equal applies give none. */
function versionsOf(namespace: string): Map<string, Set<unknown>> {
  const versions = new Map<string, Set<unknown>>();
  const before = answered;
  answered = async (write) => {
    const { method, path, isDryRun, answer, status } = write;
    if (method === "PATCH" && path.includes(`/namespaces/${namespace}/`) && !isDryRun && status < 300) {
      const { generation, resourceVersion } = answer.metadata;
      versions.set(path, (versions.get(path) ?? new Set()).add(generation ?? resourceVersion));
    }
    await before(write);
  };
  return versions;
}

/** A namespace and a deployment of their own for one test. */
async function customer() {
  made += 1;
  const deploymentId = `dep_fault${made}`;
  const shop = await world.namespace();
  const spec = { deploymentId, name: "shop" };
  await admin.create(managedDeployments, ours("ManagedDeployment", deploymentId, spec), signal());
  await accept(admin, deploymentId, shop);
  const bring = async (action: RolloutAction, objects: readonly ReleaseObject[]): Promise<string> => {
    const name = `${objectName(deploymentId)}-${++made}`;
    const digest = contentDigest(objects);
    const content = { deploymentId, version: name, digest, configHash: "c".repeat(64), objects };
    await admin.create(releaseContents, ours("ReleaseContent", `rel-${name}`, content), signal());
    const requestedAt = new Date().toISOString();
    const deadline = new Date(Date.now() + 3_600_000).toISOString();
    const asked = { rolloutId: name, deploymentId, action, requestedAt, deadline };
    const brings = { contentName: `rel-${name}`, contentDigest: digest };
    await admin.create(rollouts, ours("Rollout", name, { ...asked, ...brings }), signal());
    return name;
  };
  const of = (line: Parameters<typeof member>[0], wave: number) => member(line, { wave }, deploymentId);
  /** Three waves. A `sick` one has a last wave that does not come up. */
  const release = (version: string, { isSick = false, more = [] as readonly string[] } = {}) => [
    of(configMap(shop, "settings", { version }), 0),
    of(deployment(shop, "api", { image: `registry.example/app:${version}`, replicas: 0 }), 1),
    ...more.map((name) => of(configMap(shop, name, {}), 1)),
    of(deployment(shop, "web", isSick ? sick(version) : { image: `registry.example/web:${version}`, replicas: 0 }), 2),
  ];
  return { deploymentId, shop, bring, release };
}

const sick = (version: string) => ({
  image: `registry.example/web:${version}`,
  nodeSelector: { "example.com/nowhere": "yes" },
  progressDeadlineSeconds: 1,
});

/** As a person who reads the plan and says yes. Also while the API server is away. */
async function approved(name: string): Promise<void> {
  const { status } = await seen(name, (rollout) => rollout.status?.state === "AwaitingApproval");
  const spec = { approvedDigest: status?.plannedDigest };
  await admin.patch(rollouts, { namespace: GRANTS, name }, { type: "merge", body: { spec } }, {}, signal());
}

const seen = (name: string, until: (rollout: Rollout) => boolean): Promise<Rollout> =>
  eventually(
    () => admin.get<Rollout>(rollouts, { namespace: GRANTS, name }, signal()).catch(() => undefined),
    (rollout) => until(rollout) || rollout.status?.finishedAt !== undefined,
  );

const ended = (name: string): Promise<Rollout> => seen(name, () => false);

const messageOf = ({ status }: Rollout, type: string): string =>
  status?.conditions?.find((each) => each.type === type)?.message ?? "";

async function installed(name: string): Promise<void> {
  await approved(name);
  expect((await ended(name)).status).toMatchObject({ state: "Succeeded" });
}

/** What a rollout leaves: its end, the objects with their generation, and no right. */
async function outcome(rollout: Rollout, shop: string): Promise<object> {
  const none = { objects: [], former: [], installed: [], formerRef: undefined, done: [], takeOver: [], namespaces: [] };
  await eventually(
    () => world.lent({ rollout, ...none }, shop),
    (lent) => lent.length === 0,
  );
  const objects: string[] = [];
  for (const plural of ["api/v1/namespaces/NS/configmaps", "apis/apps/v1/namespaces/NS/deployments"]) {
    // biome-ignore lint/suspicious/noExplicitAny: what the API server has.
    const { items } = (await world.send("GET", `/${plural.replace("NS", shop)}`)) as any;
    for (const { metadata, data, spec } of items) {
      if (metadata.name === "kube-root-ca.crt") continue;
      const image = spec?.template.spec.containers[0].image;
      objects.push(`${metadata.name} ${data?.version ?? image} generation ${metadata.generation}`);
    }
  }
  const { state, plan, waveOf, conditions = [] } = rollout.status ?? {};
  return {
    ...{
      state,
      waveOf,
      objects,
      plan: { ...plan, changes: plan?.changes?.map((each) => each.replaceAll(shop, "NS")) },
    },
    // Without Compared, which comes whenever the drift controller has looked.
    conditions: conditions
      .filter(({ type }) => type !== "Compared")
      .map(({ type, status, reason }) => `${type} ${status}/${reason}`)
      .sort(),
  };
}

/** Installs, and brings an update during which the operator is killed after each step. */
async function updated(steps: readonly Step[], isSick: boolean, isProcess = false): Promise<object> {
  const { shop, bring, release } = await customer();
  await installed(await bring("install", release("1", { more: ["old"] })));
  const { left } = killAfter(steps, isProcess);
  const versions = versionsOf(shop);
  const update = await bring("update", release("2", { isSick, more: ["new"] }));
  await approved(update);
  const rollout = await ended(update);
  const told = await outcome(rollout, shop);
  expect(left.map(({ name }) => name)).toEqual([]);
  // Forward, and on the way back once more.
  const most = Math.max(...[...versions.values()].map(({ size }) => size));
  expect([versions.size, most]).toEqual(isSick ? [5, 2] : [4, 1]);
  return told;
}

test("killed at each step of an update, it ends where it ends without, and no object is changed twice", async () => {
  const steps = [
    ...[writes("Planning"), makes("serviceaccounts", "plan"), applies("api", true), writes("AwaitingApproval")],
    ...[writes("Applying", "1/3"), makes("rolebindings", "rollout"), applies("settings"), writes("Gating", "1/3")],
    ...[applies("api"), writes("Pruning"), deletes(/\/configmaps\/old$/), deletes(/\/rolebindings\/rollout-/)],
    writes("Succeeded"),
  ];
  const before = kills;
  const crashed = await updated(steps, false);
  expect(kills - before).toBe(steps.length);
  expect(crashed).toEqual(await updated([], false));
  expect(crashed).toMatchObject({ state: "Succeeded" });
}, 300_000);

fullOnly(
  "killed at each step of the way back, it ends with what was there before",
  async () => {
    const steps = [
      ...[writes("RollingBack", "3/3"), applies("settings"), applies("web")],
      ...[deletes(/\/configmaps\/new$/), writes("RolledBack")],
    ];
    const crashed = await updated(steps, true);
    expect(crashed).toEqual(await updated([], true));
    expect(crashed).toMatchObject({ state: "RolledBack" });
  },
  300_000,
);

test("a process of its own that is killed in the midst of a wave, and the next one, come to the same end", async () => {
  await operator.kill();
  operator = await started(true);
  expect(await updated([applies("api")], false, true)).toMatchObject({ state: "Succeeded" });
  await operator.kill();
  operator = await started();
}, 300_000);

test("a webhook of the customer that is down holds up a plan and a wave, which say so, and both heal", async () => {
  const { shop, bring, release } = await customer();
  const webhook = {
    ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" },
    metadata: { name: "check" },
    webhooks: [
      {
        ...{ name: "check.customer.example", sideEffects: "None", admissionReviewVersions: ["v1"], timeoutSeconds: 2 },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": shop } },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE", "UPDATE"] }],
        clientConfig: { url: "https://127.0.0.1:9/check" },
      },
    ],
  };
  const heal = () => cluster().kubectl(["delete", "validatingwebhookconfiguration", "check"]);
  const fails = ({ status }: { readonly status: number }): boolean => status === 500;
  await cluster().apply([webhook]);
  const probe = configMap(shop, "probe", {});
  const path = `/api/v1/namespaces/${shop}/configmaps?dryRun=All`;
  const isDown = () => eventually(() => cluster().request({ method: "POST", path, body: probe }), fails);
  await isDown();
  const name = await bring("install", release("1"));
  const planning = await seen(name, (rollout) => messageOf(rollout, "Planned").includes("webhook"));
  expect([planning.status?.state, condition(planning, "Planned")]).toEqual(["Planning", "Unknown/InProgress"]);
  expect(messageOf(planning, "Planned")).toContain('failed calling webhook "check.customer.example"');
  await heal();
  answered = async (write) => {
    if (!writes("Applying", "1/3").is(write)) return;
    answered = async () => undefined;
    await cluster().apply([webhook]);
    await isDown();
  };
  await approved(name);
  const applying = await seen(name, (rollout) => messageOf(rollout, "Applied").includes("webhook"));
  expect([applying.status?.state, condition(applying, "Applied")]).toEqual(["Applying", "Unknown/InProgress"]);
  await heal();
  expect((await ended(name)).status).toMatchObject({ state: "Succeeded" });
});

test("a namespace that is closed in the midst of it ends it, without rights", async () => {
  const { deploymentId, shop, bring, release } = await customer();
  const name = await bring("install", release("1"));
  answered = async (write) => {
    if (writes("Gating", "1/3").is(write)) await accept(admin, deploymentId);
  };
  await approved(name);
  const rollout = await ended(name);
  expect([rollout.status?.state, condition(rollout, "Applied")]).toEqual(["Failed", "False/NamespaceClosed"]);
  const { objects } = (await outcome(rollout, shop)) as { readonly objects: readonly string[] };
  expect(objects.map((each) => each.split(" ", 1)[0])).not.toContain("web");
});

test("without the content that was there before it fails, and nothing is deleted", async () => {
  const { shop, bring, release } = await customer();
  const first = await bring("install", release("1", { more: ["old"] }));
  await installed(first);
  const name = await bring("update", release("2", { isSick: true, more: ["new"] }));
  answered = async (write) => {
    if (!writes("Gating", "3/3").is(write)) return;
    await admin.delete(releaseContents, { namespace: GRANTS, name: `rel-${first}` }, {}, signal());
  };
  await approved(name);
  const rollout = await ended(name);
  expect([rollout.status?.state, condition(rollout, "Healthy")]).toEqual(["Failed", "False/FormerMissing"]);
  const { objects } = (await outcome(rollout, shop)) as { readonly objects: readonly string[] };
  expect(objects.map((each) => each.split(" ", 1)[0])).toEqual(["new", "old", "settings", "api", "web"]);
});

test("the API server restarts in the midst of a wave: it goes on, and no object is changed twice", async () => {
  const { shop, bring, release } = await customer();
  const name = await bring("install", release("1"));
  const versions = versionsOf(shop);
  const watch = answered;
  answered = async (write) => {
    await watch(write);
    if (!applies("settings").is(write)) return;
    answered = watch;
    await cluster().programs.apiserver.restart(signal());
  };
  await approved(name);
  const rollout = await ended(name);
  expect(rollout.status).toMatchObject({ state: "Succeeded" });
  expect([...versions.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
});
