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
