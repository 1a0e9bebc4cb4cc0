import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type ApiCredentials, apiRequest } from "./api-request.ts";
import { isAlive } from "./cache-entry.ts";
import { startCluster } from "./cluster.ts";
import { useCluster } from "./use-cluster.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const never = new AbortController().signal;
/** Of a test that starts clusters itself: as long as `useCluster` gives one. */
const STARTS = { timeout: 600_000 } as const;

/** How a handshake ends that lacks the right certificate. */
const REFUSED = /alert|ECONNRESET|EPIPE/;

const API = "admissionregistration.k8s.io/v1";

describe("a cluster without controllers", () => {
  const cluster = useCluster({ tokenUsers: [{ user: "tok", groups: ["night shift", "approvers"] }] });

  it("knows a certificate's user and groups, and lets it do nothing before RBAC says so", async () => {
    const kubeconfig = cluster().kubeconfigFor({ user: "ann@example.com", groups: ["approvers", "ops"] });
    const who = await cluster().kubectl(
      ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}"],
      { kubeconfig },
    );
    expect(who).toMatchObject({ code: 0, stdout: 'ann@example.com ["approvers","ops","system:authenticated"]' });
    const pods = await cluster().kubectl(["get", "pods"], { kubeconfig });
    expect(pods.code).toBe(1);
    expect(pods.stderr).toContain("Forbidden");
  });

  it("knows a token's user and groups", async () => {
    const answer = await apiRequest(
      { server: cluster().server, ca: await readFile(cluster().caFile, "utf8"), token: cluster().tokenFor("tok") },
      {
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      },
      never,
    );
    expect(answer.body).toMatchObject({
      status: { userInfo: { username: "tok", groups: ["night shift", "approvers", "system:authenticated"] } },
    });
  });

  it("lets nobody into etcd but its own clients: not a user of the cluster, nor through the port of its peers", async () => {
    const { server, ca } = cluster().etcd;
    const ask = (etcd: ApiCredentials, path: string) => apiRequest(etcd, { method: "POST", path, body: {} }, never);
    const { status, body } = await ask(cluster().etcd, "/v3/cluster/member/list");
    expect(status).toBe(200);
    const peers = (body as { members: { peerURLs: string[] }[] }).members[0]?.peerURLs[0] ?? "";
    const admin = cluster().clientCertificate({ user: "root", groups: ["system:masters"] });
    for (const nobody of [{}, admin]) {
      await expect(ask({ server, ca, ...nobody }, "/v3/kv/put")).rejects.toThrow(REFUSED);
      await expect(ask({ server, ca, ...nobody }, "/metrics")).rejects.toThrow(REFUSED);
      await expect(ask({ server: peers, ca, ...nobody }, "/members")).rejects.toThrow(REFUSED);
    }
  });

  it("gives a ServiceAccount's own token and nothing else", async () => {
    await cluster().apply(
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: accounts}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: accounts}\n",
    );
    const kubeconfig = await cluster().kubeconfigForServiceAccount("accounts", "robot");
    const who = await cluster().kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], {
      kubeconfig,
    });
    expect(who.stdout).toBe("system:serviceaccount:accounts:robot");
  });

  it("keeps ServiceAccount admission on, and its namespaces can hold Pods", async () => {
    const pod = (serviceAccountName: string) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `of-${serviceAccountName}`, namespace: "admission" },
      spec: { serviceAccountName, containers: [{ name: "c", image: "i" }] },
    });
    await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "admission" } }, pod("default")]);
    await expect(cluster().apply([pod("nobody")])).rejects.toThrow(
      /service account admission\/nobody was not found|serviceaccount "nobody" not found/,
    );
  });

  it("serves a custom resource as soon as apply has returned", async () => {
    await cluster().apply([
      definition("Gadget"),
      { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "one" } },
    ]);
    expect(await cluster().kubectl(["get", "gadget", "one", "-o", "name"])).toMatchObject({
      code: 0,
      stdout: "gadget.example.com/one\n",
    });
  });

  it("enforces policies as soon as apply has returned", async () => {
    const match = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
    const stamped = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'stamped': 'yes'}}]";
    // They stay in force for a while after their deletion, in which the tests below write others.
    const matchConditions = [{ name: "its-own", expression: "object.metadata.name == 'of-a-test'" }];
    const each = { failurePolicy: "Fail", matchConstraints: { resourceRules: [match] }, matchConditions };
    const policy = (kind: string, spec: object, more: object) => [
      { apiVersion: API, kind, metadata: { name: "of-a-test" }, spec: { ...each, ...spec } },
      {
        apiVersion: API,
        kind: `${kind}Binding`,
        metadata: { name: "of-a-test" },
        spec: { policyName: "of-a-test", ...more },
      },
    ];
    await cluster().apply([
      ...policy(
        "ValidatingAdmissionPolicy",
        { validations: [{ expression: "!has(object.data)", message: "no data" }] },
        { validationActions: ["Deny"] },
      ),
      ...policy(
        "MutatingAdmissionPolicy",
        { reinvocationPolicy: "Never", mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: stamped } }] },
        {},
      ),
    ]);
    const create = [
      "create",
      "configmap",
      "of-a-test",
      "--dry-run=server",
      "-o",
      "jsonpath={.metadata.labels.stamped}",
    ];
    expect((await cluster().kubectl([...create, "--from-literal=a=b"])).stderr).toContain("no data");
    expect(await cluster().kubectl(create)).toMatchObject({ code: 0, stdout: "yes" });
    const left = await cluster().kubectl([
      "get",
      "validatingadmissionpolicies,mutatingadmissionpolicies",
      "-o",
      "name",
    ]);
    expect(left.stdout).not.toContain("lab-in-force");
  });

  it("keeps its data and its port when the API server and etcd are killed and come back", STARTS, async () => {
    await cluster().apply([
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kept", namespace: "default" }, data: { a: "1" } },
    ]);
    const { apiserver, etcd } = cluster().programs;
    await apiserver.kill("SIGKILL");
    await expect(cluster().request({ path: "/readyz" })).rejects.toThrow("ECONNREFUSED");
    await etcd.restart(never);
    await apiserver.start(never);
    const { status, body } = await cluster().request({ path: "/api/v1/namespaces/default/configmaps/kept" });
    expect({ status, body }).toMatchObject({ status: 200, body: { data: { a: "1" } } });
  });

  it("does not answer while it is paused, and does again when it goes on", async () => {
    const { apiserver } = cluster().programs;
    apiserver.pause();
    await expect(cluster().request({ path: "/readyz" }, AbortSignal.timeout(300))).rejects.toThrow();
    apiserver.resume();
    expect((await cluster().request({ path: "/readyz" })).status).toBe(200);
  });
});

