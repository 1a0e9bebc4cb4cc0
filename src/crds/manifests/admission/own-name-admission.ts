import { type InstallationNames, REPORTING_CONTROLLERS } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, type Named, type Validation, validatingPolicy } from "./admission-policy.ts";
import { type Levels, sameBut } from "./same-but.ts";

const PROCESSES = ["agent", "operator"] as const;

/**
 * 11 and 12. Agent and operator may use only their own name. RBAC cannot limit a create by name or by content: without
 * these, a stolen agent could write the operator's events and take its lease.
 */
export function ownNames(names: InstallationNames): readonly Manifest[] {
  return [...ownEvents(names), ...ownLeases(names)];
}

function accountOf(process: (typeof PROCESSES)[number], names: InstallationNames): string {
  return process === "agent" ? names.agentAccount : names.operatorAccount;
}

function username(process: (typeof PROCESSES)[number], names: InstallationNames): string {
  return `'system:serviceaccount:${names.systemNamespace}:${accountOf(process, names)}'`;
}

/** CEL: the account is the agent's or the operator's. */
export function oursOnly(names: InstallationNames): readonly Named[] {
  const usernames = PROCESSES.map((process) => username(process, names)).join(", ");
  return [{ name: "made-by-agent-or-operator", expression: `request.userInfo.username in [${usernames}]` }];
}

/** CEL: of the two processes, the one whose account it is. */
function own(names: InstallationNames, wordOf: (process: (typeof PROCESSES)[number]) => string): Named {
  const [agent, operator] = PROCESSES;
  const isAgent = `request.userInfo.username == ${username(agent, names)}`;
  return { name: "own", expression: `${isAgent} ? '${wordOf(agent)}' : '${wordOf(operator)}'` };
}

const METADATA = ["name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"];

function ownEvents(names: InstallationNames): readonly Manifest[] {
  const counted: Levels = [["metadata", "series"]];
  const bookkeeping: Levels = [["managedFields", "resourceVersion", "generation"]];
  const validations: readonly Validation[] = [
    forbid(
      "has(object.reportingController) && object.reportingController == variables.own",
      "agent and operator may only report events in their own name (reportingController)",
    ),
    forbid(
      `dyn(object.metadata).all(k, k in [${METADATA.map((key) => `'${key}'`).join(", ")}])`,
      "an event of agent or operator carries a name, and no other metadata",
    ),
    forbid(
      "request.operation == 'CREATE' || (oldObject.reportingController == variables.own && " +
        `${sameBut("variables.now", "variables.was", counted)} && ` +
        `${sameBut("variables.now.metadata", "variables.was.metadata", bookkeeping)})`,
      "of an event, agent and operator may only count repetitions (series), each of its own",
    ),
  ];
  return validatingPolicy(
    "sallyport-own-events",
    // The same objects are served by both groups.
    { apiGroups: ["events.k8s.io", ""], operations: ["CREATE", "UPDATE"], resources: ["events"] },
    {
      matchConditions: oursOnly(names),
      variables: [
        own(names, (process) => REPORTING_CONTROLLERS[process]),
        { name: "now", expression: "dyn(object)" },
        { name: "was", expression: "oldObject == null ? dyn({}) : dyn(oldObject)" },
      ],
      validations,
    },
  );
}

function ownLeases(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-own-leases",
    { apiGroups: ["coordination.k8s.io"], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["leases"] },
    {
      matchConditions: oursOnly(names),
      variables: [
        own(names, (process) => accountOf(process, names)),
        { name: "target", expression: "request.operation == 'DELETE' ? oldObject : object" },
      ],
      validations: [
        forbid(
          `variables.target.metadata.name == variables.own && request.namespace == '${names.systemNamespace}'`,
          "agent and operator may only hold their own lease",
        ),
        forbid(
          "!has(variables.target.metadata.finalizers) && !has(variables.target.metadata.ownerReferences)",
          "a lease of agent or operator has neither finalizers nor owners",
        ),
      ],
    },
  );
}
