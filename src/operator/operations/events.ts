import { EVENTS } from "../../crds/operations/events.ts";
import { printableLine } from "../../crds/printable.ts";
import { resources } from "../../kube/objects/resource.ts";
import type { ClusterEvent } from "./objects.ts";
import { type OperationCall, operation } from "./operation.ts";

/** The API server keeps events in no useful order, so that many are read to find the newest. */
const READ_AT_MOST = 2_000;

export const events = operation(EVENTS, {
  timeLimitMs: 30_000,
  async run(call, signal) {
    const { namespace, name, kind, limit } = call.params;
    return { namespace, events: await newestEvents(call, { namespace, name, kind, limit }, signal) };
  },
});

interface EventFilter {
  readonly namespace: string;
  readonly name?: string | undefined;
  readonly kind?: string | undefined;
  readonly limit: number;
}

/** Newest first. */
export async function newestEvents(
  { client, redact }: Pick<OperationCall<never>, "client" | "redact">,
  { namespace, name, kind, limit }: EventFilter,
  signal: AbortSignal,
): Promise<readonly object[]> {
  const selectors = [name && `regarding.name=${name}`, kind && `regarding.kind=${kind}`].filter(Boolean);
  const options = {
    namespace,
    limit: READ_AT_MOST,
    ...(selectors.length > 0 && { fieldSelector: selectors.join(",") }),
  };
  const found: { readonly at: string; readonly line: object }[] = [];
  for await (const event of client.list<ClusterEvent>(resources.events, options, signal)) {
    const at = lastSeen(event);
    const count = event.series?.count ?? event.deprecatedCount ?? 1;
    const note = redact(printableLine(event.note ?? "", 512));
    const regarding = `${event.regarding?.kind ?? "?"}/${event.regarding?.name ?? "?"}`;
    found.push({ at, line: { at, type: event.type, reason: event.reason, regarding, count, note } });
  }
  found.sort((a, b) => (a.at < b.at ? 1 : -1));
  return found.slice(0, limit).map(({ line }) => line);
}

/** Events of the old recorder have only the deprecated times. */
function lastSeen(event: ClusterEvent): string {
  return (
    event.series?.lastObservedTime ??
    event.deprecatedLastTimestamp ??
    event.eventTime ??
    event.metadata.creationTimestamp
  );
}
