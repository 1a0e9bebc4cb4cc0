import { type ExternalBinding, isExternalBinding } from "../../../contract/deployments/rendered-config.ts";
import type { KubernetesStack } from "../../../contract/deployments/stack.ts";
import { isRenderedType } from "../../../contract/stacks/kubernetes-config.ts";
import type { RenderProblem } from "./render-problem.ts";

type Resources = KubernetesStack["resources"];

/** The ids that a resource depends on. */
export function needsOf({ dependencies }: Resources[string]): readonly string[] {
  return dependencies.map((dependency) => (typeof dependency === "string" ? dependency : dependency.id));
}

/** Models are reached over the platform's own addresses: a cluster has nothing of them. */
const MAKES_NOTHING = "ai";

export interface Bindings {
  readonly byId: ReadonlyMap<string, ExternalBinding>;
  readonly problems: readonly RenderProblem[];
}

/** What the deployment names in place of resources of this stack; names for others may be left over from another release. */
export function bindingsOf(resources: Resources, given: Readonly<Record<string, unknown>>): Bindings {
  const byId = new Map<string, ExternalBinding>();
  const problems: RenderProblem[] = [];
  for (const [id, { config }] of Object.entries(resources)) {
    if (config.type === "manifests" || config.type === MAKES_NOTHING) continue;
    const shown = id.slice(0, 128);
    const path = `config.externalBindings.${shown}`;
    const binding = Object.hasOwn(given, id) ? given[id] : undefined;
    if (isExternalBinding(binding)) byId.set(id, binding);
    else if (binding != null) {
      const message = `needs "secret" or "configMap", the name of one in the namespace, and may have "env", a map of variables to its keys`;
      problems.push({ path, message, code: "CONFIGURATION_INVALID" });
    } else if (!isRenderedType(config.type)) {
      const type = config.type.slice(0, 64);
      const message = `${type} is not made in a cluster: name the Secret or ConfigMap of what takes its place in externalBindings.${shown}`;
      problems.push({ path: `stack.resources.${shown}`, message, code: "UNSUPPORTED_RESOURCE" });
    }
  }
  return { byId, problems };
}
