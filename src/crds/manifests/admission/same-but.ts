import { isDeepStrictEqual } from "node:util";
import { quoted } from "./admission-policy.ts";

/** Keys that may differ on one level of two maps; the first one leads to the next level. */
export type Level = readonly [string, ...string[]];
export type Levels = readonly [Level, ...Level[]];

/**
 * CEL: two maps are equal, except in the keys that `levels` names. No other key is named, so that it also compares
 * fields that no Kubernetes has yet. A missing level counts as empty. Both maps must be `dyn`: CEL's type checker
 * rejects access by key to a typed object.
 *
 * A list of one element gives the next level a name. With the way to it written out wherever it is meant, the type checker
 * takes time by the square of the depth, and by that of the whole expression again.
 */
export function sameBut(now: string, was: string, [but, ...deeper]: Levels): string {
  const level = sameLevel(now, was, but);
  if (!isLevels(deeper)) return level;
  const next = (map: string): string => `[${map}[?'${but[0]}'].orValue({})]`;
  return `${level} && ${next(now)}.all(now, ${next(was)}.all(was, ${sameBut("now", "was", deeper)}))`;
}

/** CEL: a map has no other keys than those that `levels` names. */
export function nothingBut(map: string, [but, ...deeper]: Levels): string {
  const level = `${map}.all(k, ${except(but)})`;
  if (!isLevels(deeper)) return level;
  return `${level} && [${map}[?'${but[0]}'].orValue({})].all(below, ${nothingBut("below", deeper)})`;
}

function isLevels(levels: readonly Level[]): levels is Levels {
  return levels.length > 0;
}

function sameLevel(now: string, was: string, but: Level): string {
  return `${now}.all(k, ${except(but)} || (k in ${was} && ${now}[k] == ${was}[k])) && ${was}.all(k, ${except(but)} || k in ${now})`;
}

function except(but: Level): string {
  return `k in [${quoted(but)}]`;
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
