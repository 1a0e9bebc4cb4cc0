import { createHash } from "node:crypto";
import Type, { type Static } from "typebox";
import { canonicalJson } from "../operations/plan-hash.ts";
import { DOCUMENT_BYTES, Nullable, Strict, Timestamp, Words } from "../wire/schema.ts";

const Digest = Type.String({ pattern: "^sha256:[0-9a-f]{64}$" });
const Count = Type.Integer({ minimum: 0, maximum: 43_200 });
/** Within the limits of the custom resource; what is written where is for people, who are shown it escaped. */
const text = (maxLength: number): Type.TString => Type.String({ maxLength });

/** Most bytes of a receipt as JSON. */
export const RECEIPT_BYTES = DOCUMENT_BYTES;

/**
 * What became of one grant, as the customer's cluster says it. The cluster makes it, and both sides keep the same bytes:
 * its RFC 8785 form. The operator has its own copy of this shape (src/crds/receipt.ts); tests hold the two together.
 */
export const Receipt = Strict({
  version: Words(["v1"]),
  deploymentId: text(128),
  sequence: Type.Integer({
    minimum: 1,
    maximum: 2_147_483_646,
    description: "Its number among the receipts of the deployment.",
  }),
  previous: Nullable(Digest),
  request: Strict({
    id: text(63),
    title: text(256),
    risk: text(32),
    planHash: Digest,
    maxMinutes: Count,
    decideBefore: Timestamp,
    commands: Type.Array(Strict({ command: text(128), digest: Digest }), { maxItems: 50 }),
  }),
  grant: Strict({ uid: text(64), createdAt: Timestamp }),
  decision: Strict({
    outcome: Words(["approved", "denied", "none"]),
    by: Nullable(text(512)),
    nameFrom: Nullable(Words(["stamped", "checked", "unchecked"])),
    minutes: Nullable(Count),
    reason: Nullable(text(1024)),
  }),
  revocation: Nullable(Strict({ by: Nullable(text(512)), reason: text(1024) })),
  window: Nullable(Strict({ from: Timestamp, until: Timestamp })),
  state: text(32),
  endedAt: Timestamp,
  lines: Type.Array(
    Strict({
      index: Type.Integer({ minimum: 0, maximum: 49 }),
      state: text(32),
      commandId: Nullable(text(63)),
      account: Nullable(text(63)),
      startedAt: Nullable(Timestamp),
      finishedAt: Nullable(Timestamp),
      resultDigest: Nullable(Digest),
    }),
    { maxItems: 50 },
  ),
});
export type Receipt = Static<typeof Receipt>;

/** As a file holds it, and as the platform serves it with more. */
export const ReceiptDocument = Strict({ digest: Digest, receipt: Receipt });

/** `sha256:` and 64 hex digits over the RFC 8785 form of any JSON. @throws Error on what JSON cannot carry unharmed */
export function receiptDigest(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonicalJson(value)).digest("hex")}`;
}

/**
 * In what a receipt does not fit what the platform knows of its own. `plan`: another plan under this id. `decision`: the
 * decision that was reported. `lines`: another command for a line, another end or result of it. `chain`: the receipt before
 * or after it, or another one with its number.
 */
export const RECEIPT_MISFITS = ["plan", "decision", "lines", "chain"] as const;

export const StoredReceipt = Strict({
  digest: Digest,
  receipt: Receipt,
  receivedAt: Timestamp,
  misfits: Type.Array(Words(RECEIPT_MISFITS), {
    description: "In what it does not fit what the platform knows. Empty: it fits.",
  }),
});
export type StoredReceipt = Static<typeof StoredReceipt>;
