import type { RenderProblem } from "./render-problem.ts";

const MAX_NAMED = 8;

/**
 * Secret values that workloads would get. None is written into an object: people read those, and etcd and logs keep them.
 * Where the customer's own Secret gives the variable, the value is not needed.
 */
export class SecretValues {
  /** By variable. */
  readonly #found = new Map<string, { readonly path: string; readonly resourceIds: string[] }>();

  /** @param secrets where each variable's value came from */
  note(resourceId: string, secrets: ReadonlyMap<string, string>): void {
    for (const [name, path] of secrets) {
      const known = this.#found.get(name);
      if (known === undefined) this.#found.set(name, { path, resourceIds: [resourceId] });
      else known.resourceIds.push(resourceId);
    }
  }

  problems(): readonly RenderProblem[] {
    return [...this.#found].map(([name, { path, resourceIds }]) => {
      const [first = ""] = resourceIds;
      const more = resourceIds.length > MAX_NAMED ? " and others" : "";
      const message =
        `${name} is secret, and a release holds no secret values: put it into a Secret of the namespace, and name that for ` +
        `${resourceIds.slice(0, MAX_NAMED).join(", ")}${more}, as in externalBindings.${first} = {"secret": "<its name>", "env": {"${name}": "<its key>"}}`;
      return { path, message, code: "SECRET_VALUES_REFUSED" };
    });
  }
}
