import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { CLIENT_SIGNER } from "../../crds/manifests/admission/machine-admission.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { judgeNodeRequest } from "../../kube/objects/node-request.ts";
import { derOf } from "./certificates.ts";
import { type CertificateSigningRequest, isApproved } from "./signing-requests.ts";

/** What a kubelet asks for when it renews the certificate with which it reaches the API server. */
const USAGES = ["client auth", "digital signature", "key encipherment"];
const NODE_USER = "system:node:";

/**
 * Whether a request is that of a joined machine's node, for itself, with a new key. Clusters made by kubeadm approve
 * these by themselves; elsewhere they would wait for ever, and the machine would be lost when its certificate runs out.
 * The admission policy of the machine controller holds it to the same.
 *
 * @param joins of all names
 */
function isRenewal({ spec, status }: CertificateSigningRequest, joins: Iterable<MachineJoin>): boolean {
  const { username, groups = [], usages = [], signerName } = spec;
  if (signerName !== CLIENT_SIGNER || status?.conditions?.some(({ type }) => type === "Denied" || type === "Failed")) {
    return false;
  }
  if (!username.startsWith(NODE_USER) || !groups.includes("system:nodes")) return false;
  if (!usages.includes("client auth") || !usages.every((usage) => USAGES.includes(usage))) return false;
  const nodeName = username.slice(NODE_USER.length);
  const join = [...joins].find(
    ({ spec: asked, status: now }) => asked.nodeName === nodeName && now?.state === "Joined",
  );
  if (join === undefined) return false;
  const judged = judgeNodeRequest(derOf(spec.request), nodeName);
  return "request" in judged && judged.request.publicKey !== join.spec.publicKey;
}

export interface RenewalPorts {
  readonly fence: () => void;
  readonly joins: () => Iterable<MachineJoin>;
  readonly request: (name: string) => CertificateSigningRequest | undefined;
  readonly approve: (request: CertificateSigningRequest, signal: AbortSignal) => Promise<void>;
  readonly renewed: () => void;
}

export async function reconcileRenewal(name: string, ports: RenewalPorts, context: ReconcileContext): Promise<Result> {
  const request = ports.request(name);
  if (request === undefined || isApproved(request) || !isRenewal(request, ports.joins())) return undefined;
  ports.fence();
  await ports.approve(request, context.signal);
  context.log.info(
    { node: request.spec.username.slice(NODE_USER.length) },
    "a node's renewed certificate was approved",
  );
  ports.renewed();
  return undefined;
}
