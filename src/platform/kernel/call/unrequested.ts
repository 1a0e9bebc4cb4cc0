import type { Db } from "../../database/db.ts";
import { insertEvent, insertFeedTopic } from "../events/outbox.ts";
import type { Call, ChangeCall, Hooks } from "./call.ts";
import { inTransaction } from "./transaction.ts";

export type Unrequested = Pick<Call, "db" | "now" | "emit" | "raise">;

/**
 * What a rule needs for a change that no request makes, such as one of a sweep. It wakes no long-poll: long-polls read
 * the feed again every few seconds.
 */
export function unrequested(db: Db, now: Date): Unrequested {
  return {
    db,
    now,
    async emit(event) {
      await insertEvent(db, event, now);
    },
    async raise(topic, deploymentId, managerId) {
      await insertFeedTopic(db, topic, deploymentId, managerId);
    },
  };
}

/**
 * Makes such a change in a transaction like a request's: serialisable, and repeated after a serialisation conflict.
 * With a weaker isolation level the checks that a concurrent request makes on the same rows would not hold.
 */
export function changeUnrequested<T>(
  db: Db,
  now: Date,
  hooks: Hooks,
  work: (call: ChangeCall) => Promise<T>,
): Promise<T> {
  const options = { readOnly: false, signal: new AbortController().signal, onRetry: () => undefined };
  return inTransaction(db, options, (transaction) => work({ ...unrequested(transaction, now), hooks }));
}
