import type { MachineJoin, MachineJoinState } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { judgeNodeRequest } from "../../kube/objects/node-request.ts";
import { certificateOf, derOf } from "./certificates.ts";

/** An unanswered join ends after it; so does one whose certificate was never used. */
export const WAITING_MS = 24 * 3_600_000;
/** How long the cluster's signer may take. */
const SIGNING_MS = 120_000;

/** What is known of the certificate request that was made for a join. */
export interface SigningRequest {
  /** Base64 of PEM, as the API server has it. */
  readonly request: string;
  readonly username: string;
  readonly isApproved: boolean;
  readonly createdAt: string;
  /** PEM. */
  readonly certificate?: string;
  /** The message of the condition Failed or Denied. */
  readonly failed?: string;
}

export interface JoinFacts {
  readonly join: MachineJoin;
  /** The pool that the join names; undefined: there is none. */
  readonly pool: MachinePool | undefined;
  /** An older pool of the same deployment acts in its place. */
  readonly isSuperseded: boolean;
  /** Places of the pool that are taken, without this join. */
  readonly taken: number;
  /** Another join has the name: it lives, or its machine was removed. */
  readonly rival: MachineJoin | undefined;
  /** The node of that name. */
  readonly node: { readonly uid: string; readonly isAlive: boolean } | undefined;
  readonly signing: SigningRequest | undefined;
  /** Username of the machine controller itself, which makes the certificate requests. */
  readonly self: string;
  readonly now: Date;
}

export type DenialReason =
  | "DeniedByPerson"
  | "BadRequest"
  | "PoolGone"
  | "PoolClosed"
  | "PoolFull"
  | "NameNotAllowed"
  | "NameTaken"
  | "RequestTaken"
  | "SignerFailed"
  | "SignerSilent";

/** The one next step of a join. Pure: the reconciler carries it out, and asks again. */
export type JoinStep =
  | {
      readonly do: "wait";
      readonly state: MachineJoinState;
      /** Else the usual one of the state. */
      readonly reason?: "PoolFull";
      readonly message: string;
      readonly lookAgainMs?: number;
    }
  | { readonly do: "deny"; readonly reason: DenialReason; readonly message: string }
  | { readonly do: "expire"; readonly reason: "Expired" | "DeniedByPerson"; readonly message: string }
  | { readonly do: "approve" }
  | { readonly do: "create-request" }
  | { readonly do: "approve-request" }
  | { readonly do: "issue"; readonly certificate: string; readonly notAfter: Date }
  | { readonly do: "joined"; readonly nodeUid: string }
  | { readonly do: "nothing" };

const FINAL: readonly MachineJoinState[] = ["Denied", "Expired", "Removed"];

/** Whether the join holds a place of its pool, and its name. */
export function holdsPlace({ status }: MachineJoin): boolean {
  return ["Approved", "Signing", "Issued", "Joined"].includes(status?.state ?? "Waiting");
}

/**
 * Whether its machine is over, and was given a certificate of its name. It may have renewed it since: kubeadm's clusters
 * sign that by themselves, also before there is a node. Another machine of this name would share its identity.
 */
export function isRefused({ status }: MachineJoin): boolean {
  return status?.state === "Removed" || (status?.state === "Expired" && status.certificate !== undefined);
}

/** Whether nothing more happens to it. */
export function isOver({ status }: MachineJoin): boolean {
  return status?.state === "Joined" || FINAL.includes(status?.state ?? "Waiting");
}

/** Name of the certificate request of a join. */
export function requestName({ metadata }: MachineJoin): string {
  return `sp-${metadata.uid.replaceAll("-", "").slice(0, 12)}`;
}

export function decideJoin(facts: JoinFacts): JoinStep {
  const { join } = facts;
  const state = join.status?.state ?? "Waiting";
  if (isOver(join)) return { do: "nothing" };
  if (state === "Issued") return decideIssued(facts);
  if (join.spec.deniedReason !== undefined) {
    return { do: "deny", reason: "DeniedByPerson", message: join.spec.deniedReason };
  }
  if (state === "Signing") return decideSigning(facts);
  const late = ageMs(join.metadata.creationTimestamp, facts.now) >= WAITING_MS;
  if (late) return expired("it was not let in within 24 hours; run the join again with a new key");
  const denial = denialOf(facts);
  if (denial !== undefined) return { do: "deny", ...denial };
  return state === "Approved" ? decideApproved(facts) : decideWaiting(facts);
}

function expired(message: string): JoinStep {
  return { do: "expire", reason: "Expired", message };
}

interface Denial {
  readonly reason: DenialReason;
  readonly message: string;
}

