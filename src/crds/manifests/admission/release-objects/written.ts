import type { InstallationNames } from "../../../group.ts";
import { POD_KINDS } from "../../../released/release-kinds.ts";
import { type Named, quoted } from "../admission-policy.ts";
import { NOW_AND_WAS } from "../machine-policies.ts";

export function madeBy({ grantsNamespace }: InstallationNames, form: "plan" | "rollout"): string {
  return `request.userInfo.username.startsWith('system:serviceaccount:${grantsNamespace}:${form}-')`;
}

/**
 * What an account that plans would really write is refused by its own policy alone: of several refusals an API server tells
 * one, and the operator knows by that policy's name that plans change nothing.
 */
export function releaseAccountsOnly(names: InstallationNames): readonly Named[] {
  const expression = `${madeBy(names, "rollout")} || (${madeBy(names, "plan")} && has(request.dryRun) && request.dryRun)`;
  return [{ name: "made-by-the-account-of-a-rollout", expression }];
}

function templateOf(state: "now" | "was"): string {
  const [direct, inJob] = ["", "[?'jobTemplate'][?'spec']"].map(
    (between) => `variables.${state}[?'spec']${between}[?'template'].orValue({})`,
  );
  return `variables.kind == 'CronJob.batch' ? ${inJob} : ${direct}`;
}

/** CEL: the kind of the written object with its group, whose it may be, and the pod that it runs, if it does. */
export const WRITTEN: readonly Named[] = [
  ...NOW_AND_WAS,
  { name: "kind", expression: "request.kind.kind + (request.kind.group == '' ? '' : '.' + request.kind.group)" },
  {
    // The name of the ManagedDeployment that the account's name ends with. The name of an account without one has colons,
    // which no label may have.
    name: "deployment",
    expression: "request.userInfo.username.substring(request.userInfo.username.indexOf('.') + 1)",
  },
  { name: "labels", expression: "variables.now[?'metadata'][?'labels'].orValue({})" },
  { name: "wasLabels", expression: "variables.was[?'metadata'][?'labels'].orValue({})" },
  {
    // What the customer has put into a member is the customer's: it may still be labelled, detached and deleted.
    name: "changes",
    expression:
      "request.operation == 'CREATE' || (request.operation != 'DELETE' && " +
      "variables.now[?'spec'].orValue({}) != variables.was[?'spec'].orValue({}))",
  },
  { name: "runsPods", expression: `variables.changes && variables.kind in [${quoted(POD_KINDS)}]` },
  { name: "template", expression: templateOf("now") },
  { name: "wasTemplate", expression: templateOf("was") },
  { name: "pod", expression: "variables.template[?'spec'].orValue({})" },
  { name: "wasPod", expression: "variables.wasTemplate[?'spec'].orValue({})" },
  {
    name: "account",
    expression:
      "variables.pod[?'serviceAccountName'].orValue(variables.pod[?'serviceAccount'].orValue('')) == '' ? 'default' : " +
      "variables.pod[?'serviceAccountName'].orValue(variables.pod[?'serviceAccount'].orValue(''))",
  },
];
