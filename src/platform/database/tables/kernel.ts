import type { ColumnType } from "kysely";
import type { Topic } from "../../../contract/managers/managers.ts";

/** Tables that the kernel itself writes. */
export interface KernelTables {
  idempotency: IdempotencyRow;
  work_feed: WorkFeedRow;
  feed_epoch: { id: string };
}

export interface WorkFeedRow {
  manager_id: string;
  topic: Topic;
  deployment_id: string;
  /** The last transaction that raised it (`xid8`). Compared with the snapshot in a cursor, never with a clock. */
  xid: ColumnType<string, unknown, unknown>;
}

/** The answer to a POST with `Idempotency-Key`, kept for 24 h (§0.7). */
export interface IdempotencyRow {
  principal_id: string;
  route: string;
  key: string;
  body_hash: string;
  status: number;
  /** Null when the answer carried a secret: it cannot be replayed. */
  body: unknown;
  created_at: Date;
}
