import type { Db } from "../../database/db.ts";
import { insertEvent, insertFeedTopic } from "../events/outbox.ts";
import type { Call, ChangeCall, Hooks } from "./call.ts";
import { inTransaction } from "./transaction.ts";

export type Unrequested = Pick<Call, "db" | "now" | "emit" | "raise">;

/**
 * What rules need of a call, for a change that time makes and no request. Nobody is woken: sleepers of the feed look
 * by themselves every few seconds.
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
 * Such a change in a transaction as a request has it: serialisable, and begun again after a lost race. Beside one of a weaker
 * isolation a request's own checks of the same rows hold nothing.
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
