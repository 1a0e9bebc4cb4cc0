import type { ColumnType } from "kysely";

export interface WorkFeedTables {
  work_feed: WorkFeedRow;
  feed_epoch: { id: string };
}

export interface WorkFeedRow {
  manager_id: string;
  topic: string;
  deployment_id: string;
  /** Transaction that raised it last (`xid8`): compared with a cursor's snapshot, never with a clock. */
  xid: ColumnType<string, unknown, unknown>;
}
