import type { ApprovalReport, DecisionReport, ReportResult } from "../../../contract/access-requests/access-relay.ts";
import type { PlanLine } from "../../../contract/access-requests/access-requests.ts";
import { LINES_ONLY_PLUGINS } from "../../../contract/operations/builtin-plugins.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { Call } from "../../kernel/call/call.ts";
import { expirePending } from "../commands/settle.ts";
import { claimOfPlans } from "../commands/store.ts";
import { requireTarget, type Target } from "../operations/target.ts";
import { asOf, dispatchLine, stateOf, withState, writeLapse } from "./lifecycle.ts";
import { grantName } from "./record.ts";
import { judgeApproval, judgeDecision, type ReportCode } from "./state.ts";
import { findOfDeployment, listForManager, updateRequest } from "./store.ts";

// What a manager reports about the requests of one deployment. Items are handled in order, so the second of two equal
// items is a duplicate.

export type RelayCall = Pick<Call, "db" | "now" | "principal" | "raise" | "emit" | "hooks">;
export interface Answer {
  recorded: number;
  results: ReportResult[];
}

const DAY_MS = 24 * 60 * 60_000;

export interface ManagerView {
  /** Requests that wait for the customer, oldest first. */
  readonly queued: readonly AccessRequestRow[];
  /** Requests in the cluster that ended within the last day. */
  readonly closed: readonly AccessRequestRow[];
}

export async function pending(call: RelayCall, deploymentId: string): Promise<ManagerView> {
  const target = await requireTarget(call.db, call.principal, deploymentId);
  const since = new Date(call.now.getTime() - DAY_MS);
  const rows = (await listForManager(call.db, target.id, since)).map((row) => asOf(row, call.now));
  return {
    queued: rows.filter(({ status }) => status === "queued"),
    closed: rows.filter(
      ({ materialized, closed_at }) => materialized !== null && closed_at !== null && closed_at > since,
    ),
  };
}

/**
 * Stores where the manager has created the request's resource in the cluster. Only for queued requests; the latest
 * report replaces earlier ones.
 */
export function materialized(
  call: RelayCall,
  body: { deploymentId: string; requestIds: readonly string[]; namespace: string; resourcePlural: string },
): Promise<Answer> {
  const { namespace, resourcePlural } = body;
  return eachReport(
    call,
    body.deploymentId,
    body.requestIds,
    (id) => id,
    async (row) => {
      if (row.status !== "queued") return ignored("INVALID_STATE_TRANSITION");
      const same = row.materialized?.namespace === namespace && row.materialized.resourcePlural === resourcePlural;
      if (same) return { outcome: "duplicate" };
      const at = call.now.toISOString();
      const place = { namespace, resourcePlural, name: grantName(row.id), at };
      await updateRequest(call.db, { ...row, materialized: place, updated_at: call.now });
      return { outcome: "recorded" };
    },
  );
}

/**
 * Records approvals that the manager saw in the cluster. Creates the command of the plan's first line in the same
 * transaction, and with `claimAt` claims it for this manager. A repeated report claims nothing, because the earlier
 * call may have claimed the command although its answer was lost.
 */
export async function approvals(
  call: RelayCall,
  body: { deploymentId: string; approvals: readonly ApprovalReport[]; claimAt?: string | undefined },
): Promise<Answer & { readonly claimed: readonly CommandRow[] }> {
  const { deploymentId, claimAt } = body;
  const answer = await eachReport(
    call,
    deploymentId,
    body.approvals,
    ({ requestId }) => requestId,
    async (row, report, target) => {
      const verdict = judgeApproval(stateOf(row), report, call.now);
      if (verdict.outcome !== "recorded") return verdict;
      const approved = withState(row, verdict.next, verdict.decision, call.now);
      if (row.commands.some(runsNothing)) {
        await updateRequest(call.db, approved);
      } else {
        const running: AccessRequestRow = { ...approved, execution: "running" };
        await updateRequest(call.db, running);
        await dispatchLine(call, running, target, 0);
      }
      return { outcome: "recorded" };
    },
  );
  if (claimAt === undefined) return { ...answer, claimed: [] };
  const recorded = answer.results.filter(({ outcome }) => outcome === "recorded").map(({ requestId }) => requestId);
  return { ...answer, claimed: await claimOfPlans(call.db, recorded, new Date(claimAt)) };
}

/** A line of a debug session or of a machine: what it grants is used inside the cluster. */
function runsNothing({ command }: PlanLine): boolean {
  return LINES_ONLY_PLUGINS.some((plugin) => command.startsWith(`${plugin}/`));
}

/**
 * Records that requests were denied, revoked or have expired. Commands already handed out end by themselves; the others
 * are never handed out.
 */
export function decisions(
  call: RelayCall,
  body: { deploymentId: string; decisions: readonly DecisionReport[] },
): Promise<Answer> {
  const { deploymentId } = body;
  return eachReport(
    call,
    deploymentId,
    body.decisions,
    ({ requestId }) => requestId,
    async (row, report) => {
      const verdict = judgeDecision(stateOf(row), report, call.now);
      if (verdict.outcome !== "recorded") return verdict;
      const ended = withState(row, verdict.next, verdict.decision, call.now);
      // Store the row first: when a command ends, its plan must already be stopped.
      await updateRequest(call.db, ended);
      await expirePending(call, { accessRequestId: row.id });
      if (ended.status === "expired") await call.raise("access-requests", deploymentId);
      return { outcome: "recorded" };
    },
  );
}

type Outcome =
  | { readonly outcome: "recorded" | "duplicate" }
  | { readonly outcome: "ignored"; readonly code: ReportCode };
export const ignored = (code: ReportCode): Outcome => ({ outcome: "ignored", code });

/**
 * Handles each item against its request as it is now. An unknown request, or one of another deployment, fails only its
 * own item.
 */
export async function eachReport<Item>(
  call: RelayCall,
  deploymentId: string,
  items: readonly Item[],
  idOf: (item: Item) => string,
  judge: (row: AccessRequestRow, item: Item, target: Target) => Promise<Outcome>,
): Promise<Answer> {
  const target = await requireTarget(call.db, call.principal, deploymentId);
  const results: ReportResult[] = [];
  for (const item of items) {
    const requestId = idOf(item);
    const row = await settledRow(call, target.id, requestId);
    const outcome = row === undefined ? ignored("NOT_FOUND") : await judge(row, item, target);
    results.push({ requestId, ...outcome });
  }
  return { recorded: results.filter(({ outcome }) => outcome === "recorded").length, results };
}

/** Stores the request's expiry first, if its time is over. */
async function settledRow(call: RelayCall, deploymentId: string, id: string): Promise<AccessRequestRow | undefined> {
  const stored = await findOfDeployment(call.db, deploymentId, id);
  if (stored === undefined) return undefined;
  const row = asOf(stored, call.now);
  if (row !== stored) await writeLapse(call, row);
  return row;
}
