export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON merge patch that changes `from` into `to`. */
export function mergePatch(from: JsonObject, to: JsonObject): JsonObject {
  const gone = Object.keys(from).filter((key) => !(key in to));
  const patch: Record<string, Json> = Object.fromEntries(gone.map((key) => [key, null]));
  for (const [key, value] of Object.entries(to)) {
    const old = from[key];
    if (isObject(value) && isObject(old)) {
      const inner = mergePatch(old, value);
      if (Object.keys(inner).length > 0) patch[key] = inner;
    } else if (JSON.stringify(value) !== JSON.stringify(old)) patch[key] = value;
  }
  return patch;
}
