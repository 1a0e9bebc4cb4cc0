import { NAMESPACE_NAME } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { Place } from "../../crds/kinds/lending.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";

/** Where the plan of this grant can have been given rights: its lines name their namespaces. */
export function plannedNamespaces({ spec }: Pick<AccessGrant, "spec">): readonly string[] {
  const named = spec.commands.map(({ params }) => params?.namespace);
  return [...new Set(named.filter((name): name is string => typeof name === "string" && NAMESPACE_NAME.test(name)))];
}

/** The same, and the whole cluster for a line that works on an object without a namespace. */
export function plannedPlaces(grant: Pick<AccessGrant, "spec">, commands: CommandTable): readonly Place[] {
  const isWide = grant.spec.commands.some(({ command }) => commands.isClusterWide(command));
  return isWide ? [...plannedNamespaces(grant), undefined] : plannedNamespaces(grant);
}
