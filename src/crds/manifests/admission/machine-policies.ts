import { type InstallationNames, MACHINES_ACCOUNT } from "../../group.ts";
import type { Named } from "./admission-policy.ts";
import { type Levels, sameBut } from "./same-but.ts";

export function accountName(account: string, { systemNamespace }: InstallationNames): string {
  return `system:serviceaccount:${systemNamespace}:${account}`;
}

export function madeByMachines(names: InstallationNames): readonly [Named] {
  const username = accountName(names.machinesAccount ?? MACHINES_ACCOUNT, names);
  return [{ name: "made-by-the-machine-controller", expression: `request.userInfo.username == '${username}'` }];
}

/** CEL over `variables.now` and `variables.was`, both `dyn`, so that also fields that no Kubernetes has yet compare. */
export const NOW_AND_WAS: readonly Named[] = [
  { name: "now", expression: "request.operation == 'DELETE' ? dyn({}) : dyn(object)" },
  { name: "was", expression: "oldObject == null ? dyn({}) : dyn(oldObject)" },
];
export const BOOKKEEPING: Levels = [["managedFields", "generation", "resourceVersion"]];
export const sameMetadata = (levels: Levels = BOOKKEEPING): string =>
  sameBut("variables.now[?'metadata'].orValue({})", "variables.was[?'metadata'].orValue({})", levels);
