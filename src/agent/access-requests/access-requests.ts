import type { Clock } from "../../base/clock.ts";
import type { ReportResult } from "../../contract/access-requests/access-relay.ts";
import { GROUP, objectName, VERSION } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { accessGrants } from "../../crds/kinds/access-grant.ts";
import { MANAGED_DEPLOYMENT } from "../../crds/kinds/managed-deployment.ts";
import { MAX_API_ERROR, printable } from "../../crds/printable.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { referenceTo } from "../../kube/events/event.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Commands } from "../commands/commands.ts";
import type { Capacity } from "../kernel/capacity.ts";
import { type AgentMetrics, BUFFER_CAPACITY } from "../kernel/metrics.ts";
import type { Snapshot } from "../kernel/snapshot.ts";
import { isGone } from "../platform-link/platform-answer.ts";
import type { Platform } from "../platform-link/routes.ts";
import { decideRequest, type NewGrant, REFUSED_BY, type RequestAction, refuse } from "./access-request.ts";
import type { ListedRequest } from "./pending-request.ts";

export interface RequestPorts {
  /** Whether the customer accepts this deployment. */
  readonly accepts: (deploymentId: string) => boolean;
  readonly platform: Pick<Platform["accessRelay"], "materialized" | "approvals" | "decisions" | "receipts">;
  /** By request id, from the cache. */
  readonly grant: (requestId: string) => AccessGrant | undefined;
  readonly capacity: Pick<Capacity, "fullBecause" | "made" | "unmade">;
  readonly createGrant: (grant: NewGrant, signal: AbortSignal) => Promise<unknown>;
  readonly events: Pick<EventRecorder, "record">;
  /** Takes over the command that the platform made of an approval and claimed for this agent. */
  readonly claimed: Commands["claimed"];
}

export interface AccessRequestsOptions {
  readonly snapshot: Snapshot<ListedRequest>;
  readonly ports: RequestPorts;
  readonly grantsNamespace: string;
  readonly clock: Clock;
  readonly metrics: Pick<AgentMetrics, "requestRefused" | "reported" | "dropped" | "buffered">;
}

const AFTER_FULL_MS = 30_000;
const TOLD_FULL = "too-many-open";
const RESOURCE_PLURAL = `${accessGrants.plural}.${GROUP}`;

/** Brings each access request to the cluster once, and each decision back to the platform at least once. */
export class AccessRequests {
  readonly #options: AccessRequestsOptions;
  /** Request id → reports that the platform has answered. Bounded by what is listed and what is in the cluster. */
  readonly #answered = new Map<string, Set<string>>();
  /** Remembered until the platform has their end. */
  readonly #deleted = new Map<string, AccessGrant>();

  constructor(options: AccessRequestsOptions) {
    this.#options = options;
  }

  /** A grant was deleted: an end of its own, which only we have seen. */
  deleted(grant: AccessGrant): void {
    if (this.#deleted.size >= BUFFER_CAPACITY.deletions) {
      this.#options.metrics.dropped("deletions");
      return;
    }
    this.#deleted.set(grant.spec.requestId, grant);
    this.#options.metrics.buffered("deletions", this.#deleted.size);
  }

  /** @param id of the access request. */
  readonly reconcile = async (id: string, context: ReconcileContext): Promise<Result> => {
    const { snapshot, ports, grantsNamespace, clock, metrics } = this.#options;
    const [listed, grant, deleted] = [snapshot.get(id), ports.grant(id), this.#deleted.get(id)];
    const answered = this.#answered.get(id) ?? new Set<string>();
    const accepted = listed !== undefined && ports.accepts(listed.deploymentId);
    const facts = { listed, accepted, grant, deleted, answered };
    for (const action of decideRequest(facts, grantsNamespace, clock.wallNow())) {
      context.signal.throwIfAborted();
      const full = action.do === "createGrant" ? ports.capacity.fullBecause(action.grant.spec.deploymentId) : undefined;
      if (full !== undefined && action.do === "createGrant") return this.#delay(action.grant, full, context);
      await this.#carryOut(action, context);
    }
    // A deletion is kept while the platform still lists the request, or the request would become a grant again.
    if (listed === undefined && this.#deleted.delete(id)) metrics.buffered("deletions", this.#deleted.size);
    if (listed === undefined && grant === undefined) this.#answered.delete(id);
    return undefined;
  };

  async #carryOut(action: RequestAction, context: ReconcileContext): Promise<void> {
    switch (action.do) {
      case "createGrant":
        return this.#createGrant(action.grant, context);
      case "tellPlanMismatch":
        return this.#tellPlanMismatch(action.grant, action.key, context);
      case "reportMaterialized":
      case "reportApproval":
      case "reportDecision":
      case "reportReceipt":
        return this.#report(action, context);
    }
  }

  async #createGrant(grant: NewGrant, context: ReconcileContext): Promise<void> {
    const { ports } = this.#options;
    ports.capacity.made(grant);
    try {
      await ports.createGrant(grant, context.signal);
      context.log.info(
        { name: grant.metadata.name, deploymentId: grant.spec.deploymentId },
        "access request is in the cluster",
      );
    } catch (error) {
      ports.capacity.unmade(grant);
      // There already, and the cache will say so.
      if (error instanceof KubeError && error.isAlreadyExists) return;
      if (!(error instanceof KubeError && error.isInvalid)) throw error;
      const { requestId, deploymentId } = grant.spec;
      const refusal = refuse(
        { id: requestId, deploymentId },
        printable(error.message, MAX_API_ERROR),
        this.#options.clock.wallNow(),
      );
      await this.#carryOut(refusal, context);
    }
  }

