import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { REMOVED_LABEL } from "../../../src/crds/group.ts";
import { type MachineJoin, machineJoins } from "../../../src/crds/kinds/machine-join.ts";
import { type MachinePool, machinePools } from "../../../src/crds/kinds/machine-pool.ts";
import { MACHINE_APPROVER } from "../../../src/crds/manifests/roles/machine-roles.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { certificateSigningRequests } from "../../../src/machine-controller/joins/signing-requests.ts";
import { WITH_MACHINES } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { APPROVER, bound, GRANTS } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { DrainWorld } from "./drain-world.ts";
import { NODES_BINDING } from "./join-servers.ts";

// Real: the API server, its signer, the machine controller, kubectl. By hand: the join server's object, and the kubelet.

const cluster = useCluster({ controllers: true, holds: WITH_MACHINES });
let world: DrainWorld;
let controller: Running;

beforeAll(async () => {
  world = await DrainWorld.create(cluster());
  await cluster().apply([bound("approvers", GRANTS, MACHINE_APPROVER, APPROVER, "Role"), NODES_BINDING]);
  await pool("workers", {});
  controller = world.start();
}, 600_000);
afterAll(async () => {
  await controller?.stop();
  await world?.close();
});

async function pool(name: string, spec: object): Promise<void> {
  const whole = { deploymentId: `dep_${name}`, namePrefix: `${name}-`, ...spec };
  await cluster().apply([ours("MachinePool", name, whole)]);
}

interface Machine {
  readonly folder: string;
  readonly name: string;
}

function openssl(folder: string, ...args: readonly string[]): Buffer {
  return execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
}

/** A certificate request as a machine makes it, with a new key. */
function requested(nodeName: string, ...more: readonly string[]): { readonly folder: string; readonly der: Buffer } {
  const folder = mkdtempSync(path(tmpdir(), "machine-"));
  openssl(folder, ...["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem"]);
  const subject = ["-subj", `/O=system:nodes/CN=system:node:${nodeName}`, "-outform", "DER"];
  return { folder, der: openssl(folder, "req", "-new", "-key", "key.pem", ...subject, ...more) };
}

/** What the join server writes when the platform has taken the machine's token. */
async function ask(nodeName: string, poolName = "workers", ...more: readonly string[]): Promise<Machine> {
  const { folder, der } = requested(nodeName, ...more);
  const spki = openssl(folder, "pkey", "-in", "key.pem", "-pubout", "-outform", "DER");
  const publicKey = createHash("sha256").update(spki).digest("hex");
  const name = `${poolName}-${publicKey.slice(0, 12)}`;
  const spec = { pool: poolName, machineId: nodeName, nodeName, publicKey, request: der.toString("base64") };
  const facts = { address: "10.0.0.7" };
  await cluster().apply([ours("MachineJoin", name, { ...spec, facts, tokenId: "0123456789abcdef" })]);
  return { folder, name };
}

function came(machine: Machine, state: string): Promise<MachineJoin> {
  const key = { namespace: GRANTS, name: machine.name };
  return eventually(
    () => world.admin.get<MachineJoin>(machineJoins, key, signal()),
    (join) => join?.status?.state === state,
  ) as Promise<MachineJoin>;
}

const reason = ({ status }: MachineJoin): string | undefined =>
  status?.conditions?.find((each) => each.status === "False")?.reason;

async function kubectl(line: string, user = APPROVER): Promise<void> {
  const args = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  const { code, stderr } = await cluster().kubectl(args.slice(1), { kubeconfig: cluster().kubeconfigFor({ user }) });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}

async function registers(nodeName: string, address?: string): Promise<string> {
  const names = [
    { type: "Hostname", address: nodeName },
    { type: "InternalIP", address },
  ];
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "" };
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } };
  await cluster().apply([node]);
  const status = { conditions: [ready], ...(address !== undefined && { addresses: names }) };
  const patch = { type: "merge", body: { status } } as const;
  const stored = await world.admin.patch(
    resources.nodes,
    { name: nodeName },
    patch,
    { subresource: "status" },
    signal(),
  );
  return stored.metadata.uid;
}

