import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { CLIENT_SIGNER, SERVING_SIGNER } from "../../crds/manifests/admission/machine-admission.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { judgeNodeRequest } from "../../kube/objects/node-request.ts";
import { judgeServingRequest } from "../../kube/objects/serving-request.ts";
import type { DrainNode } from "../drains/shapes.ts";
import { derOf } from "./certificates.ts";
import { foreignName } from "./serving.ts";
import { type CertificateSigningRequest, isApproved } from "./signing-requests.ts";

/** What a kubelet asks for when it renews the certificate with which it reaches the API server. */
const CLIENT_USAGES = ["client auth", "digital signature", "key encipherment"];
const SERVING_USAGES = ["server auth", "digital signature", "key encipherment"];
const NODE_USER = "system:node:";
/** Of a serving certificate, where the kubelet names an end; it names none by itself, and the signer decides. */
const MAX_SERVING_SECONDS = 7 * 86_400;
/** Between two tries while the customer has not given the right. */
const WITHOUT_RIGHT_MS = 600_000;

export interface RenewalPorts {
  readonly fence: () => void;
  readonly joins: () => Iterable<MachineJoin>;
  readonly pool: (name: string) => MachinePool | undefined;
  readonly node: (name: string) => DrainNode | undefined;
  readonly nodes: () => Iterable<DrainNode>;
  /** As this process reaches it: in a pod the address of its Service. */
  readonly apiServer: string;
  readonly request: (name: string) => CertificateSigningRequest | undefined;
  readonly approve: (
    request: CertificateSigningRequest,
    kind: "renewal" | "serving",
    signal: AbortSignal,
  ) => Promise<void>;
  readonly issued: (kind: "renewal" | "serving") => void;
  /** Why this process may approve none to serve, and undefined when it has approved one. */
  readonly servingObstacle: (words: string | undefined) => void;
}

/**
 * Approves what the node of a joined machine asks for itself: a new certificate for the API server, and, where its pool
 * says `serving: approve`, one to serve with. Clusters made by kubeadm approve the first by themselves; elsewhere it
 * would wait for ever, and the machine would be lost when its certificate runs out. The second is approved by no cluster.
 */
export async function reconcileRenewal(name: string, ports: RenewalPorts, context: ReconcileContext): Promise<Result> {
  const request = ports.request(name);
  if (request === undefined || isDecided(request)) return undefined;
  const join = joinedBy(request, ports.joins());
  if (join === undefined) return undefined;
  const { signerName } = request.spec;
  if (signerName === CLIENT_SIGNER && isRenewal(request, join)) await approve(request, "renewal", ports, context);
  if (signerName === SERVING_SIGNER) return reconcileServing(request, join, ports, context);
  return undefined;
}

async function reconcileServing(
  request: CertificateSigningRequest,
  { spec: { nodeName, pool: poolName } }: MachineJoin,
  ports: RenewalPorts,
  context: ReconcileContext,
): Promise<Result> {
  const pool = ports.pool(poolName);
  if (pool?.spec.serving !== "approve") return undefined;
  const refusal = servingRefusal(request, nodeName, pool, ports);
  if (refusal !== undefined) {
    context.log.warn({ node: nodeName, refusal }, "a kubelet's request to serve is not approved");
    return undefined;
  }
  try {
    await approve(request, "serving", ports, context);
    ports.servingObstacle(undefined);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError && error.isForbidden)) throw error;
    const refusal = "the machine controller may not: the chart's value machines.signServing gives it the right";
    ports.servingObstacle(refusal);
    context.log.warn({ node: nodeName, refusal }, "a kubelet's request to serve is not approved");
    return { requeueAfterMs: WITHOUT_RIGHT_MS };
  }
}

/** Names of requests that the node of this name made, and that wait. */
export function waitingRequestsOf(nodeName: string, requests: Iterable<CertificateSigningRequest>): readonly string[] {
  const ofNode = [...requests].filter((each) => each.spec.username === NODE_USER + nodeName && !isDecided(each));
  return ofNode.map(({ metadata }) => metadata.name);
}

async function approve(
  request: CertificateSigningRequest,
  kind: "renewal" | "serving",
  ports: RenewalPorts,
  context: ReconcileContext,
): Promise<void> {
  ports.fence();
  await ports.approve(request, kind, context.signal);
  context.log.info({ node: request.spec.username.slice(NODE_USER.length), kind }, "a node's certificate was approved");
  ports.issued(kind);
}

function isDecided(request: CertificateSigningRequest): boolean {
  const isRefused = request.status?.conditions?.some(({ type }) => type === "Denied" || type === "Failed");
  return isApproved(request) || isRefused === true;
}

/** The joined machine whose node made the request. */
function joinedBy(
  { spec: { username, groups = [] } }: CertificateSigningRequest,
  joins: Iterable<MachineJoin>,
): MachineJoin | undefined {
  if (!username.startsWith(NODE_USER) || !groups.includes("system:nodes")) return undefined;
  const nodeName = username.slice(NODE_USER.length);
  return [...joins].find(({ spec, status }) => spec.nodeName === nodeName && status?.state === "Joined");
}

/** The admission policy of the machine controller holds it to the same, but for what stands in the request itself. */
function isRenewal({ spec: { usages = [], request } }: CertificateSigningRequest, { spec }: MachineJoin): boolean {
  if (!usages.includes("client auth") || !usages.every((usage) => CLIENT_USAGES.includes(usage))) return false;
  const judged = judgeNodeRequest(derOf(request), spec.nodeName);
  return "request" in judged && judged.request.publicKey !== spec.publicKey;
}

function servingRefusal(
  { spec: { usages = [], request, expirationSeconds = 0 } }: CertificateSigningRequest,
  nodeName: string,
  pool: MachinePool,
  ports: Pick<RenewalPorts, "node" | "nodes" | "apiServer">,
): string | undefined {
  if (!usages.includes("server auth") || !usages.every((usage) => SERVING_USAGES.includes(usage))) {
    return "its usages are not those of a server";
  }
  if (expirationSeconds > MAX_SERVING_SECONDS) return "it asks for more than 7 days";
  const judged = judgeServingRequest(derOf(request), nodeName);
  if ("refused" in judged) return judged.refused;
  // With a certificate for one of these a machine could answer pods and kubelets in the API server's place.
  const { apiServer } = pool.spec;
  if (apiServer === undefined) {
    return `machinepool ${pool.metadata.name} has no spec.apiServer, which no machine may have as its own address`;
  }
  return foreignName(judged.request, ports.node(nodeName), ports.nodes(), [apiServer, ports.apiServer]);
}
