import type { ColumnType, Generated } from "kysely";
import type { Event } from "../../../contract/events/events.ts";
import type { Kept } from "./kept.ts";

export interface EventTables {
  events: EventRow;
}

export interface EventRow {
  id: string;
  workspace_id: string;
  project_id: string;
  deployment_id: string | null;
  deployment_group_id: string | null;
  release_id: string | null;
  debug_session_id: string | null;
  type: string;
  data: ColumnType<Kept<Event["data"]>, unknown>;
  state: ColumnType<Kept<Event["state"]>, unknown>;
  /**
   * A request with a customer's token caused it, so it counts in that customer's budget
   * (kernel/budgets/event-budget.ts).
   */
  by_customer: Generated<boolean>;
  created_at: Date;
}
