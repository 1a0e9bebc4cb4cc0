import type { KubernetesEvent } from "../../contract/resources/resource-heartbeat.ts";
import type { Event } from "../../kube/projection/shapes.ts";
import { count, line, paragraph, timeOf } from "../kernel/told-words.ts";

/** Of one workload. */
const MAX_EVENTS = 20;
const MAX_NOTE = 1_024;

/** The newest events, each once, as they are told: words of controllers without what looks like a secret. */
export function eventLines(events: readonly Event[]): readonly KubernetesEvent[] {
  const byUid = new Map(events.map((event) => [event.metadata.uid, event]));
  return [...byUid.values()]
    .toSorted((a, b) => (lastSeen(a) > lastSeen(b) ? -1 : 1))
    .slice(0, MAX_EVENTS)
    .map(eventLine);
}

function eventLine(event: Event): KubernetesEvent {
  const { reason, note = "", type, series, regarding, reportingController, deprecatedCount } = event;
  return {
    reason: line(reason) ?? "",
    message: paragraph(note, MAX_NOTE) ?? "",
    type: line(type),
    count: count(series?.count ?? deprecatedCount) || 1,
    eventTime: timeOf(event.eventTime),
    firstTimestamp: timeOf(event.deprecatedFirstTimestamp ?? event.eventTime),
    lastTimestamp: timeOf(lastSeen(event)),
    involvedObject: { kind: line(regarding.kind) ?? "", name: line(regarding.name) ?? "" },
    source: line(reportingController),
  };
}

function lastSeen({ series, deprecatedLastTimestamp, eventTime, metadata }: Event): string {
  return series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata.creationTimestamp;
}
