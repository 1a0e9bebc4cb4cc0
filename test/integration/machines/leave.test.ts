import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join as path } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CertificateAuthority, type KeyAndCertificate } from "../../../lab/cluster/certificates.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { MACHINES_ACCOUNT } from "../../../src/crds/group.ts";
import { type MachineDrain, machineDrains } from "../../../src/crds/kinds/machine-drain.ts";
import { type MachineJoin, machineJoins } from "../../../src/crds/kinds/machine-join.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { Box } from "../../../src/join/testing/box.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect } from "../../../src/kube/client/connection.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { ours } from "../../world/objects.ts";
import { GRANTS, SYSTEM } from "../../world/people.ts";
import { type Running, startMachineController } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { JoinServers, joinStringOf, offerMachines } from "./join-servers.ts";

// Real: platform, API server with Node authorizer and NodeRestriction, signer, join server, machine controller, operator, both
// scripts. By hand: the kubelet, with the certificate that the machine got.

const cluster = useCluster({ controllers: true, nodeAuthorizer: true });
const NODE = "m-1";
const SCRIPTS = path(import.meta.dirname, "../../../deploy/join");

let world: AgentWorld;
let operator: Running;
let servers: JoinServers;
let port = 0;
let box: Box;
/** As the box's kubelet has it. */
let kubelet = "";
let connection: Connection;
const scripts: ChildProcess[] = [];
let controller: Running;

beforeAll(async () => {
  world = await createAgentWorld(cluster(), { more: openMachines() });
  await cluster().apply([
    ours("MachinePool", "workers", {
      ...{ deploymentId: world.deploymentId, apiServer: cluster().server, approval: "automatic" },
    }),
    { apiVersion: "v1", kind: "Node", metadata: { name: "other" } },
  ]);
  const { deploymentId } = world;
  const deployment = ours("ManagedDeployment", deploymentId, { deploymentId, name: "shop" });
  const asAgent = { kubeconfig: world.agentEnv.SALLYPORT_KUBECONFIG ?? "", stdin: JSON.stringify(deployment) };
  expect(await cluster().kubectl(["create", "-f", "-"], asAgent)).toMatchObject({ code: 0 });
  operator = world.startOperator({ SALLYPORT_OPERATOR_MACHINES_ENABLED: "true" });
  controller = startMachineController({
    SALLYPORT_KUBECONFIG: await cluster().kubeconfigForServiceAccount(SYSTEM, MACHINES_ACCOUNT),
    SALLYPORT_IDENTITY: "machines",
    SALLYPORT_MACHINES_POLICY_CHECK_INTERVAL: "1s",
  });
  await offerMachines(world, world.deploymentId);
  servers = await JoinServers.start(world, 1, { SALLYPORT_JOIN_LEAVE: "true" });
  port = servers.ports[0] ?? 0;
  box = await joined(await joinStringOf(world));
}, 300_000);

afterAll(async () => {
  for (const script of scripts) script.kill("SIGKILL");
  await controller?.stop();
  await operator?.stop();
  await servers?.stop();
  await connection?.close();
  box?.close();
  await world?.close();
});

function run(of: Box, script: string, ...args: readonly string[]) {
  const env = {
    ...{ PATH: `${of.bin}:${process.env.PATH}`, SALLYPORT_JOIN_ROOT: of.root },
    ...{ SALLYPORT_JOIN_LONGEST_PAUSE: "1", SALLYPORT_JOIN_RETRY_SECONDS: "0" },
  };
  const child = spawn("sh", [path(SCRIPTS, script), ...args], { env });
  scripts.push(child);
  const out: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => out.push(chunk));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { ended, said: () => Buffer.concat(out).toString() };
}

