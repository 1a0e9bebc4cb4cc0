import type { accessRelayRoutes } from "../../../contract/access-requests/access-relay.ts";
import type { accessRequestRoutes } from "../../../contract/access-requests/access-requests.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { toPage } from "../../kernel/call/page.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { toClaimed } from "../commands/record.ts";
import { create } from "./create.ts";
import { queue, recordOf, reject, requireRequest } from "./gate.ts";
import { asOf } from "./lifecycle.ts";
import { receiptOf, receipts } from "./receipts.ts";
import { kubectlApprove, toPending, toRecord, withApproval } from "./record.ts";
import { approvals, decisions, materialized, pending } from "./relay.ts";
import { commandsOf, listRequests } from "./store.ts";

export const handlers: Handlers<typeof accessRequestRoutes> = {
  create,

  async queue(call) {
    return withApproval(await recordOf(call, await queue(call, call.params.id, call.body?.acceptStale)));
  },

  async reject(call) {
    return recordOf(call, await reject(call, call.params.id, call.body?.reason));
  },

  async coordinates(call) {
    const record = await recordOf(call, await requireRequest(call, call.params.id));
    return { status: record.status, kubectlApprove: kubectlApprove(record) };
  },

  async get(call) {
    return withApproval(await recordOf(call, await requireRequest(call, call.params.id)));
  },

  receipt: (call) => receiptOf(call, call.params.id),

  async list({ db, principal, query, page, now }) {
    const project = await optionalProject(db, principal, query.project);
    const { deploymentId, status: statuses, remediationPlanId } = query;
    const filter = { projectId: project?.id, deploymentId, statuses, remediationPlanId };
    const rows = await listRequests(db, principal, filter, page, now);
    const commands = await commandsOf(
      db,
      rows.map(({ id }) => id),
    );
    const positionOf = (row: (typeof rows)[number]) => ({ at: row.created_at, id: row.id });
    return toPage(page, rows, positionOf, (row) =>
      toRecord(asOf(row, now), commands.get(row.id) ?? [], { principal, now }),
    );
  },
};

export const relayHandlers: Handlers<typeof accessRelayRoutes> = {
  async pending(call) {
    const { queued, closed } = await pending(call, call.query.deploymentId);
    return {
      requests: queued.map(toPending),
      closed: closed.map(({ id, status, closed_at, updated_at }) => ({
        requestId: id,
        status,
        at: (closed_at ?? updated_at).toISOString(),
      })),
    };
  },

  materialized: (call) => materialized(call, call.body),
  async approvals(call) {
    const { claimed, ...answer } = await approvals(call, call.body);
    if (call.body.claimAt === undefined) return answer;
    return { ...answer, claimed: claimed.map((row) => toClaimed(row, call.principal)) };
  },
  decisions: (call) => decisions(call, call.body),
  receipts: (call) => receipts(call, call.body),
};