  /** It stays queued on the platform, and is looked at again; said once, where the customer looks. */
  #delay({ spec: { requestId, deploymentId } }: NewGrant, full: string, { log }: ReconcileContext): Result {
    const { ports, metrics } = this.#options;
    if (this.#answered.get(requestId)?.has(TOLD_FULL) !== true) {
      this.#answer(requestId, TOLD_FULL);
      metrics.requestRefused("too_many_open");
      log.warn({ deploymentId, code: "TOO_MANY_OPEN" }, "access request waits: too many are open");
      ports.events.record({
        regarding: this.#deploymentNamed(deploymentId),
        type: "Warning",
        reason: "TooManyOpen",
        action: "Materialize",
        note: `access requests wait at the platform: ${full}; decide, or delete, what is here`,
      });
    }
    return { requeueAfterMs: AFTER_FULL_MS };
  }

  #tellPlanMismatch(grant: AccessGrant, key: string, { log }: ReconcileContext): void {
    const { ports, metrics } = this.#options;
    ports.events.record({
      regarding: referenceTo(grant),
      type: "Warning",
      reason: "PlanMismatch",
      action: "Compare",
      note: "the platform now lists another plan under this request's id; this grant stays as it is, the other plan is ignored",
    });
    metrics.requestRefused("plan_mismatch");
    log.warn({ name: grant.metadata.name, code: "PLAN_MISMATCH" }, "the platform lists another plan under this id");
    this.#answer(grant.spec.requestId, key);
  }

  async #report(
    action: Extract<RequestAction, { readonly deploymentId: string }>,
    context: ReconcileContext,
  ): Promise<void> {
    const { metrics } = this.#options;
    const requestId = action.do === "reportMaterialized" ? action.requestId : action.report.requestId;
    let result: Pick<ReportResult, "outcome" | "code"> | undefined;
    try {
      result = (await this.#send(action, context.signal)).results.find((each) => each.requestId === requestId);
    } catch (error) {
      // Not this agent's deployment (any more): the platform takes no report on it.
      if (!isGone(error)) throw error;
      result = { outcome: "ignored", code: "NOT_FOUND" };
    }
    if (result === undefined) throw new Error("the platform answered without a result for the request");
    metrics.reported(action.do, result.outcome);
    if (result.outcome === "ignored") {
      // After a restart every old decision is reported again, and most come too late to move anything.
      const level = result.code === "INVALID_STATE_TRANSITION" ? "debug" : "warn";
      context.log[level]({ code: result.code, deploymentId: action.deploymentId }, "the platform ignored a report");
    }
    if (action.do === "reportDecision" && action.report.decidedBy === REFUSED_BY) this.#tellRefusal(action, context);
    this.#answer(requestId, action.key);
  }

  /** There is no grant to say it on: the customer finds it on the deployment. */
  #tellRefusal(
    { deploymentId, report }: Extract<RequestAction, { readonly do: "reportDecision" }>,
    { log }: ReconcileContext,
  ): void {
    const { ports, metrics } = this.#options;
    const { reason = "" } = report;
    metrics.requestRefused("unfit");
    log.warn({ reason, deploymentId }, "access request refused");
    ports.events.record({
      regarding: this.#deploymentNamed(deploymentId),
      type: "Warning",
      reason: "RequestRefused",
      action: "Materialize",
      note: `${report.requestId}: ${reason}`,
    });
  }

  #deploymentNamed(deploymentId: string) {
    return {
      apiVersion: `${GROUP}/${VERSION}`,
      kind: MANAGED_DEPLOYMENT.kind,
      name: objectName(deploymentId),
      namespace: this.#options.grantsNamespace,
    };
  }

  #send(
    action: Extract<RequestAction, { readonly deploymentId: string }>,
    signal: AbortSignal,
  ): Promise<{ results: ReportResult[] }> {
    const { platform } = this.#options.ports;
    const { deploymentId } = action;
    switch (action.do) {
      case "reportMaterialized": {
        const where = { namespace: this.#options.grantsNamespace, resourcePlural: RESOURCE_PLURAL };
        return platform.materialized({ body: { deploymentId, requestIds: [action.requestId], ...where } }, signal);
      }
      case "reportApproval":
        return this.#approval(action, signal);
      case "reportDecision":
        return platform.decisions({ body: { deploymentId, decisions: [action.report] } }, signal);
      case "reportReceipt":
        return platform.receipts({ body: { deploymentId, receipts: [action.report] } }, signal);
    }
  }

  /** With the command that it makes: a listing and a dispatch would be two more round trips before anything starts. */
  async #approval(
    { deploymentId, report }: Extract<RequestAction, { readonly do: "reportApproval" }>,
    signal: AbortSignal,
  ): Promise<{ results: ReportResult[] }> {
    const { ports, clock } = this.#options;
    const body = { deploymentId, approvals: [report], claimAt: clock.wallNow().toISOString() };
    const answer = await ports.platform.approvals({ body }, signal);
    ports.claimed(answer.claimed, { deploymentId, requestId: report.requestId });
    return answer;
  }

  #answer(requestId: string, key: string): void {
    const answered = this.#answered.get(requestId) ?? new Set();
    this.#answered.set(requestId, answered.add(key));
  }
}
