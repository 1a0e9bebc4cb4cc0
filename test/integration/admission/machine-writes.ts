import { execFileSync } from "node:child_process";
import { GRANTS } from "../../world/people.ts";
import { patch } from "./writes.ts";

// What attackers write about machines, and the objects that they write it about.

const API = "sallyport.dev/v1alpha1";
export const APPROVER = "ann@customer.example";
export const KEY = "a".repeat(64);
export const JOIN = `workers-${KEY.slice(0, 12)}`;
export const GONE = `workers-${"b".repeat(12)}`;
export const UID = "0badcafe-0000-4000-8000-000000000001";

export type Who = "join" | "machines" | "agent" | "operator" | "approver" | "onlooker" | "node" | "living";

export const ours = (kind: string, name: string, body: object, ...more: string[]): readonly string[] =>
  patch(kind, name, body, "-n", GRANTS, ...more);
export const status = (kind: string, name: string, body: object): readonly string[] =>
  ours(kind, name, { status: body }, "--subresource=status");

export const deleted = (digit: string): readonly string[] => [
  ...["delete", "mjoin", `workers-${digit.repeat(12)}`, "-n", GRANTS, "--dry-run=server"],
];

export const pool = {
  apiVersion: API,
  kind: "MachinePool",
  metadata: { name: "workers", namespace: GRANTS },
  spec: { deploymentId: "dep_1" },
};
export function join(key: string, nodeName: string, metadata: object = {}, said: object = {}): object {
  const facts = { os: "linux", arch: "amd64", ...said };
  const asked = { pool: "workers", machineId: nodeName, nodeName, publicKey: key, request: "TUlJQg==", facts };
  const name = `workers-${key.slice(0, 12)}`;
  return {
    apiVersion: API,
    kind: "MachineJoin",
    metadata: { name, namespace: GRANTS, ...metadata },
    spec: { ...asked, tokenId: "0123456789abcdef" },
  };
}
export const LEAVE = { deploymentId: "dep_1", machineId: "m-1", revision: 0, leaving: true };
export const WISH = { deploymentId: "dep_1", machineId: "m-1", revision: 1 };
export function drain(name: string, spec: object = {}, metadata: object = {}): object {
  const named = { name, namespace: GRANTS, ...metadata };
  return { apiVersion: API, kind: "MachineDrain", metadata: named, spec: { nodeName: "m-1", ...spec } };
}
export function node(name: string, spec: object = {}, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "Node", metadata: { name, ...metadata }, spec };
}
export function pod(namespace: string): object {
  const containers = [{ name: "main", image: "example.com/main:1" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "running", namespace },
    spec: { nodeName: "m-1", containers },
  };
}
export function evicts(deleteOptions?: object): object {
  const named = { name: "running", namespace: "shop" };
  return { apiVersion: "policy/v1", kind: "Eviction", metadata: named, ...(deleteOptions && { deleteOptions }) };
}
export function condition(type: string): object {
  return { type, status: "True", reason: "Granted", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
}

export function csr(name: string, spec: object = {}): object {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: {
      request: Buffer.from(REQUEST).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
      expirationSeconds: 86_400,
      ...spec,
    },
  };
}

const SUBJECT = "/O=system:nodes/CN=system:node:m-1";
const REQUEST = execFileSync(
  "openssl",
  [
    ...["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ...["-nodes", "-keyout", "/dev/null", "-subj", SUBJECT],
  ],
  { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
);
