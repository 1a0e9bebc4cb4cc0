import type {
  ApprovalReport,
  DecisionReport,
  PendingRequest,
  ReceiptReport,
} from "../../contract/access-requests/access-relay.ts";
import { GROUP, objectName, VERSION } from "../../crds/group.ts";
import { ACCESS_GRANT, type AccessGrant, type AccessGrantSpec } from "../../crds/kinds/access-grant.ts";
import { PLAN_HASH_VERSION, planHash } from "../../crds/plan.ts";
import { MAX_REASON, reportsOf } from "./grant-reports.ts";
import type { ListedRequest } from "./pending-request.ts";

/** All that is known of one access request. */
export interface RequestFacts {
  /** As the platform lists it; undefined: it does not wait for the customer (any more). */
  readonly listed: ListedRequest | undefined;
  /** The customer accepts its deployment. */
  readonly accepted: boolean;
  readonly grant: AccessGrant | undefined;
  /** The last state of a grant that was deleted while we watched. */
  readonly deleted: AccessGrant | undefined;
  /** Keys of the reports that the platform has answered; empty after a restart, which only repeats them. */
  readonly answered: ReadonlySet<string>;
}

export type NewGrant = Omit<AccessGrant, "metadata" | "status"> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
};

/** `key` names the report in `answered`. */
export type RequestAction =
  | { readonly do: "createGrant"; readonly grant: NewGrant }
  | { readonly do: "tellPlanMismatch"; readonly key: string; readonly grant: AccessGrant }
  | {
      readonly do: "reportMaterialized";
      readonly key: string;
      readonly deploymentId: string;
      readonly requestId: string;
    }
  | {
      readonly do: "reportApproval";
      readonly key: string;
      readonly deploymentId: string;
      readonly report: ApprovalReport;
    }
  | {
      readonly do: "reportDecision";
      readonly key: string;
      readonly deploymentId: string;
      readonly report: DecisionReport;
    }
  | {
      readonly do: "reportReceipt";
      readonly key: string;
      readonly deploymentId: string;
      readonly report: ReceiptReport;
    };

/** Who denies in our own name; no person has this name, since people's names come from the API server. */
export const REFUSED_BY = "sallyport-agent";

/**
 * What has to happen for this request at `now`. Pure.
 *
 * The promises: no grant for a deployment that the customer does not accept; one grant a request, never a second one
 * after the customer deleted it; nothing is shown that a person could misread; every decision is reported until the
 * platform has answered; a grant is never changed.
 */
export function decideRequest(facts: RequestFacts, grantsNamespace: string, now: Date): readonly RequestAction[] {
  const { listed, accepted, grant, deleted, answered } = facts;
  const subject = grant ?? deleted;
  const actions: RequestAction[] = [];
  if (listed !== undefined && accepted && subject === undefined) actions.push(...raise(listed, grantsNamespace, now));
  if (listed !== undefined && grant !== undefined) actions.push(...compare(listed, grant));
  if (subject !== undefined) actions.push(...reportsAbout(subject, grant === undefined, listed !== undefined, now));
  return actions.filter((action) => action.do === "createGrant" || !answered.has(action.key));
}

/** Nothing in the cluster yet: the request becomes a grant, or is refused. */
function raise(listed: ListedRequest, namespace: string, now: Date): readonly RequestAction[] {
  if (!listed.wanted.fit) return [refuse(listed, listed.wanted.problem, now)];
  const { request } = listed.wanted;
  // Too late to ask; the platform ends it by itself (§2.5).
  if (Date.parse(request.decideBefore) <= now.getTime()) return [];
  return [{ do: "createGrant", grant: grantOf(request, listed.deploymentId, namespace) }];
}

/** The cluster's own answer to a request that it cannot show: denied, with the reason, by no person. */
export function refuse(listed: Pick<ListedRequest, "id" | "deploymentId">, problem: string, now: Date): RequestAction {
  const reason = `this cluster refuses the request: ${problem}`.slice(0, MAX_REASON);
  return {
    do: "reportDecision",
    key: "denied",
    deploymentId: listed.deploymentId,
    report: {
      requestId: listed.id,
      outcome: "denied",
      reason,
      decidedBy: REFUSED_BY,
      identity: "unknown",
      at: now.toISOString(),
    },
  };
}

/** Same id: the same plan is reported as present; another plan changes nothing, and an event and a log line say so. */
function compare(listed: ListedRequest, grant: AccessGrant): readonly RequestAction[] {
  const { requestId, deploymentId } = grant.spec;
  const isSame = listed.wanted.fit && listed.wanted.request.planHash === grant.spec.planHash && listed.id === requestId;
  if (!isSame) return [{ do: "tellPlanMismatch", key: "mismatch", grant }];
  return [{ do: "reportMaterialized", key: "materialized", deploymentId, requestId }];
}

function reportsAbout(grant: AccessGrant, gone: boolean, awaited: boolean, now: Date): readonly RequestAction[] {
  const { deploymentId } = grant.spec;
  return reportsOf(grant, gone, awaited, now).map((each): RequestAction => {
    const { key } = each;
    if (each.kind === "approval") return { do: "reportApproval", key, deploymentId, report: each.report };
    if (each.kind === "receipt") return { do: "reportReceipt", key, deploymentId, report: each.report };
    return { do: "reportDecision", key, deploymentId, report: each.report };
  });
}

/** The plan as it is frozen in the cluster. The hash is ours: computed from what is written, not taken over. */
function grantOf(request: PendingRequest, deploymentId: string, namespace: string): NewGrant {
  const { id, title, reason, requestedBy, risk, maxMinutes, decideBefore } = request;
  const commands = request.commands.map(({ command, summary, params }) => ({
    command,
    summary,
    ...(params === undefined ? {} : { params }),
  }));
  const spec: AccessGrantSpec = {
    requestId: id,
    deploymentId,
    title,
    ...(reason === null || reason === "" ? {} : { reason }),
    ...(requestedBy === "" ? {} : { requestedBy }),
    risk,
    maxMinutes,
    decideBefore,
    planHash: planHash({ requestId: id, deploymentId, risk, commands }),
    planHashVersion: PLAN_HASH_VERSION,
    commands,
  };
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: ACCESS_GRANT.kind,
    metadata: { name: objectName(id), namespace },
    spec,
  };
}
