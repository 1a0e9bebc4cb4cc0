import { Compile } from "typebox/compile";
import { BYTES_A_VALUE, RESOURCE_BYTES, SMALL_DOCUMENT_BYTES } from "../wire/schema.ts";
import { KUBERNETES_DATA, ObservedResource, ResourceHeartbeat } from "./resource-heartbeat.ts";

// For a reporter, before it sends: a platform refuses a report as a whole for one row that does not fit.
const row = Compile(ObservedResource);
const heartbeat = Compile(ResourceHeartbeat);
const data = new Map(Object.entries(KUBERNETES_DATA).map(([type, schema]) => [type, Compile(schema)]));

/** Whether a platform takes this row. */
export function rowFits(told: ObservedResource): boolean {
  if (!row.Check(told) || !isText(told, JSON.stringify(told))) return false;
  const { labels = {}, attributes = {} } = told;
  return [labels, attributes].every((each) => isWithin(each, JSON.stringify(each), SMALL_DOCUMENT_BYTES));
}

/** Whether a platform takes this heartbeat. */
export function heartbeatFits(told: ResourceHeartbeat): boolean {
  const { resourceType, data: inner } = told.data;
  const ofType = told.backend === "kubernetes" ? data.get(resourceType) : undefined;
  if (!heartbeat.Check(told) || ofType?.Check(inner) === false) return false;
  const json = JSON.stringify(told);
  return isText(told, json) && isWithin(inner, json, RESOURCE_BYTES);
}

/**
 * A document's bytes as JSON, and its values, which cost memory each. Both are counted only where they may be too many: a
 * sign has at most three bytes, and a value at least two signs.
 *
 * @param json of the document, or of what it is in.
 */
function isWithin(document: object, json: string, maxBytes: number): boolean {
  if (json.length <= maxBytes / 8) return true;
  return Buffer.byteLength(JSON.stringify(document)) <= maxBytes && valuesIn(document) <= maxBytes / BYTES_A_VALUE;
}

function valuesIn(part: unknown): number {
  if (typeof part !== "object" || part === null) return 0;
  const children: readonly unknown[] = Object.values(part);
  return children.reduce<number>((sum, child) => sum + valuesIn(child), children.length);
}

/** JSON has NUL and half of a character as one of these. */
const SUSPECT = /\\u0000|\\ud[89a-f]/;

/** Whether SQL and JSON can hold all of it. */
function isText(part: unknown, json: string): boolean {
  return !SUSPECT.test(json) || isStorable(part);
}

function isStorable(part: unknown): boolean {
  if (typeof part === "string") return !part.includes("\0") && part.isWellFormed();
  if (typeof part !== "object" || part === null) return true;
  return Object.entries(part).every(([name, child]) => isStorable(name) && isStorable(child));
}
