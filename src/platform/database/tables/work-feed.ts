import type { ColumnType } from "kysely";
import type { Topic } from "../../../contract/managers/managers.ts";

export interface WorkFeedTables {
  work_feed: WorkFeedRow;
  feed_epoch: { id: string };
}

export interface WorkFeedRow {
  manager_id: string;
  topic: Topic;
  deployment_id: string;
  /** Transaction that raised it last (`xid8`): compared with a cursor's snapshot, never with a clock. */
  xid: ColumnType<string, unknown, unknown>;
}