it("runs beside another one, and stops without leaving a process or a folder", STARTS, async () => {
  const tokenUsers = [{ user: "admin", groups: ["system:masters"] }];
  const [one, other] = await Promise.all([startCluster({ tokenUsers }), startCluster({ tokenUsers })]);
  const pids = [one, other].flatMap(({ programs }) => [programs.etcd.pid, programs.apiserver.pid]);
  expect(one.server).not.toBe(other.server);
  // A token that can be known before would let each user of this machine be its administrator.
  expect(one.tokenFor("admin")).not.toBe(other.tokenFor("admin"));
  await Promise.all([one.stop(), other.stop(), one.stop()]);
  expect(pids.map((pid) => isAlive(pid ?? 0))).toEqual([false, false, false, false]);
  expect([one.dir, other.dir].map((dir) => existsSync(dir))).toEqual([false, false]);
});

it("says what a program wrote when it does not start, and leaves nothing behind", STARTS, async () => {
  const temporary = await mkdtemp(join(tmpdir(), "sallyport-test-"));
  vi.stubEnv("TMPDIR", temporary);
  onTestFinished(() => rm(temporary, { recursive: true }));
  await expect(startCluster({ apiserverArgs: ["--no-such-flag"] })).rejects.toThrow(
    /kube-apiserver ended while it was starting:[\s\S]*unknown flag: --no-such-flag/,
  );
  expect(await readdir(temporary)).toEqual([]);
});

it("takes its programs and its folder with it when its process is killed", STARTS, async () => {
  const script = `
    const { startCluster } = await import(${JSON.stringify(`${import.meta.dirname}/cluster.ts`)});
    const { dir, programs } = await startCluster();
    console.log(JSON.stringify({ dir, pids: [programs.etcd.pid, programs.apiserver.pid] }));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const line = await new Promise<string>((resolve) => createInterface({ input: parent.stdout }).once("line", resolve));
  const { dir, pids } = JSON.parse(line) as { dir: string; pids: number[] };
  expect(pids.map(isAlive)).toEqual([true, true]);
  parent.kill("SIGKILL");
  await expect.poll(() => [...pids.map(isAlive), existsSync(dir)]).toEqual([false, false, false]);
});

describe("a cluster with controllers and simulated nodes", () => {
  const cluster = useCluster({ controllers: true, kwok: { nodes: 2 } });

  it("runs a Deployment of three Pods", STARTS, async () => {
    await cluster().apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web", namespace: "shop" },
        spec: {
          replicas: 3,
          selector: { matchLabels: { app: "web" } },
          template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
        },
      },
    ]);
    const rollout = await cluster().kubectl(["-n", "shop", "rollout", "status", "deployment/web", "--timeout=300s"]);
    expect(rollout).toMatchObject({ code: 0 });
    const pods = await cluster().kubectl(["-n", "shop", "get", "pods", "-o", "jsonpath={.items[*].status.phase}"]);
    expect(pods.stdout).toBe("Running Running Running");
  });
});

function definition(kind: string) {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
}
