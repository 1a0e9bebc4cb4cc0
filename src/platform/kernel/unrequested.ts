import type { Db } from "../database.ts";
import type { Call } from "./call.ts";
import { insertEvent, insertFeedTopic } from "./outbox.ts";

/**
 * What rules need of a call, for a change that time makes and no request. Nobody is woken: sleepers of the feed look
 * by themselves every few seconds.
 */
export function unrequested(db: Db, now: Date): Pick<Call, "db" | "now" | "emit" | "raise"> {
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
