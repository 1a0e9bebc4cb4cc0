import { heartbeatFits, rowFits } from "../../contract/resources/fits.ts";
import type {
  ObservedResource,
  ResourceHeartbeat,
  ResourceStatus,
} from "../../contract/resources/resource-heartbeat.ts";
import type { Observation } from "./ledger.ts";

const MISFIT = {
  reason: "collection-failed",
  severity: "error",
  source: "kubernetes",
  message: "this object has more than a report can hold; of it only its name and its state are told",
} as const;

/** What is told of an object: all of it, or what is least, because one row that does not fit has all of them refused. */
export function fitting({ row, heartbeat }: Observation): Observation {
  return {
    row: rowFits(row) ? row : leastRow(row),
    heartbeat: heartbeat === undefined || heartbeatFits(heartbeat) ? heartbeat : leastHeartbeat(heartbeat),
  };
}

function leastRow(row: ObservedResource): ObservedResource {
  const { rawIdentity, providerKind, displayName, health, lifecycle, namespace = null } = row;
  return {
    ...{ rawIdentity, providerKind, displayName, health, lifecycle, namespace },
    ...{ partial: true, providerStale: row.providerStale, resourceTypeHint: row.resourceTypeHint ?? null },
    ...{ managedResourceId: row.managedResourceId ?? null, message: null, counts: {} },
    collectionIssues: [...(row.collectionIssues ?? []).slice(0, 10), MISFIT],
  };
}

/** Of what the contract asks for by type, with nothing that others wrote but the name. */
function leastHeartbeat(heartbeat: ResourceHeartbeat): ResourceHeartbeat {
  const { status, ...rest } = heartbeat.data.data as ResourceHeartbeat["data"]["data"] &
    Readonly<Record<string, unknown>>;
  const { backend, namespace, name, workloadKind, triggerCount, commandSupported } = rest;
  const { health, lifecycle, stale, collectionIssues } = status;
  const least: ResourceStatus = {
    ...{ health, lifecycle, stale, partial: true },
    collectionIssues: [...collectionIssues.slice(0, 10), MISFIT],
  };
  const data = {
    ...{ status: least, backend, namespace, name, replicas: {}, pods: [], events: [] },
    ...(workloadKind !== undefined && { workloadKind }),
    ...(triggerCount !== undefined && { triggerCount }),
    ...(commandSupported !== undefined && { commandSupported }),
  };
  return { ...heartbeat, data: { ...heartbeat.data, data } };
}
