import type { PluginRule } from "../../plugins/rules.ts";

/** One verb on one resource, such as `patch` on `deployments/scale` of `apps`. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** Whether one of the rules gives this right, as RBAC reads them. There are no wildcards in them. */
export function permits(rules: readonly PluginRule[], { verb, group, resource }: Right): boolean {
  return rules.some(
    ({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) && resources.includes(resource) && verbs.some((each) => each === verb),
  );
}

/** The rights that `needed` has and `given` has not, each once, in the order of `needed`. */
export function lackingRights(needed: readonly PluginRule[], given: readonly PluginRule[]): readonly string[] {
  const all = needed.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource })))),
  );
  return [...new Set(all.filter((right) => !permits(given, right)).map(rightText))];
}

export function rightText({ verb, group, resource }: Right): string {
  return `${verb} ${group === "" ? resource : `${resource} of ${group}`}`;
}
