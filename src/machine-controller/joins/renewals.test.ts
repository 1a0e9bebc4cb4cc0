import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { node } from "../testing/drain-fixtures.ts";
import { type RenewalPorts, reconcileRenewal, waitingRequestsOf } from "./renewals.ts";
import type { CertificateSigningRequest } from "./signing-requests.ts";

const CLIENT = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING = "kubernetes.io/kubelet-serving";
const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
const metadata = (name: string): MachineJoin["metadata"] => ({
  ...{ name, namespace: "sallyport-grants", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
});

function pem(...more: readonly string[]): string {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null"];
  const args = ["req", "-new", ...key, "-subj", "/O=system:nodes/CN=system:node:m-7", ...more];
  return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] }).toString("base64");
}
const plain = pem();
const named = pem("-addext", "subjectAltName=DNS:m-7,IP:10.0.0.7");

type Spec = CertificateSigningRequest["spec"];
const serving: Spec = {
  request: named,
  signerName: SERVING,
  username: "system:node:m-7",
  groups: ["system:nodes", "system:authenticated"],
  usages: ["digital signature", "server auth"],
};
const client: Spec = {
  ...{ ...serving, request: plain, signerName: CLIENT },
  usages: ["digital signature", "client auth"],
};

interface World {
  readonly spec: Spec;
  readonly status: CertificateSigningRequest["status"];
  readonly state: NonNullable<MachineJoin["status"]>["state"];
  readonly serving: "approve" | "selfSigned";
  readonly addresses: readonly string[];
  readonly apiServer: string | undefined;
  readonly refusedBy: ApiError | undefined;
}
const WORLD: World = {
  spec: serving,
  status: undefined,
  state: "Joined",
  serving: "approve",
  addresses: ["m-7", "10.0.0.7"],
  apiServer: "https://10.0.0.10:6443",
  refusedBy: undefined,
};

const kindOf = { apiVersion: "sallyport.dev/v1alpha1" };
const obstacles: (string | undefined)[] = [];
async function outcome(changed: Partial<World>): Promise<unknown> {
  const world = { ...WORLD, ...changed };
  const request: CertificateSigningRequest = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: metadata("csr-1"),
    spec: world.spec,
    ...(world.status && { status: world.status }),
  };
  const asked = {
    pool: "workers",
    machineId: "m-7",
    nodeName: "m-7",
    publicKey: "0".repeat(64),
    request: "",
    facts: {},
  };
  const join: MachineJoin = {
    ...{ ...kindOf, kind: "MachineJoin", metadata: metadata("workers-0") },
    ...{ spec: { ...asked, tokenId: "t" }, status: { ...(world.state && { state: world.state }) } },
  };
  const pool: MachinePool = {
    ...{ ...kindOf, kind: "MachinePool", metadata: metadata("workers") },
    spec: {
      ...{ deploymentId: "dep_1", serving: world.serving },
      ...(world.apiServer !== undefined && { apiServer: world.apiServer }),
    },
  };
  const own = node("m-7", { addresses: world.addresses.map((address) => ({ type: "InternalIP", address })) });
  const done: string[] = [];
  obstacles.length = 0;
  const ports: RenewalPorts = {
    fence: () => done.push("fence"),
    joins: () => [join],
    pool: (name) => (name === "workers" ? pool : undefined),
    node: (name) => (name === "m-7" ? own : undefined),
    nodes: () => [own],
    apiServer: "https://10.96.0.1:443",
    request: () => request,
    approve: async (_, kind) => {
      if (world.refusedBy !== undefined) throw world.refusedBy;
      done.push(kind);
    },
    issued: (kind) => done.push(`${kind} counted`),
    servingObstacle: (words) => obstacles.push(words),
  };
  const result = await reconcileRenewal("csr-1", ports, context);
  return result === undefined ? done.join() : result;
}

describe("a node's request for itself", () => {
  test.each<readonly [string, string, Partial<World>]>([
    ["to serve", "serving", {}],
    ["to serve, for a day", "serving", { spec: { ...serving, expirationSeconds: 86_400 } }],
    [
      "to serve, as an older kubelet asks",
      "serving",
      { spec: usages("server auth", "digital signature", "key encipherment") },
    ],
    ["to renew its own certificate", "renewal", { spec: client, serving: "selfSigned" }],
  ])("is approved: %s", async (_, kind, changed) => {
    expect(await outcome(changed)).toBe(`fence,${kind},${kind} counted`);
  });

  test.each<readonly [string, Partial<World>]>([
    ["the pool does not say so", { serving: "selfSigned" }],
    ["its machine has not joined yet", { state: "Issued" }],
    ["its machine was removed", { state: "Removed" }],
    ["it was approved", { status: { conditions: [{ type: "Approved", status: "True" }] } }],
    ["it was denied", { status: { conditions: [{ type: "Denied", status: "True" }] } }],
    ["another node asks", { spec: { ...serving, username: "system:node:m-8" } }],
    ["a person asks", { spec: { ...serving, username: "ann" } }],
    ["who asks is no node", { spec: { ...serving, groups: ["system:authenticated"] } }],
    ["it would also be a client", { spec: usages("server auth", "client auth") }],
    ["it would serve nothing", { spec: usages("digital signature") }],
    ["it is for longer than 7 days", { spec: { ...serving, expirationSeconds: 604_801 } }],
    ["it is for another signer", { spec: { ...serving, signerName: "example.com/signer" } }],
    ["it has no names", { spec: { ...serving, request: plain } }],
    ["the address is the API server's", { addresses: ["m-7", "10.0.0.7"], apiServer: "https://10.0.0.7:6443" }],
    ["the pool says no API server", { apiServer: undefined }],
    ["a name is not its node's", { addresses: ["m-7"] }],
    ["it renews under other names", { spec: { ...client, request: named } }],
  ])("is left alone where %s", async (_, changed) => expect(await outcome(changed)).toBe(""));

  test("waits where the customer has not given the right, and other errors are tried again at once", async () => {
    const forbidden = new ApiError("no", { status: 403, reason: "Forbidden" });
    expect(await outcome({ refusedBy: forbidden })).toEqual({ requeueAfterMs: 600_000 });
    expect(obstacles).toEqual([expect.stringContaining("machines.signServing")]);
    await outcome({});
    expect(obstacles).toEqual([undefined]);
    const conflict = new ApiError("it has moved on", { status: 409, reason: "Conflict" });
    await expect(outcome({ refusedBy: conflict })).rejects.toThrow("moved on");
  });
});

function usages(...all: readonly string[]): Spec {
  return { ...serving, usages: all };
}

test("of all requests those of one node wait that are not decided", () => {
  const one = (name: string, username: string, type?: string): CertificateSigningRequest => ({
    ...{ apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: metadata(name) },
    spec: { ...serving, username },
    ...(type !== undefined && { status: { conditions: [{ type, status: "True" }] } }),
  });
  const all = [one("a", "system:node:m-7"), one("b", "system:node:m-77"), one("c", "system:node:m-7", "Approved")];
  expect(waitingRequestsOf("m-7", all)).toEqual(["a"]);
});
