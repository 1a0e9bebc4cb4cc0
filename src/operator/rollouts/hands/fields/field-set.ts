import { isRecord } from "../../../../base/is-record.ts";

/**
 * Fields that one manager owns, as `metadata.managedFields` has them: `{"f:spec": {"f:replicas": {}}}`. `.` is the element
 * itself; an empty set is a field that is owned with all that is below.
 */
export interface FieldSet {
  readonly [step: string]: FieldSet;
}

/** The API server fills in a key of a list's element that a manifest may leave out. */
const DEFAULTS: Readonly<Record<string, unknown>> = { protocol: "TCP" };

/**
 * Finds the step of an element of a list: `k:{"name":"c"}` by its keys, `v:"x"` by its value. Each step is read once,
 * because lists of hundreds of elements are looked up in one another.
 */
export function stepsOf(steps: readonly string[]): (element: unknown) => string | undefined {
  const known = new Map<string, string>();
  const keysOfAll = new Map<string, readonly string[]>();
  for (const step of steps) {
    const [form, text] = [step.slice(0, 2), step.slice(2)];
    if (form === "v:") known.set(spelledValue(JSON.parse(text)), step);
    if (form !== "k:") continue;
    const found: unknown = JSON.parse(text);
    if (!isRecord(found)) continue;
    const keys = Object.keys(found).toSorted();
    keysOfAll.set(keys.join(), keys);
    known.set(spelledKeys(keys, found), step);
  }
  return (element) => {
    if (isRecord(element)) {
      for (const keys of keysOfAll.values()) {
        const step = known.get(spelledKeys(keys, element));
        if (step !== undefined) return step;
      }
    }
    return known.get(spelledValue(element));
  };
}

function spelledValue(value: unknown): string {
  return `v:${JSON.stringify(value)}`;
}

function spelledKeys(keys: readonly string[], element: Readonly<Record<string, unknown>>): string {
  return `k:${JSON.stringify(keys.map((key) => [key, element[key] ?? DEFAULTS[key]]))}`;
}
