import type { Words } from "./egress-report-words.ts";

const DIGEST = `sha256:${"0".repeat(63)}1`;
const AT = "2026-11-20T10:00:00Z";

/** The receipt of a grant that has ended. */
export const RECEIPT_WORDS: Words = {
  "body.deploymentId": ["the platform's own id, from its list", "dep_0123456789abcdefghijklmnopqr"],
  "body.receipts[].requestId": [
    "`AccessGrant.spec.requestId`: the platform's own id",
    "ar_0123456789abcdefghijklmnopqr",
  ],
  "body.receipts[].digest": ["`AccessGrant.status.receipt.digest`: a hash of the receipt", DIGEST],
  "body.receipts[].receipt.version": ["constant", "v1"],
  "body.receipts[].receipt.deploymentId": ["the platform's own id", "dep_0123456789abcdefghijklmnopqr"],
  "body.receipts[].receipt.sequence": ["how many grants of this deployment have a receipt, with this one", 3],
  "body.receipts[].receipt.previous": ["digest of the receipt before it", DIGEST],
  "body.receipts[].receipt.request.id": ["the platform's own id", "ar_0123456789abcdefghijklmnopqr"],
  "body.receipts[].receipt.request.title": ["the platform's own words", "Restart the web tier"],
  "body.receipts[].receipt.request.risk": ["the platform's own word", "mutating"],
  "body.receipts[].receipt.request.planHash": ["a hash of the plan that the platform sent", DIGEST],
  "body.receipts[].receipt.request.maxMinutes": ["the platform's own number", 60],
  "body.receipts[].receipt.request.decideBefore": ["the platform's own time", AT],
  "body.receipts[].receipt.request.commands[].command": ["the platform's own name", "kubernetes/get-pods"],
  "body.receipts[].receipt.request.commands[].digest": [
    "a hash of that name and of the params that the platform sent",
    DIGEST,
  ],
  "body.receipts[].receipt.grant.uid": ["`metadata.uid` of the grant", "1c9f3a52-8a4e-4f7e-9d0b-2f6f0c0c9f11"],
  "body.receipts[].receipt.grant.createdAt": ["when the grant was made", AT],
  "body.receipts[].receipt.decision.outcome": ["whether it was approved, denied or neither", "approved"],
  "body.receipts[].receipt.decision.by": [
    "`AccessGrant.spec.decidedBy`: the user name that your API server gives the approver",
    "alice@example.com",
  ],
  "body.receipts[].receipt.decision.nameFrom": ["whether your API server vouches for that name", "stamped"],
  "body.receipts[].receipt.decision.minutes": ["`AccessGrant.spec.approvedForMinutes`", 60],
  "body.receipts[].receipt.decision.reason": [
    "`AccessGrant.spec.deniedReason`: **the words that your approver typed**",
    "not today",
  ],
  "body.receipts[].receipt.revocation": ["null: it was not revoked", null],
  "body.receipts[].receipt.revocation.by": [
    "`AccessGrant.spec.revokedBy`: the user name of the person who revoked it",
    "bob@example.com",
  ],
  "body.receipts[].receipt.revocation.reason": [
    "`AccessGrant.spec.revokedReason`: **the words that your approver typed**",
    "incident closed",
  ],
  "body.receipts[].receipt.window": ["null: it was never open", null],
  "body.receipts[].receipt.window.from": ["when the window opened", AT],
  "body.receipts[].receipt.window.until": ["when it was to close", AT],
  "body.receipts[].receipt.state": ["state of the grant", "Completed"],
  "body.receipts[].receipt.endedAt": ["when the operator saw the end", AT],
  "body.receipts[].receipt.lines[].index": ["which command of the plan", 0],
  "body.receipts[].receipt.lines[].state": ["what became of it", "Succeeded"],
  "body.receipts[].receipt.lines[].commandId": ["the platform's own id", "cmd_0123456789abcdefghijklmnopqr"],
  "body.receipts[].receipt.lines[].account": [
    "the service account that it ran as, which the operator made for this grant",
    "grant-1c9f3a528a4e",
  ],
  "body.receipts[].receipt.lines[].startedAt": ["when it began", AT],
  "body.receipts[].receipt.lines[].finishedAt": ["when it ended", AT],
  "body.receipts[].receipt.lines[].resultDigest": [
    "a hash of the result or the error that was reported with the command; of a debug session, of its audit file",
    DIGEST,
  ],
};
