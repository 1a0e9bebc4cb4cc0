import type { SecretsOf } from "./configuration-secret.ts";
import type { RenderProblem } from "./render-problem.ts";

const MAX_NAMED = 8;

/**
 * Where the customer lets releases bring no secret values: a problem for each variable. None is written into an object:
 * people read those, and etcd and logs keep them. Where the customer's own Secret gives the variable, no value is needed.
 */
export function secretsRefused(found: SecretsOf): readonly RenderProblem[] {
  const variables = new Map<string, { readonly path: string; readonly resourceIds: string[] }>();
  for (const [resourceId, secrets] of found) {
    for (const [name, { path }] of secrets) {
      const known = variables.get(name);
      if (known === undefined) variables.set(name, { path, resourceIds: [resourceId] });
      else known.resourceIds.push(resourceId);
    }
  }
  return [...variables].map(([name, { path, resourceIds }]) => {
    const [first = ""] = resourceIds;
    const more = resourceIds.length > MAX_NAMED ? " and others" : "";
    const message =
      `${name} is secret, and a release holds no secret values: put it into a Secret of the namespace, and name that for ` +
      `${resourceIds.slice(0, MAX_NAMED).join(", ")}${more}, as in externalBindings.${first} = {"secret": "<its name>", "env": {"${name}": "<its key>"}}`;
    return { path, message, code: "SECRET_VALUES_REFUSED" };
  });
}
