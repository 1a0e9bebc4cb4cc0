import { isDeepStrictEqual } from "node:util";
import { ApiError } from "../../api-client/api-error.ts";
import type { Clock } from "../../base/clock.ts";
import { DEPLOYMENT_PROTOCOL_VERSION, type DeploymentState } from "../../contract/deployments/deployment-state.ts";
import type { syncRoutes } from "../../contract/deployments/sync.ts";
import type { ResponseOf } from "../../contract/wire/route.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { Snapshot } from "../kernel/snapshot.ts";
import { EMPTY_PART, type ReportPart } from "../observe/report-parts.ts";
import type { ResourceReports } from "../observe/resource-reports.ts";
import type { Platform } from "../platform-link/routes.ts";
import { afterAnswer } from "../releases/release-record.ts";
import type { Places } from "./acceptance.ts";
import { capabilitiesOf } from "./capabilities.ts";
import type { DeploymentReport } from "./deployment.ts";
import type { DeploymentObjectPorts } from "./deployment-objects.ts";
import type { Leases } from "./leases.ts";
import type { ListedDeployment } from "./listed-deployment.ts";
import type { ReportPace } from "./report-pace.ts";

export interface ReportSenderPorts extends Pick<DeploymentObjectPorts, "missing" | "offered"> {
  readonly platform: Pick<Platform["sync"], "reconcile">;
  readonly resources: Pick<ResourceReports, "acknowledged" | "withoutRefused">;
  /** Asks for the platform's list again. */
  readonly relist: () => void;
}

export interface ReportSenderOptions {
  readonly snapshot: Snapshot<ListedDeployment>;
  readonly ports: ReportSenderPorts;
  readonly leases: Pick<Leases, "of" | "session">;
  readonly places: Places;
  readonly version: string;
  readonly clock: Clock;
  /** A runner of releases takes one step a report, also where a deployment that pulls might skip some. */
  readonly isRunner: boolean;
}

export type ReportAnswered = ResponseOf<(typeof syncRoutes)["reconcile"]>;

/** A report of one deployment, as far as it is still to be sent. */
export interface OutgoingReport {
  readonly id: string;
  readonly report: DeploymentReport;
  readonly parts: readonly ReportPart[];
  readonly accepted: readonly string[];
}

/** Sends reports to the platform, and takes in what it answers. When to send is `report-pace.ts`'s. */
export class ReportSender {
  readonly #options: ReportSenderOptions;

  constructor(options: ReportSenderOptions) {
    this.#options = options;
  }

  /**
   * Sends the first part. Rows that the platform refuses must not hold up the others: the report goes on without them.
   *
   * @param pace of this deployment: the answer may bring the next look or report forward.
   * @returns what is left to send, and what the platform answered; undefined: it was not taken.
   */
  async sendFirst(
    report: OutgoingReport,
    pace: ReportPace,
    context: ReconcileContext,
  ): Promise<{ readonly left: readonly ReportPart[]; readonly answer: ReportAnswered | undefined }> {
    const [first = EMPTY_PART, ...rest] = report.parts;
    try {
      return { left: rest, answer: await this.#send(report, first, pace, context) };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      const left = this.#options.ports.resources.withoutRefused(report.id, report.parts, error.context.issues);
      if (left === undefined) throw error;
      context.log.warn(
        { deploymentId: report.id, err: error },
        "the platform refused rows of a report; it goes on without them",
      );
      return { left, answer: undefined };
    }
  }

  async #send(
    { id, report, accepted }: OutgoingReport,
    part: ReportPart,
    pace: ReportPace,
    { log, signal }: ReconcileContext,
  ): Promise<ReportAnswered | undefined> {
    const { snapshot, ports, leases, version, places, clock, isRunner } = this.#options;
    const listed = snapshot.get(id);
    if (listed === undefined) return undefined;
    const { state: reported, operationId, progress = [] } = report;
    const at = clock.wallNow().toISOString();
    const served = accepted.filter((each) => places.opened.includes(each));
    const environmentInfo = { platform: "kubernetes" as const, namespace: served.join(",").slice(0, 512) };
    const state: DeploymentState = {
      ...reported,
      platform: listed.platform,
      protocolVersion: DEPLOYMENT_PROTOCOL_VERSION,
      ...(listed.platform === "kubernetes" && served.length > 0 ? { environmentInfo } : {}),
    };
    const body = {
      deploymentId: id,
      ...(leases.of(id) === undefined ? {} : { session: leases.session }),
      state,
      ...(part.resourceHeartbeats.length > 0 && { resourceHeartbeats: [...part.resourceHeartbeats] }),
      ...(part.removedHeartbeats.length > 0 && { removedHeartbeats: [...part.removedHeartbeats] }),
      ...(part.observedInventoryBatches.length > 0 && { observedInventoryBatches: [...part.observedInventoryBatches] }),
      ...(part.resourceLevel && { resourceLevel: part.resourceLevel }),
      capabilities: capabilitiesOf({ accepted, missing: ports.missing(), ...ports.offered(id) }),
      operatorVersion: version,
      ...(operationId !== undefined && { operationId }),
      ...(progress.length > 0 && { progressEvents: progress.map((each) => ({ ...each, at })) }),
    };
    const answer = await ports.platform.reconcile({ body }, signal);
    const { current, resendResources = false } = answer;
    ports.resources.acknowledged(id, part, resendResources);
    if (resendResources) {
      log.info({ deploymentId: id }, "the platform asks for all resources again");
      pace.lookAtMs = clock.monotonicMs();
    }
    // Also without a runner: what is wanted here and not installed is told as that, from the next report on.
    // Where a list has changed it while the report was on its way, only another list says which of the two is older.
    if (isDeepStrictEqual(snapshot.get(id), listed)) snapshot.update(afterAnswer(listed, current));
    else ports.relist();
    // More steps that may not be skipped follow at once.
    const moves = current.status !== listed.status && current.status !== "running";
    if (moves && (isRunner || listed.model === "push")) pace.reportAtMs = 0;
    return answer;
  }
}
