import { NAMESPACE_NAME } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";

/** Where the plan of this grant can have been given rights: its lines name their namespaces. */
export function plannedNamespaces({ spec }: Pick<AccessGrant, "spec">): readonly string[] {
  const named = spec.commands.map(({ params }) => params?.namespace);
  return [...new Set(named.filter((name): name is string => typeof name === "string" && NAMESPACE_NAME.test(name)))];
}
