import type { KubernetesEvent } from "../../contract/resources/resource-heartbeat.ts";
import { printable, printableLine } from "../../crds/printable.ts";
import { redactText } from "../../crds/redact.ts";
import type { Event } from "../../kube/projection/shapes.ts";

/** Of one workload. */
const MAX_EVENTS = 20;
const MAX_LINE = 1_024;
/** Read for secrets: a cut before could halve one, and what is left would not be known for one. */
const MAX_NOTE = 8_192;

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
  const count = series?.count ?? deprecatedCount;
  const clean = redactText(note.slice(0, MAX_NOTE), () => undefined);
  return {
    reason: printableLine(reason, MAX_LINE),
    message: printable(clean, MAX_LINE),
    type: printableLine(type, MAX_LINE),
    count: count > 0 ? count : 1,
    eventTime: timeOf(event.eventTime),
    firstTimestamp: timeOf(event.deprecatedFirstTimestamp ?? event.eventTime),
    lastTimestamp: timeOf(lastSeen(event)),
    involvedObject: {
      kind: printableLine(regarding.kind, MAX_LINE),
      name: printableLine(regarding.name, MAX_LINE),
    },
    source: printableLine(reportingController, MAX_LINE),
  };
}

function lastSeen({ series, deprecatedLastTimestamp, eventTime, metadata }: Event): string {
  return series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? metadata.creationTimestamp;
}

/** A time that is none would have the whole report refused. */
function timeOf(text: string | undefined): string | null {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}
