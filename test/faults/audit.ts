import { readFile } from "node:fs/promises";

/** One change of a workload that the API server accepted, by any user but the customer's admin. */
export interface Change {
  /** `scale w-1 57`, `restart w-1`, `delete w-1-pod-0`: as a plan's line asks for it. */
  readonly what: string;
  readonly user: string;
  readonly auditId: string;
}

interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly stage: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: { readonly spec?: { readonly replicas?: number; readonly template?: unknown } };
}

const ADMIN = "admin";
const START = '{"kind":"Event"';

export async function changesIn(auditLog: string): Promise<readonly Change[]> {
  const events = (await readFile(auditLog, "utf8")).split("\n").flatMap(readable);
  return events
    .filter(({ stage, user, responseStatus }) => {
      const accepted = stage === "ResponseComplete" && (responseStatus?.code ?? 500) < 300;
      return accepted && user.username !== ADMIN;
    })
    .map((event) => ({ what: whatOf(event), user: event.user.username, auditId: event.auditID }));
}

/** A killed API server leaves half a line, and the next one appends to it. */
function readable(line: string): readonly AuditEvent[] {
  const start = line.lastIndexOf(START);
  try {
    return start < 0 ? [] : [JSON.parse(line.slice(start)) as AuditEvent];
  } catch {
    return [];
  }
}

function whatOf({ verb, objectRef, requestObject }: AuditEvent): string {
  const { resource, subresource, name } = objectRef ?? {};
  if (resource === "deployments" && subresource === "scale") return `scale ${name} ${requestObject?.spec?.replicas}`;
  if (resource === "deployments" && verb === "patch" && requestObject?.spec?.template !== undefined)
    return `restart ${name}`;
  if (resource === "pods" && verb === "delete") return `delete ${name}`;
  return `${verb} ${resource}/${subresource ?? ""} ${name}`;
}
