import { Compile } from "typebox/compile";
import { BYTES_A_VALUE, RESOURCE_BYTES, SMALL_DOCUMENT_BYTES } from "../wire/schema.ts";
import { KUBERNETES_DATA, ObservedResource, ResourceHeartbeat } from "./resource-heartbeat.ts";

// For a reporter, before it sends: a platform refuses a report as a whole for one row that does not fit.
const row = Compile(ObservedResource);
const heartbeat = Compile(ResourceHeartbeat);
const data = new Map(Object.entries(KUBERNETES_DATA).map(([type, schema]) => [type, Compile(schema)]));

/** Whether a platform takes this row. */
export function rowFits(told: ObservedResource): boolean {
  const { labels = {}, attributes = {} } = told;
  return row.Check(told) && [labels, attributes].every((each) => isWithin(each, SMALL_DOCUMENT_BYTES)) && isText(told);
}

/** Whether a platform takes this heartbeat. */
export function heartbeatFits(told: ResourceHeartbeat): boolean {
  const { resourceType, data: inner } = told.data;
  const ofType = told.backend === "kubernetes" ? data.get(resourceType) : undefined;
  return heartbeat.Check(told) && ofType?.Check(inner) !== false && isWithin(inner, RESOURCE_BYTES) && isText(told);
}

/** A document's bytes as JSON, and its values, which cost memory each. */
function isWithin(document: object, maxBytes: number): boolean {
  return Buffer.byteLength(JSON.stringify(document)) <= maxBytes && valuesIn(document) <= maxBytes / BYTES_A_VALUE;
}

function valuesIn(part: unknown): number {
  if (typeof part !== "object" || part === null) return 0;
  const children: readonly unknown[] = Object.values(part);
  return children.reduce<number>((sum, child) => sum + valuesIn(child), children.length);
}

/** Whether SQL and JSON can hold all of it: no NUL, no half of a character, no number beyond all numbers. */
function isText(part: unknown): boolean {
  if (typeof part === "string") return !part.includes("\0") && part.isWellFormed();
  if (typeof part === "number") return Number.isFinite(part);
  if (typeof part !== "object" || part === null) return true;
  return Object.entries(part).every(([name, child]) => isText(name) && isText(child));
}
