export interface IdempotencyTables {
  idempotency: IdempotencyRow;
}

/** What a POST with `Idempotency-Key` answered, for 24 h (§0.7). */
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
