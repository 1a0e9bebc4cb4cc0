import { isCovered, type PluginRule, type Right, rightsOf } from "../../plugins/rules.ts";

/** The rights that `needed` has and `given` has not, each once, in the order of `needed`. */
export function lackingRights(needed: readonly PluginRule[], given: readonly PluginRule[]): readonly string[] {
  const lacking = needed.flatMap(rightsOf).filter((right) => !isCovered(given, right));
  return [...new Set(lacking.map(rightText))];
}

export function rightText({ verb, group, resource }: Right): string {
  return `${verb} ${group === "" ? resource : `${resource} of ${group}`}`;
}
