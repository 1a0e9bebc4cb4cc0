import { type MayUse, USED, USED_LISTS, type UsedList, WITH_DOMAIN } from "../../../released/may-use.ts";
import { forbid, type Named, quoted, type Validation } from "../admission-policy.ts";

/** CEL: what the rules below read. A list has what is always free, then the customer's. */
export function useVariables(mayUse: MayUse): readonly Named[] {
  return [
    ...USED_LISTS.map((list) => ({
      name: mayOf(list),
      // An empty list is one empty name, which a template can write.
      expression: `[${quoted([...USED[list].always, ...(mayUse[list].length === 0 ? [""] : mayUse[list])])}].filter(p, p != '')`,
    })),
    {
      // Metadata of what a controller makes of the object: pods, Jobs, claims.
      name: "metadataWithin",
      expression: metadataWithin("now", "template", "claims"),
    },
    { name: "wasMetadataWithin", expression: metadataWithin("was", "wasTemplate", "wasClaims") },
    {
      name: "resources",
      expression: "([variables.pod] + variables.containers).map(c, c[?'resources'].orValue({}))",
    },
    {
      name: "wasResources",
      expression: "([variables.wasPod] + variables.wasContainers).map(c, c[?'resources'].orValue({}))",
    },
  ];
}

function metadataWithin(state: "now" | "was", template: string, claims: string): string {
  const ofJob = `variables.kind == 'CronJob.batch' ? [variables.${state}[?'spec'][?'jobTemplate'][?'metadata'].orValue({})] : []`;
  return (
    `[variables.${template}[?'metadata'].orValue({})] + (${ofJob}) + ` +
    `(variables.kind == 'PersistentVolumeClaim' ? [] : variables.${claims}.map(c, c[?'metadata'].orValue({})))`
  );
}

/** `mayPriorityClasses`. */
function mayOf(list: UsedList): string {
  return `may${list.charAt(0).toUpperCase()}${list.slice(1)}`;
}

/** CEL: the name `n` is in the list. */
function isUsable(list: UsedList): string {
  const free = WITH_DOMAIN.includes(list) ? "!n.contains('/') || " : "";
  return `${free}variables.${mayOf(list)}.exists(p, p.endsWith('*') ? n.startsWith(p.substring(0, p.size() - 1)) : n == p)`;
}

const MAY = (list: UsedList): string => `(releases.mayUse.${list})`;

/** What a release names of the customer's, and what controllers obey. What the customer has put there stays. */
export function useRules(): readonly Validation[] {
  return [...classes(), ...resourceRules(), ...places(), ...metadataRules()];
}

function classes(): readonly Validation[] {
  const named = (field: string, list: UsedList, whose: string): Validation =>
    forbid(
      `!variables.runsPods || [variables.pod[?'${field}'].orValue('')].all(n, n == '' || ` +
        `n == variables.wasPod[?'${field}'].orValue('') || ${isUsable(list)})`,
      `a rollout runs pods with ${whose} that releases may use only ${MAY(list)}`,
    );
  return [
    named("priorityClassName", "priorityClasses", "a priority class"),
    named("runtimeClassName", "runtimeClasses", "a runtime class"),
    named("schedulerName", "schedulers", "a scheduler"),
  ];
}

function resourceRules(): readonly Validation[] {
  return [
    forbid(
      "!variables.runsPods || variables.pod[?'resourceClaims'].orValue([]).all(c, c in variables.wasPod[?'resourceClaims'].orValue([]) || " +
        "['resourceClaimName', 'resourceClaimTemplateName'].all(f, [c[?f].orValue('')].all(n, n == '' || " +
        `${isUsable("resourceClaims")})))`,
      `a rollout takes devices by claims that releases may use only ${MAY("resourceClaims")}`,
    ),
    forbid(
      "!variables.runsPods || variables.resources.all(r, ['limits', 'requests'].all(f, r[?f].orValue({}).all(n, " +
        `${isUsable("extendedResources")} || variables.wasResources.exists(w, n in w[?f].orValue({})))))`,
      `a rollout asks for resources that releases may use only ${MAY("extendedResources")}`,
    ),
  ];
}

function places(): readonly Validation[] {
  const isHere = (term: string): string =>
    `(${term}[?'namespaces'].orValue([]).size() == 0 && !('namespaceSelector' in ${term}))`;
  const affinity = "variables.pod[?'affinity'][?a]";
  return [
    forbid(
      "!variables.runsPods || ['priority', 'schedulingGroup', 'subdomain'].all(f, " +
        "variables.pod[?f].orValue('') in [dyn(''), dyn(0)] || variables.pod[?f] == variables.wasPod[?f])",
      "a rollout runs no pod with a priority, a group or a subdomain of its own (priority, schedulingGroup, subdomain)",
    ),
    forbid(
      "!variables.runsPods || variables.pod[?'affinity'] == variables.wasPod[?'affinity'] || ['podAffinity', 'podAntiAffinity'].all(a, " +
        `${affinity}[?'requiredDuringSchedulingIgnoredDuringExecution'].orValue([]).all(t, ${isHere("t")}) && ` +
        `${affinity}[?'preferredDuringSchedulingIgnoredDuringExecution'].orValue([])` +
        `.map(p, p[?'podAffinityTerm'].orValue({})).all(t, ${isHere("t")}))`,
      "a rollout places no pod by pods of other namespaces (podAffinity, podAntiAffinity)",
    ),
    forbid(
      "!variables.runsPods || variables.securityContexts.all(s, ['gmsaCredentialSpec', 'gmsaCredentialSpecName'].all(f, " +
        "s[?'windowsOptions'][?f].orValue('') == ''))",
      "a rollout runs no pod as an account of a directory (windowsOptions.gmsaCredentialSpec)",
    ),
  ];
}

function metadataRules(): readonly Validation[] {
  // Those of a Secret: `secret-admission.ts`.
  const names = (list: "annotations" | "labels", was: string): Validation =>
    forbid(
      `variables.isSecret || variables.${list}.all(n, ${isUsable(list)} || variables.${was}[?n] == optional.of(variables.${list}[n]))`,
      `a rollout writes ${list} that releases may use only ${MAY(list)}`,
    );
  const within = (list: "annotations" | "labels"): Validation =>
    forbid(
      `!variables.changes || variables.metadataWithin.all(m, m[?'${list}'].orValue({}).all(n, ${isUsable(list)} || ` +
        `variables.wasMetadataWithin.exists(w, w[?'${list}'][?n] == optional.of(m.${list}[n]))))`,
      `a rollout gives pods and claims ${list} that releases may use only ${MAY(list)}`,
    );
  return [
    names("annotations", "wasAnnotations"),
    names("labels", "wasLabels"),
    within("annotations"),
    within("labels"),
    forbid(
      "!variables.changes || variables.metadataWithin.all(m, m.all(f, " +
        "f in ['annotations', 'creationTimestamp', 'labels', 'name'] || variables.wasMetadataWithin.exists(w, w[?f] == m[?f])))",
      "a rollout gives pods and claims no metadata but a name, labels and annotations",
    ),
  ];
}