/** What no approval makes good. */
function denialOf({ join, pool, isSuperseded, rival, node, now }: JoinFacts): Denial | undefined {
  const { nodeName, publicKey, request } = join.spec;
  if (pool === undefined || isSuperseded) {
    return { reason: "PoolGone", message: `there is no acting MachinePool ${join.spec.pool}` };
  }
  const { namePrefix = "m-", until } = pool.spec;
  if (until !== undefined && new Date(until) <= now) {
    return { reason: "PoolClosed", message: `the pool takes no machines since ${until}` };
  }
  if (!nodeName.startsWith(namePrefix)) {
    return { reason: "NameNotAllowed", message: `names of this pool begin with ${namePrefix}` };
  }
  const judged = judgeNodeRequest(Buffer.from(request, "base64"), nodeName);
  if ("refused" in judged) return { reason: "BadRequest", message: judged.refused };
  if (judged.request.publicKey !== publicKey) {
    return { reason: "BadRequest", message: "publicKey is not the hash of the key in the certificate request" };
  }
  if (rival !== undefined && isRefused(rival)) {
    const message = `a machine of this name had a certificate and is out; delete mjoin/${rival.metadata.name} to let one of this name in again`;
    return { reason: "NameTaken", message };
  }
  if (rival !== undefined) return { reason: "NameTaken", message: `mjoin/${rival.metadata.name} has this name` };
  if (node !== undefined) return { reason: "NameTaken", message: `the cluster has a node ${nodeName}` };
  return undefined;
}

function decideWaiting({ join, pool, taken, now }: JoinFacts): JoinStep {
  const isLetIn = join.spec.approved === true || pool?.spec.approval === "automatic";
  const lookAgainMs = WAITING_MS - ageMs(join.metadata.creationTimestamp, now);
  if (!isLetIn) {
    const message = "compare its key with the one that the machine shows, and let it in or refuse it";
    return { do: "wait", state: "Waiting", message, lookAgainMs };
  }
  const places = pool?.spec.maxMachines ?? 10;
  if (taken < places) return { do: "approve" };
  const message = `the pool has ${places} machines; raise maxMachines or remove one`;
  if (join.spec.approved !== true) return { do: "deny", reason: "PoolFull", message };
  return { do: "wait", state: "Waiting", reason: "PoolFull", message, lookAgainMs };
}

function decideApproved({ join, signing, self }: JoinFacts): JoinStep {
  if (signing === undefined) return { do: "create-request" };
  const isOurs = signing.username === self && derOf(signing.request).equals(Buffer.from(join.spec.request, "base64"));
  if (!isOurs) {
    const message = `certificatesigningrequest/${requestName(join)} is another one's; delete it and run the join again with a new key`;
    return { do: "deny", reason: "RequestTaken", message };
  }
  return { do: "approve-request" };
}

function decideSigning({ join, signing, self, now }: JoinFacts): JoinStep {
  const name = requestName(join);
  if (signing === undefined) {
    const message = `certificatesigningrequest/${name} is gone before it was signed`;
    return { do: "deny", reason: "SignerFailed", message };
  }
  if (signing.username !== self) {
    return { do: "deny", reason: "RequestTaken", message: `certificatesigningrequest/${name} is another one's` };
  }
  if (signing.failed !== undefined) return { do: "deny", reason: "SignerFailed", message: signing.failed };
  if (!signing.isApproved) return { do: "approve-request" };
  if (signing.certificate !== undefined) {
    const certificate = certificateOf(signing.certificate);
    if (certificate?.publicKey !== join.spec.publicKey) {
      const message = "the signer's certificate is not for the machine's key";
      return { do: "deny", reason: "SignerFailed", message };
    }
    return { do: "issue", certificate: signing.certificate, notAfter: certificate.notAfter };
  }
  const waited = ageMs(signing.createdAt, now);
  if (waited < SIGNING_MS) {
    const message = "the cluster's signer has not answered yet";
    return { do: "wait", state: "Signing", message, lookAgainMs: SIGNING_MS - waited };
  }
  const message =
    "the cluster's signer has not signed within 120 s; some managed clusters sign no certificates of nodes for " +
    "kubernetes.io/kube-apiserver-client-kubelet";
  return { do: "deny", reason: "SignerSilent", message };
}

function decideIssued({ join, node, now }: JoinFacts): JoinStep {
  // It has a certificate by now: it is kept out as one whose certificate ran out.
  const { deniedReason } = join.spec;
  if (deniedReason !== undefined) return { do: "expire", reason: "DeniedByPerson", message: deniedReason };
  if (node?.isAlive === true) return { do: "joined", nodeUid: node.uid };
  const notAfter = join.status?.notAfter;
  const left = notAfter === undefined ? WAITING_MS : new Date(notAfter).getTime() - now.getTime();
  // A node that is not Ready yet keeps its name and its place.
  if (left <= 0 && node === undefined) {
    return expired("the machine's certificate ran out before its node appeared");
  }
  const message = node === undefined ? "the machine starts its kubelet" : "the node is not Ready yet";
  return { do: "wait", state: "Issued", message, ...(left > 0 && { lookAgainMs: left }) };
}

function ageMs(since: string, now: Date): number {
  return now.getTime() - new Date(since).getTime();
}
