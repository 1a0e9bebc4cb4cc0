import type { Stack, StackResource } from "../../../../contract/deployments/stack.ts";

/** A resource with its config unchanged: a release keeps fields that the platform does not know. */
export interface EnabledResource extends Omit<StackResource, "config"> {
  readonly id: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** The resources of a stored stack, by id, without those whose condition is `false`. */
export function enabledResources(stack: Readonly<Record<string, unknown>>): readonly EnabledResource[] {
  // The stack was checked when the release was created.
  const { resources } = stack as unknown as Stack;
  return Object.entries(resources)
    .filter(([, resource]) => (resource as { enabledWhen?: unknown }).enabledWhen !== false)
    .map(([id, resource]) => ({ ...resource, id }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}