test("a person lets a machine in with the line of its own status; the cluster signs; its living node makes it joined", async () => {
  const machine = await ask("workers-1");
  const waiting = await came(machine, "Waiting");
  await kubectl(waiting.status?.approvalLine ?? "");
  const issued = await came(machine, "Issued");
  expect(issued.spec.approvedBy).toBe(APPROVER);
  const certificate = new X509Certificate(issued.status?.certificate ?? "");
  expect(certificate.subject).toBe("O=system:nodes\nCN=system:node:workers-1");
  const hours = (new Date(certificate.validTo).getTime() - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(23);
  expect(hours).toBeLessThan(24.2);
  const nodeUid = await registers("workers-1");
  expect((await came(machine, "Joined")).status).toMatchObject({ nodeUid });
  const key = { namespace: GRANTS, name: "workers" };
  const counted = await eventually(
    () => world.admin.get<MachinePool>(machinePools, key, signal()),
    (found) => found?.status?.joined === 1,
  );
  expect(counted?.status?.conditions?.find(({ type }) => type === "SignerWorks")).toMatchObject({ status: "True" });
});

const CLIENT = {
  signerName: "kubernetes.io/kube-apiserver-client-kubelet",
  usages: ["digital signature", "client auth"],
};
const SERVING = { signerName: "kubernetes.io/kubelet-serving", usages: ["digital signature", "server auth"] };
const named = (names: string): readonly string[] => ["-addext", `subjectAltName=${names}`];

/** What the kubelet of `by` asks for, under the name of the node `of`. */
async function kubeletAsks(
  name: string,
  by: string,
  of: string,
  spec: object,
  ...more: readonly string[]
): Promise<void> {
  const body = requested(of, ...more)
    .der.toString("base64")
    .match(/.{1,64}/g)
    ?.join("\n");
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`;
  const object = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: { request: Buffer.from(pem).toString("base64"), ...spec },
  };
  const kubeconfig = cluster().kubeconfigFor({ user: `system:node:${by}`, groups: ["system:nodes"] });
  const { code, stderr } = await cluster().kubectl(["create", "-f", "-"], {
    kubeconfig,
    stdin: JSON.stringify(object),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}

interface RequestStatus {
  readonly certificate?: string;
  readonly conditions?: unknown;
}
const requestStatus = async (name: string): Promise<RequestStatus | undefined> =>
  (await world.admin.get(certificateSigningRequests, { name }, signal()))?.status as RequestStatus | undefined;
const signed = (name: string): Promise<RequestStatus | undefined> =>
  eventually(
    () => requestStatus(name),
    (found) => found?.certificate !== undefined,
  );

test("a joined machine's own renewal is approved, and that of another name is not", async () => {
  await kubeletAsks("foreign", "workers-1", "workers-2", CLIENT);
  await kubeletAsks("own", "workers-1", "workers-1", CLIENT);
  expect(JSON.stringify(await signed("own"))).toContain("SallyportMachineApproved");
  expect((await requestStatus("foreign"))?.conditions).toBeUndefined();
});

test("where the pool says so, a kubelet gets a certificate to serve with, under its node's names alone", async () => {
  await pool("served", { approval: "automatic", serving: "approve", apiServer: "https://10.0.9.1:6443" });
  await registers("other", "10.0.9.8");
  const machine = await ask("served-1", "served");
  await came(machine, "Issued");
  // As the kubelet does: it asks as soon as its node is there, which is before its machine is Joined.
  const asks = (name: string, names: string, spec: object = SERVING, node = "served-1"): Promise<void> =>
    kubeletAsks(name, node, node, spec, ...named(names));
  await asks("early", "DNS:served-1,IP:10.0.9.7");
  await registers("served-1", "10.0.9.7");
  const { certificate = "" } = (await signed("early")) ?? {};
  const { subjectAltName, keyUsage } = new X509Certificate(Buffer.from(certificate, "base64"));
  expect({ subjectAltName, keyUsage }).toEqual({
    subjectAltName: "DNS:served-1, IP Address:10.0.9.7",
    keyUsage: ["1.3.6.1.5.5.7.3.1"],
  });
  await came(machine, "Joined");
  await asks("of-another", "IP:10.0.9.8");
  await asks("of-the-api-server", "DNS:served-1,DNS:kubernetes.default.svc");
  await asks("for-a-year", "DNS:served-1", { ...SERVING, expirationSeconds: 31_536_000 });
  await kubeletAsks("without-names", "served-1", "served-1", SERVING);
  await asks("of-a-pool-that-does-not", "DNS:workers-1", SERVING, "workers-1");
  await asks("again", "DNS:served-1", { ...SERVING, expirationSeconds: 86_400 });
  await signed("again");
  const served = await world.admin.get<MachinePool>(machinePools, { namespace: GRANTS, name: "served" }, signal());
  expect(served?.status?.conditions?.find(({ type }) => type === "ServingApproved")).toMatchObject({ status: "True" });
  const refused = ["of-another", "of-the-api-server", "for-a-year", "without-names", "of-a-pool-that-does-not"];
  expect(await Promise.all(refused.map(async (name) => (await requestStatus(name))?.conditions))).toEqual(
    refused.map(() => undefined),
  );
});

test.each([
  ["another name (SAN)", "workers-3", ["-addext", "subjectAltName=DNS:kubernetes.default"], "BadRequest"],
  ["a name that is not the pool's", "control-plane-1", [], "NameNotAllowed"],
  ["the name of a living node", "workers-1", [], "NameTaken"],
])("a machine is denied that asks for %s", async (_, nodeName, more, why) => {
  const denied = await came(await ask(nodeName, "workers", ...more), "Denied");
  expect(reason(denied)).toBe(why);
  // As it does itself a week later.
  await world.machines.delete(machineJoins, { namespace: GRANTS, name: denied.metadata.name }, {}, signal());
});

test("eight machines race for three places of a pool that lets in by itself", async () => {
  await pool("fast", { approval: "automatic", maxMachines: 3 });
  const machines = await Promise.all(Array.from({ length: 8 }, (_, index) => ask(`fast-${index}`, "fast")));
  const states = await eventually(
    () =>
      Promise.all(
        machines.map(({ name }) => world.admin.get<MachineJoin>(machineJoins, { namespace: GRANTS, name }, signal())),
      ),
    (found) => found.every((join) => ["Issued", "Denied"].includes(join?.status?.state ?? "")),
  );
  expect(states.filter((join) => join?.status?.state === "Issued")).toHaveLength(3);
  expect(states.filter((join) => join !== undefined && reason(join) === "PoolFull")).toHaveLength(5);
});

test("a person refuses a machine, and it stays refused", async () => {
  const machine = await ask("workers-9");
  await came(machine, "Waiting");
  await kubectl(
    `kubectl patch mjoin ${machine.name} -n ${GRANTS} --type=merge -p '{"spec":{"deniedReason":"not ours"}}'`,
  );
  const denied = await came(machine, "Denied");
  expect(reason(denied)).toBe("DeniedByPerson");
  const key = { namespace: GRANTS, name: machine.name };
  await expect(world.machines.delete(machineJoins, key, {}, signal())).rejects.toThrow("denied by a rule");
});

test("a removed machine's node is refused with the certificate that it still has", async () => {
  const machine = await ask("workers-8");
  await kubectl((await came(machine, "Waiting")).status?.approvalLine ?? "");
  await came(machine, "Issued");
  await registers("workers-8");
  await came(machine, "Joined");
  await world.drain({ nodeName: "workers-8" });
  const label = { metadata: { labels: { [REMOVED_LABEL]: "true" } } };
  const key = { namespace: GRANTS, name: machine.name };
  await world.machines.patch(machineJoins, key, { type: "merge", body: label }, {}, signal());
  const kubeconfig = cluster().kubeconfigFor({ user: "system:node:workers-8", groups: ["system:nodes"] });
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "workers-8-again" } };
  const refused = await eventually(
    () => cluster().kubectl(["create", "--dry-run=server", "-f", "-"], { kubeconfig, stdin: JSON.stringify(node) }),
    ({ stderr }) => stderr.includes("removed"),
  );
  expect(refused.stderr).toContain("this machine was removed from the cluster");
});
