import { Check } from "typebox/value";
import type { ReceiptReport } from "../../../contract/access-requests/access-relay.ts";
import type { Decision } from "../../../contract/access-requests/access-requests.ts";
import {
  RECEIPT_MISFITS,
  Receipt,
  receiptDigest,
  type StoredReceipt,
} from "../../../contract/access-requests/receipts.ts";
import { canonicalJson } from "../../../contract/operations/plan-hash.ts";
import type { Db } from "../../database/db.ts";
import type { AccessReceiptRow, AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { requireRequest } from "./gate.ts";
import { type Answer, eachReport, ignored, type RelayCall } from "./relay.ts";
import { commandsOf } from "./store.ts";

// A receipt is the cluster's word. The platform keeps it as it is, and says where its own word is another one.

type Misfit = (typeof RECEIPT_MISFITS)[number];

/** Keeps receipts as they were reported: the first one of a request stays. */
export function receipts(
  call: RelayCall,
  body: { deploymentId: string; receipts: readonly ReceiptReport[] },
): Promise<Answer> {
  return eachReport(
    call,
    body.deploymentId,
    body.receipts,
    ({ requestId }) => requestId,
    async (row, { digest, receipt }) => {
      if (!isReceiptOf(row, digest, receipt)) return ignored("VALIDATION_ERROR");
      const known = await findReceipt(call.db, row.id);
      if (known !== undefined) return known.digest === digest ? { outcome: "duplicate" } : ignored("CONFLICT");
      await insertReceipt(call.db, {
        access_request_id: row.id,
        deployment_id: row.deployment_id,
        sequence: receipt.sequence,
        digest,
        previous: receipt.previous,
        receipt: canonicalJson(receipt),
        received_at: call.now,
      });
      return { outcome: "recorded" };
    },
  );
}

function isReceiptOf(
  row: Pick<AccessRequestRow, "id" | "deployment_id">,
  digest: string,
  value: unknown,
): value is Receipt {
  // The shape first: it bounds what is hashed.
  if (!Check(Receipt, value)) return false;
  if (value.request.id !== row.id || value.deploymentId !== row.deployment_id) return false;
  try {
    return receiptDigest(value) === digest;
  } catch {
    // Text that JSON cannot carry unharmed.
    return false;
  }
}

/** @throws NOT_FOUND */
export async function receiptOf(
  call: Pick<Call, "db" | "principal" | "now">,
  requestId: string,
): Promise<StoredReceipt> {
  const row = await requireRequest(call, requestId);
  const stored = await findReceipt(call.db, row.id);
  if (stored === undefined) throw notFound("receipt");
  const commands = (await commandsOf(call.db, [row.id])).get(row.id) ?? [];
  const neighbours = await neighboursOf(call.db, stored);
  const receipt: Receipt = JSON.parse(stored.receipt);
  const misfits = misfitsOf(receipt, { row, commands, stored, neighbours });
  return { digest: stored.digest, receipt, receivedAt: stored.received_at.toISOString(), misfits: [...misfits] };
}

type ChainRow = Pick<AccessReceiptRow, "sequence" | "digest" | "previous">;

interface Known {
  readonly row: Pick<AccessRequestRow, "plan_hash" | "risk" | "title" | "commands" | "decisions">;
  readonly commands: readonly Pick<CommandRow, "id" | "plan_index" | "state" | "result">[];
  readonly stored: ChainRow;
  /** Other receipts of the deployment with its number, or one less, or one more. */
  readonly neighbours: readonly ChainRow[];
}

/** In what the receipt does not fit what the platform knows by now. Pure. */
export function misfitsOf(receipt: Receipt, { row, commands, stored, neighbours }: Known): readonly Misfit[] {
  const fits: Readonly<Record<Misfit, boolean>> = {
    plan: planFits(receipt, row),
    decision: decisionFits(receipt, row.decisions),
    lines: linesFit(receipt, commands),
    chain: neighbours.every((other) => follows(stored, other)),
  };
  return RECEIPT_MISFITS.filter((part) => !fits[part]);
}

function planFits({ request }: Receipt, row: Known["row"]): boolean {
  const isSame = request.planHash === row.plan_hash && request.risk === row.risk && request.title === row.title;
  if (!isSame || request.commands.length !== row.commands.length) return false;
  return row.commands.every(({ command, params = {} }, index) => {
    const said = request.commands[index];
    return said?.command === command && said.digest === receiptDigest({ command, params });
  });
}

/** An approval that was revoked before the platform knew of it was reported as a denial. */
function decisionFits({ decision, revocation, window }: Receipt, decisions: readonly Decision[]): boolean {
  const approval = decisions.find(({ outcome }) => outcome === "approved");
  const denial = decisions.find(({ outcome }) => outcome === "denied");
  if (decision.outcome === "denied") return approval === undefined && denial?.by === decision.by;
  if (approval === undefined) return window === null || (revocation !== null && denial !== undefined);
  const { approvedUntil } = approval;
  const isSameWindow =
    window !== null && approvedUntil !== null && Date.parse(window.until) === Date.parse(approvedUntil);
  return isSameWindow && approval.by === decision.by && (revocation !== null || !isRevoked(decisions));
}

function isRevoked(decisions: readonly Decision[]): boolean {
  return decisions.some(({ outcome }) => outcome === "revoked");
}

/** Commands that have not ended here yet say nothing against a receipt. */
function linesFit({ lines }: Receipt, commands: Known["commands"]): boolean {
  return commands.every(({ id, plan_index, state, result }) => {
    const line = lines.find(({ index }) => index === plan_index);
    if (line === undefined || (line.commandId !== null && line.commandId !== id)) return false;
    if (state !== "SUCCEEDED") return state !== "FAILED" || line.state !== "Succeeded";
    return line.state === "Succeeded" && (result === null || resultFits(result, line.resultDigest));
  });
}

function resultFits(result: string, digest: string | null): boolean {
  return digest === receiptDigest(JSON.parse(result));
}

function follows(own: ChainRow, other: ChainRow): boolean {
  if (other.sequence === own.sequence) return false;
  return other.sequence < own.sequence ? own.previous === other.digest : other.previous === own.digest;
}

function findReceipt(db: Db, requestId: string): Promise<AccessReceiptRow | undefined> {
  return db.selectFrom("access_receipts").selectAll().where("access_request_id", "=", requestId).executeTakeFirst();
}

function neighboursOf(db: Db, { access_request_id, deployment_id, sequence }: AccessReceiptRow): Promise<ChainRow[]> {
  return db
    .selectFrom("access_receipts")
    .select(["sequence", "digest", "previous"])
    .where("deployment_id", "=", deployment_id)
    .where("sequence", "in", [sequence - 1, sequence, sequence + 1])
    .where("access_request_id", "!=", access_request_id)
    .limit(10)
    .execute();
}

async function insertReceipt(db: Db, row: AccessReceiptRow): Promise<void> {
  await db
    .insertInto("access_receipts")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
