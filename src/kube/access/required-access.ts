import type { ResourceRule, SubjectRules } from "../client/access-reviews.ts";
import type { Client } from "../client/client.ts";

/** One right that a process cannot do without: one verb on one resource. */
export interface RequiredAccess {
  readonly verb: string;
  readonly group: string;
  /** Plural, with its subresource: `pods/log`. */
  readonly resource: string;
  readonly namespace: string;
  /** Absent: every object of the namespace. */
  readonly name?: string;
}

/** As people say it: `list pods in shop`, `list pods.metrics.k8s.io in shop`. */
export function accessText({ verb, group, resource: plural, namespace, name }: RequiredAccess): string {
  // Of the other kinds no two that are asked for have the same plural.
  const resource = group === "metrics.k8s.io" ? `${plural}.${group}` : plural;
  return `${verb} ${resource}${name === undefined ? "" : `/${name}`} in ${namespace}`;
}

/**
 * Which of `required` this process does not have. One rules review a namespace; only what that does not show is asked
 * for one by one, because authorizers may leave rules out (a webhook's, or the node authorizer's).
 *
 * @throws ApiError 403: not even allowed to ask, which the built-in role `system:basic-user` lets every user do.
 */
export async function missingAccess<T extends RequiredAccess>(
  client: Pick<Client, "selfSubjectRulesReview" | "selfSubjectAccessReview">,
  required: readonly T[],
  signal: AbortSignal,
): Promise<readonly T[]> {
  const missing: T[] = [];
  for (const [namespace, wanted] of Map.groupBy(required, (each) => each.namespace)) {
    const rules = await client.selfSubjectRulesReview(namespace, signal);
    for (const each of wanted) {
      if (isCovered(each, rules)) continue;
      if (rules.incomplete && (await isAllowed(client, each, signal))) continue;
      missing.push(each);
    }
  }
  return missing;
}

function isCovered({ verb, group, resource, name }: RequiredAccess, { resourceRules }: SubjectRules): boolean {
  const has = (list: readonly string[] | undefined, word: string): boolean =>
    list?.some((each) => each === word || each === "*") ?? false;
  const fits = ({ verbs, apiGroups, resources, resourceNames = [] }: ResourceRule): boolean =>
    has(verbs, verb) &&
    has(apiGroups, group) &&
    has(resources, resource) &&
    (resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name)));
  return resourceRules.some(fits);
}

function isAllowed(
  client: Pick<Client, "selfSubjectAccessReview">,
  { resource: path, ...rest }: RequiredAccess,
  signal: AbortSignal,
): Promise<boolean> {
  const { verb, group, namespace, name } = rest;
  const [resource = "", subresource] = path.split("/", 2);
  const which = { ...(subresource !== undefined && { subresource }), ...(name !== undefined && { name }) };
  return client.selfSubjectAccessReview({ verb, group, resource, namespace, ...which }, signal);
}
