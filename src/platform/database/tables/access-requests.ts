import type {
  AccessRequestStatus,
  Decision,
  ExecutionState,
  PlanLine,
} from "../../../contract/access-requests/access-requests.ts";
import type { Tier } from "../../../contract/operations/operations.ts";
import type { Actor } from "../../../contract/wire/actor.ts";

export interface AccessRequestTables {
  access_requests: AccessRequestRow;
  access_receipts: AccessReceiptRow;
}

export interface AccessReceiptRow {
  access_request_id: string;
  deployment_id: string;
  sequence: number;
  digest: string;
  previous: string | null;
  /** Its RFC 8785 form, of which the digest is. */
  receipt: string;
  received_at: Date;
}

export interface AccessRequestRow {
  id: string;
  workspace_id: string;
  project_id: string;
  deployment_id: string;
  remediation_plan_id: string;
  title: string;
  reason: string | null;
  commands: PlanLine[];
  risk: Tier;
  plan_hash: string;
  max_minutes: number;
  debug: boolean;
  decide_before: Date;
  /** As last stored. `asOf` (access-requests/lifecycle.ts) computes the status at a given time. */
  status: AccessRequestStatus;
  execution: ExecutionState;
  approved_until: Date | null;
  /**
   * All decisions, oldest first; the record shows the last. An approval stays here also when the request ends
   * differently.
   */
  decisions: Decision[];
  materialized: Materialized | null;
  queued_by: Actor | null;
  queued_at: Date | null;
  /** When the resources were last observed, if that was long ago and the one who queued the plan accepted it. */
  stale_since: Date | null;
  /** When it became rejected or expired. */
  closed_at: Date | null;
  created_by: Actor;
  created_at: Date;
  updated_at: Date;
}

export interface Materialized {
  readonly namespace: string;
  readonly resourcePlural: string;
  readonly name: string;
  readonly at: string;
}
