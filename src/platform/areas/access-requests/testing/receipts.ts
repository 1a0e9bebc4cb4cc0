import { type Receipt, receiptDigest } from "../../../../contract/access-requests/receipts.ts";
import { planHash } from "../../../../contract/operations/plan-hash.ts";

interface Asked {
  readonly id: string;
  readonly deploymentId: string;
  readonly title: string;
  readonly risk: string;
  readonly commands: readonly { readonly command: string; readonly params?: Readonly<Record<string, unknown>> }[];
}

/** The receipt of a request that was denied, as its cluster would write it, and its digest. */
export function deniedReceipt(
  { id, deploymentId, title, risk, commands }: Asked,
  more: Partial<Receipt> = {},
): { readonly requestId: string; readonly digest: string; readonly receipt: Receipt } {
  const at = "2026-01-01T10:00:00Z";
  const receipt: Receipt = {
    version: "v1",
    deploymentId,
    sequence: 1,
    previous: null,
    request: {
      id,
      title,
      risk,
      planHash: planHash({ requestId: id, deploymentId, risk, commands }),
      maxMinutes: 480,
      decideBefore: at,
      commands: commands.map(({ command, params = {} }) => ({ command, digest: receiptDigest({ command, params }) })),
    },
    grant: { uid: "1c9f3a52-8a4e-4f7e-9d0b-2f6f0c0c9f11", createdAt: at },
    decision: { outcome: "denied", by: "alice", nameFrom: "stamped", minutes: null, reason: "not today" },
    revocation: null,
    window: null,
    state: "Denied",
    endedAt: at,
    lines: [],
    ...more,
  };
  return { requestId: id, digest: receiptDigest(receipt), receipt };
}
