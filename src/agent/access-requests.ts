import type { ReportResult } from "../contract/access-relay.ts";
import type { AccessGrant } from "../crds/access-grant.ts";
import { accessGrants } from "../crds/access-grant.ts";
import { GROUP, objectName, VERSION } from "../crds/group.ts";
import { MANAGED_DEPLOYMENT } from "../crds/managed-deployment.ts";
import { ApiError as KubeError } from "../kube/api-error.ts";
import type { Clock } from "../kube/clock.ts";
import type { ReconcileContext, Result } from "../kube/controller.ts";
import { referenceTo } from "../kube/event.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import { decideRequest, type NewGrant, REFUSED_BY, type RequestAction, refuse } from "./access-request.ts";
import type { Board } from "./board.ts";
import { type AgentMetrics, BUFFER_CAPACITY } from "./metrics.ts";
import { printable } from "./params-problem.ts";
import type { ListedRequest } from "./pending-request.ts";
import { isGone } from "./platform-answer.ts";
import type { Platform } from "./routes.ts";

export interface RequestPorts {
  readonly platform: Pick<Platform["accessRelay"], "materialized" | "approvals" | "decisions">;
  /** By request id, from the cache. */
  readonly grant: (requestId: string) => AccessGrant | undefined;
  readonly createGrant: (grant: NewGrant, signal: AbortSignal) => Promise<unknown>;
  readonly events: Pick<EventRecorder, "record">;
}

export interface AccessRequestsOptions {
  readonly board: Board<ListedRequest>;
  readonly ports: RequestPorts;
  readonly grantsNamespace: string;
  readonly clock: Clock;
  readonly metrics: Pick<AgentMetrics, "requestRefused" | "reported" | "dropped" | "buffered">;
}

const RESOURCE_PLURAL = `${accessGrants.plural}.${GROUP}`;

/** Brings each access request to the cluster once, and each decision back to the platform at least once. */
export class AccessRequests {
  readonly #options: AccessRequestsOptions;
  /** Request id → reports that the platform has answered. Bounded by what is listed and what is in the cluster. */
  readonly #answered = new Map<string, Set<string>>();
  /** Remembered until their end is told. */
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
    const { board, ports, grantsNamespace, clock, metrics } = this.#options;
    const [listed, grant, deleted] = [board.get(id), ports.grant(id), this.#deleted.get(id)];
    const answered = this.#answered.get(id) ?? new Set<string>();
    for (const action of decideRequest({ listed, grant, deleted, answered }, grantsNamespace, clock.wallNow())) {
      context.signal.throwIfAborted();
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
        return this.#report(action, context);
    }
  }

  async #createGrant(grant: NewGrant, context: ReconcileContext): Promise<void> {
    try {
      await this.#options.ports.createGrant(grant, context.signal);
      context.log.info(
        { name: grant.metadata.name, deploymentId: grant.spec.deploymentId },
        "access request is in the cluster",
      );
    } catch (error) {
      // There already, and the cache will say so.
      if (error instanceof KubeError && error.isAlreadyExists) return;
      if (!(error instanceof KubeError && error.isInvalid)) throw error;
      const { requestId, deploymentId } = grant.spec;
      const refusal = refuse({ id: requestId, deploymentId }, printable(error.message), this.#options.clock.wallNow());
      await this.#carryOut(refusal, context);
    }
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
      // Not our deployment (any more): nobody there wants to hear of it.
      if (!isGone(error)) throw error;
      result = { outcome: "ignored", code: "NOT_FOUND" };
    }
    if (result === undefined) throw new Error("the platform answered without a result for the request");
    metrics.reported(action.do, result.outcome);
    if (result.outcome === "ignored") {
      // After a restart every old decision is told again, and most come too late to move anything.
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
    const { ports, metrics, grantsNamespace } = this.#options;
    const { reason = "" } = report;
    metrics.requestRefused("unfit");
    log.warn({ reason, deploymentId }, "access request refused");
    ports.events.record({
      regarding: {
        apiVersion: `${GROUP}/${VERSION}`,
        kind: MANAGED_DEPLOYMENT.kind,
        name: objectName(deploymentId),
        namespace: grantsNamespace,
      },
      type: "Warning",
      reason: "RequestRefused",
      action: "Materialize",
      note: `${report.requestId}: ${reason}`,
    });
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
        return platform.approvals({ body: { deploymentId, approvals: [action.report] } }, signal);
      case "reportDecision":
        return platform.decisions({ body: { deploymentId, decisions: [action.report] } }, signal);
    }
  }

  #answer(requestId: string, key: string): void {
    const answered = this.#answered.get(requestId) ?? new Set();
    this.#answered.set(requestId, answered.add(key));
  }
}