/** A machine whose node is Ready and whose MachineJoin is Joined. */
async function joined(joinString: string): Promise<Box> {
  const made = new Box();
  made.write("join", joinString, 0o600);
  const { ended, said } = run(made, "script.sh", "--token-file", made.tokenFile, "--node-name", NODE);
  await eventually(
    async () => made.has("etc/kubernetes/kubelet.conf"),
    (has) => has,
  );
  made.write(
    "kubelet.conf",
    made
      .read("etc/kubernetes/kubelet.conf")
      .replaceAll(/(?<=: )(?=\/)/g, made.root)
      .replaceAll(/"(?=\/var)/g, `"${made.root}`),
    0o600,
  );
  kubelet = path(made.root, "kubelet.conf");
  const ready = { conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }] };
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: NODE } };
  expect(await asKubelet(["create", "-f", "-"], node)).toMatchObject({ code: 0 });
  connection = await connect({ kubeconfig: kubelet });
  await says(NODE, ready);
  expect([await ended, said()]).toEqual([0, expect.stringContaining("/v1/leave-script")]);
  await eventually(theJoin, (join) => join?.status?.state === "Joined");
  return made;
}

/** kubectl would read the status first, which no kubelet may. */
const says = (node: string, status: object) =>
  new Client(connection).patch(
    resources.nodes,
    { name: node },
    { type: "merge", body: { status } },
    { subresource: "status" },
    signal(),
  );
const asKubelet = (args: readonly string[], stdin?: object) =>
  cluster().kubectl(args, { kubeconfig: kubelet, ...(stdin && { stdin: JSON.stringify(stdin) }) });

async function theJoin(): Promise<MachineJoin | undefined> {
  for await (const each of world.admin.list<MachineJoin>(machineJoins, { namespace: GRANTS }, signal())) return each;
  return undefined;
}
async function drains(): Promise<MachineDrain[]> {
  const found: MachineDrain[] = [];
  for await (const each of world.admin.list<MachineDrain>(machineDrains, { namespace: GRANTS }, signal()))
    found.push(each);
  return found;
}

function leave(shown: KeyAndCertificate | undefined, node = NODE): Promise<string> {
  const client = shown && { cert: shown.certificate, key: shown.key };
  const wire = { host: "127.0.0.1", port, method: "POST", path: `/v1/leave/${node}`, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const asked = request({ ...wire, agent: false as const, ...client }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => {
        const { code } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly code?: string };
        resolve(`${response.statusCode} ${code}`);
      });
    });
    asked.on("error", reject).end();
  });
}
const nodeKey = (name: string, now?: Date): KeyAndCertificate =>
  cluster().clientCertificate({ user: `system:node:${name}`, groups: ["system:nodes"] }, now);

describe("a joined machine's real certificate", () => {
  const NEW = { apiVersion: "v1", kind: "Node", metadata: { name: "m-2" } };
  test.each<readonly [string, readonly string[]]>([
    ["another Node", ["get", "node", "other"]],
    ["a new Node", ["create", "-f", "-"]],
    ["Secrets", ["get", "secrets", "-A"]],
    ["the join server's key", ["get", "secret", "sallyport-join-tls", "-n", SYSTEM]],
    ["all pods", ["get", "pods", "-A"]],
    ["MachineJoins", ["get", "machinejoins", "-n", GRANTS]],
    ["its own label of a control plane", ["label", "node", NODE, "node-role.kubernetes.io/control-plane="]],
  ])("does not reach %s", async (_, args) => {
    const { code, stderr } = await asKubelet(args, NEW);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/\(Forbidden\)|is forbidden/) });
  });

  test("does not speak for another Node", async () => {
    await expect(says("other", { phase: "Running" })).rejects.toThrow(/forbidden/i);
  });

  test.each([[["get", "node", NODE]], [["get", "pods", "-A", "--field-selector", `spec.nodeName=${NODE}`]]])(
    "reaches its own: %j",
    async (args) => {
      expect(await asKubelet(args)).toMatchObject({ code: 0 });
    },
  );
});

describe("leaving is refused", () => {
  test("without a certificate, with another node's, another authority's, one that has run out, and a person's", async () => {
    const old = new Date(Date.now() - 31 * 86_400_000);
    const foreign = new CertificateAuthority("sallyport test cluster");
    const stranger = foreign.issue({ commonName: `system:node:${NODE}`, organizations: ["system:nodes"] });
    expect(await leave(undefined)).toBe("401 NO_NODE_CERTIFICATE");
    expect(await leave(nodeKey("other"))).toBe("403 NOT_YOUR_NODE");
    expect(await leave(nodeKey("other"), "other")).toBe("403 NOT_JOINED");
    expect(await leave(stranger)).toBe("401 NO_NODE_CERTIFICATE");
    expect(await leave(nodeKey(NODE, old))).toBe("401 NO_NODE_CERTIFICATE");
    expect(await leave(cluster().clientCertificate({ user: `system:node:${NODE}` }))).toBe("401 NO_NODE_CERTIFICATE");
    expect(await drains()).toEqual([]);
  });
});

test("a machine leaves with its own certificate once the customer's policy lets it, and is refused after its removal", async () => {
  const { ended, said } = run(box, "leave.sh", "--deadline", "5");
  await eventually(
    async () => said(),
    (text) => text.includes("machines/drain needs an approved access grant with machineId m-1"),
  );
  const [drain] = await drains();
  expect(drain).toMatchObject({
    metadata: { name: "m-1-leave-0" },
    spec: { nodeName: NODE, requested: { deploymentId: world.deploymentId, machineId: NODE, leaving: true } },
    status: { state: "Waiting" },
  });
  // The strictest policy counts: the word is written into the one that is there.
  const rules = [{ pattern: "machines/drain", decision: "auto" }];
  const policy = { namespace: GRANTS, name: "default" };
  await world.admin.patch(operationPolicies, policy, { type: "merge", body: { spec: { rules } } }, {}, signal());
  expect([await ended, said()]).toEqual([0, expect.stringContaining("the node m-1 is empty")]);
  expect(box.read("systemctl.log")).toContain("disable --now kubelet.service");
  expect(await cluster().kubectl(["get", "node", NODE, "-o", "jsonpath={.spec.unschedulable}"])).toMatchObject({
    stdout: "true",
  });
  const key = { namespace: GRANTS, name: (await theJoin())?.metadata.name ?? "" };
  const removed = { type: "merge" as const, body: { status: { state: "Removed" } } };
  await world.admin.patch(machineJoins, key, removed, { subresource: "status" }, signal());
  const pem = readFileSync(path(box.root, "var/lib/kubelet/pki/kubelet-client-current.pem"), "utf8");
  await eventually(
    () => leave({ certificate: pem, key: pem }),
    (answer) => answer === "403 NOT_JOINED",
  );
  expect(await drains()).toHaveLength(1);
});
