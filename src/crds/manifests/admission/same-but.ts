import { isDeepStrictEqual } from "node:util";

/** Keys that may differ on one level of two maps; the first one leads to the next level. */
export type Level = readonly [string, ...string[]];

/**
 * CEL: two maps are equal, except in the keys that `levels` names. No other key is named, so that it also compares
 * fields that no Kubernetes has yet. A missing level counts as empty. Both maps must be `dyn`: CEL's type checker
 * rejects access by key to a typed object.
 */
export function sameBut(now: string, was: string, levels: readonly Level[]): string {
  const below = (map: string, depth: number): string => {
    const keys = levels.slice(0, depth).map(([key]) => `[?'${key}']`);
    return keys.length === 0 ? map : `${map}${keys.join("")}.orValue({})`;
  };
  return levels.map((but, depth) => sameLevel(below(now, depth), below(was, depth), but)).join(" && ");
}

function sameLevel(now: string, was: string, but: Level): string {
  const except = `k in [${but.map((key) => `'${key}'`).join(", ")}]`;
  return `${now}.all(k, ${except} || (k in ${was} && ${now}[k] == ${was}[k])) && ${was}.all(k, ${except} || k in ${now})`;
}

/** The same for two objects here: `plugin test` judges with it what a customer's API server judges by the expression. */
export function isSameBut(now: object, was: object, levels: readonly Level[]): boolean {
  const below = (map: object, depth: number): Fields =>
    levels.slice(0, depth).reduce<Fields>((at, [key]) => fieldsOf(at[key]), fieldsOf(map));
  return levels.every((but, depth) => {
    const [left, right] = [below(now, depth), below(was, depth)];
    const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
    return keys.every((key) => but.includes(key) || isDeepStrictEqual(left[key], right[key]));
  });
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
