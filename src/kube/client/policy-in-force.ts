import type { KubeObject, Resource } from "../objects/resource.ts";
import type { Client } from "./client.ts";

interface PolicyBinding extends KubeObject {
  readonly spec: { readonly policyName?: string; readonly validationActions?: readonly string[] };
}

/**
 * Since when an admission policy works whose binding has its name; `since` undefined: it does not. A policy does nothing
 * without its binding; together they are as old as the younger of the two.
 */
export async function inForceSince(
  client: Pick<Client, "get">,
  policies: Resource,
  bindings: Resource,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly since: Date | undefined }> {
  const [policy, binding] = await Promise.all([
    client.get(policies, { name }, signal),
    client.get<PolicyBinding>(bindings, { name }, signal),
  ]);
  const denies = binding?.spec.validationActions?.includes("Deny") ?? true; // Mutating bindings have no actions.
  if (policy === undefined || binding === undefined || binding.spec.policyName !== name || !denies) {
    return { name, since: undefined };
  }
  const ages = [policy, binding].map(({ metadata }) => Date.parse(metadata.creationTimestamp));
  return { name, since: new Date(Math.max(...ages)) };
}
