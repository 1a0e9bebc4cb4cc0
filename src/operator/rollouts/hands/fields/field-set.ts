import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../../base/is-record.ts";

/**
 * Fields that one manager owns, as `metadata.managedFields` has them: `{"f:spec": {"f:replicas": {}}}`. `.` is the element
 * itself; an empty set is a field that is owned with all that is below.
 */
export interface FieldSet {
  readonly [step: string]: FieldSet;
}

/** Whether the step is this element of a list: `k:{"name":"c"}` by its keys, `v:"x"` by its value. */
export function names(step: string, element: unknown): boolean {
  const text = step.slice(2);
  if (step.startsWith("v:")) return isDeepStrictEqual(JSON.parse(text), element);
  if (!step.startsWith("k:") || !isRecord(element)) return false;
  const keys = JSON.parse(text) as Readonly<Record<string, unknown>>;
  // The API server fills in a key that a manifest may leave out.
  const isDefault = (key: string, value: unknown): boolean => key === "protocol" && value === "TCP";
  return Object.entries(keys).every(
    ([key, value]) => element[key] === value || (element[key] === undefined && isDefault(key, value)),
  );
}
