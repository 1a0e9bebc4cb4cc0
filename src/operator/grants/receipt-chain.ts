import { canonicalDigest } from "../../crds/canonical-digest.ts";
import type { AccessGrant, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import type { ManagedDeployment, ManagedDeploymentStatus } from "../../crds/kinds/managed-deployment.ts";
import { isSettled, receiptOf } from "../../crds/receipt.ts";
import { ApiError } from "../../kube/client/api-error.ts";

/** The last receipt of a deployment, in the status of its ManagedDeployment. */
export type ReceiptHead = NonNullable<ManagedDeploymentStatus["receipts"]>;

/** All the I/O of linking, as functions: a test passes ones that record or fail. Reads are of the API server itself. */
export interface ReceiptPorts {
  readonly liveDeployment: (deploymentId: string, signal: AbortSignal) => Promise<ManagedDeployment | undefined>;
  readonly liveGrant: (name: string, signal: AbortSignal) => Promise<AccessGrant | undefined>;
  /** From the cache: looked at only where a ManagedDeployment holds no head. */
  readonly grantsOf: (deploymentId: string) => readonly AccessGrant[];
  /** Both with the resourceVersion that was read. */
  readonly writeHead: (deployment: ManagedDeployment, head: ReceiptHead, signal: AbortSignal) => Promise<unknown>;
  readonly writeReceipt: (
    grant: AccessGrant,
    receipt: NonNullable<AccessGrantStatus["receipt"]>,
    signal: AbortSignal,
  ) => Promise<unknown>;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
}

/**
 * `again`: another write came in between. `no deployment`: the ManagedDeployment, which holds the chain, is not there; its
 * return brings the next look.
 */
export type Linked = "linked" | "again" | "no deployment";

/**
 * Puts the receipt of a settled grant at the end of its deployment's chain. The write of the head decides: the API server
 * lets one head follow another, also where two processes try. What the head names and a crash left unwritten is written first:
 * of a settled grant it is the same, whenever it is computed. So no two receipts follow the same one, and none is lost.
 */
export async function linkReceipt(grant: AccessGrant, ports: ReceiptPorts, signal: AbortSignal): Promise<Linked> {
  try {
    return await link(grant, ports, signal);
  } catch (error) {
    if (error instanceof ApiError && error.isConflict) return "again";
    throw error;
  }
}

async function link(grant: AccessGrant, ports: ReceiptPorts, signal: AbortSignal): Promise<Linked> {
  const { deploymentId } = grant.spec;
  const deployment = await ports.liveDeployment(deploymentId, signal);
  if (deployment === undefined) return "no deployment";
  const head = deployment.status?.receipts;
  if (head !== undefined) await writeUnwritten(head, ports, signal);
  if (head?.grantUid === grant.metadata.uid) return "linked";
  const current = await ports.liveGrant(grant.metadata.name, signal);
  const isSame = current?.metadata.uid === grant.metadata.uid;
  // Deleted since, or linked already and the cache does not know it yet.
  if (current === undefined || !isSame || !isSettled(current) || current.status?.receipt !== undefined) return "linked";
  const next = nextHead(current, head ?? lastOf(ports.grantsOf(deploymentId)));
  ports.fence();
  await ports.writeHead(deployment, next, signal);
  ports.fence();
  await ports.writeReceipt(current, receiptIn(next), signal);
  return "linked";
}

/**
 * Of a grant that was deleted in between there is nothing to write; its digest stays in the chain. The same of one that is not
 * over, which only a stolen account puts there: the API server refuses its receipt, and the chain would never go on.
 */
async function writeUnwritten(head: ReceiptHead, ports: ReceiptPorts, signal: AbortSignal): Promise<void> {
  const last = await ports.liveGrant(head.grant, signal);
  if (last?.metadata.uid !== head.grantUid || last.status?.receipt !== undefined || !isSettled(last)) return;
  ports.fence();
  await ports.writeReceipt(last, receiptIn(head), signal);
}

function nextHead(grant: AccessGrant, last: ReceiptLinkEnd | undefined): ReceiptHead {
  const place: Pick<ReceiptHead, "sequence" | "previous"> =
    last === undefined ? { sequence: 1 } : { sequence: last.sequence + 1, previous: last.digest };
  const { name, uid } = grant.metadata;
  return { ...place, digest: canonicalDigest(receiptOf(grant, place)), grant: name, grantUid: uid };
}

interface ReceiptLinkEnd {
  readonly sequence: number;
  readonly digest: string;
}

function receiptIn({ sequence, previous, digest }: ReceiptHead): NonNullable<AccessGrantStatus["receipt"]> {
  return { sequence, ...(previous !== undefined && { previous }), digest };
}

/** A ManagedDeployment that was deleted and is back holds no head: the chain goes on from what grants still show. */
function lastOf(grants: readonly AccessGrant[]): ReceiptLinkEnd | undefined {
  const receipts = grants.flatMap(({ status }) => (status?.receipt === undefined ? [] : [status.receipt]));
  return receipts.toSorted((one, other) => other.sequence - one.sequence)[0];
}
