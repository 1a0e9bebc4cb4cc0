import { OPERATIONS } from "../../../src/crds/operations/catalog.ts";
import type { Scope } from "../../../src/crds/operations/operation.ts";
import { type Branch, branch, flag, list, OBJECT_NAME, type ValueNode } from "./chart-value.ts";

const NAMES = list(
  "The only objects that its role reaches, by name; neither a request nor a stolen operator can widen it. Empty: any.",
  [],
  OBJECT_NAME,
);

/** A switch for each operation. */
export const OPERATION_VALUES: Branch = branch(
  "Off: the operation's role is not there, and the operator may not lend it.",
  Object.fromEntries([...new Set(OPERATIONS.map(({ plugin }) => plugin))].map((plugin) => [plugin, ofPlugin(plugin)])),
);

function ofPlugin(plugin: string): Branch {
  const own = OPERATIONS.filter((each) => each.plugin === plugin);
  const switches = own.map(({ name, summary, scope }) => [
    name,
    branch(summary, { enabled: switchOf(scope), ...(scope === "cluster" && { names: NAMES }) }),
  ]);
  return branch(`Operations of the plugin ${plugin}.`, Object.fromEntries(switches));
}

function switchOf(scope: Scope): ValueNode {
  if (scope === "namespaced") return flag(true, "May be granted.");
  return flag(
    false,
    "May be granted, to deployments that `operationPolicy.clusterOperations` names. On, the operator may lend its role in the whole cluster; not with `rbac.scope: namespaces`.",
  );
}
