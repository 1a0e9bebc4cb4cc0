import { GROUP, type InstallationNames, JOIN_ACCOUNT, MACHINES_ACCOUNT } from "../../group.ts";
import { NAMESPACE_PLACEHOLDER } from "../../kinds/accepted-namespaces.ts";
import { managedDeployments } from "../../kinds/managed-deployment.ts";
import type { Manifest } from "../../manifest.ts";
import { COMMAND_PATTERN, SHELL_SIGNS } from "../../without-commands.ts";
import { forbid, type Named, type Validation, validatingPolicy } from "./admission-policy.ts";
import { accountName } from "./machine-policies.ts";
import { oursOnly } from "./own-name-admission.ts";

/**
 * Messages of agent and operator hold no command: an approver reads them with a terminal open, and either process
 * may be stolen. A line to paste stands in `status.bindings` of a grant, which the CRD checks, or in
 * `status.acceptanceLine` of a deployment, which is checked here.
 */
export function noCommands(names: InstallationNames): readonly Manifest[] {
  return [...noCommandsInStatus(names), ...noCommandsInEvents(names)];
}

/** @param texts CEL: a list of strings. */
function noCommand(texts: string, what: string): readonly Validation[] {
  const where = "a line to paste stands in status.bindings, status.acceptanceLine or status.approvalLine";
  const unquoted = `t.replace('"', '').replace("'", '')`;
  return [
    forbid(`${texts}.all(t, !t.matches(r'${SHELL_SIGNS}'))`, `${what} holds no sign of a shell, and is one line`),
    forbid(`${texts}.all(t, !${unquoted}.matches(r'(?i)${COMMAND_PATTERN}'))`, `${what} holds no command; ${where}`),
  ];
}

/** CEL: the account is that of a process which writes to objects that approvers read. */
function writersOnly(names: InstallationNames): readonly Named[] {
  const { agentAccount, operatorAccount, joinAccount = JOIN_ACCOUNT, machinesAccount = MACHINES_ACCOUNT } = names;
  const usernames = [agentAccount, operatorAccount, joinAccount, machinesAccount].map(
    (each) => `'${accountName(each, names)}'`,
  );
  return [{ name: "made-by-sallyport", expression: `request.userInfo.username in [${usernames.join(", ")}]` }];
}

function noCommandsInStatus(names: InstallationNames): readonly Manifest[] {
  const status = "dyn(object)[?'status']";
  const messages = (list: string): string => `${status}[?'${list}'].orValue([]).map(e, e[?'message'].orValue(''))`;
  const kind = `${managedDeployments.plural}.${GROUP}`;
  const patch = `{"spec":{"acceptedNamespaces":["${NAMESPACE_PLACEHOLDER}"]}}`;
  return validatingPolicy(
    "sallyport-no-commands-in-status",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE"],
      resources: [
        "accessgrants/status",
        "operationinvocations/status",
        "debugsessions/status",
        "manageddeployments",
        "manageddeployments/status",
        "machinejoins",
        "machinejoins/status",
        "machinepools/status",
        "machinedrains/status",
        "rollouts/status",
      ],
    },
    {
      matchConditions: writersOnly(names),
      variables: [
        {
          name: "texts",
          expression:
            `${["conditions", "commands", "blockers", "resources"].map(messages).join(" + ")} + ` +
            `${status}[?'plan'][?'refused'].orValue([]).map(e, e[?'message'].orValue('')) + ${status}[?'plan'][?'changes'].orValue([]) + ` +
            `[${status}[?'error'][?'message'].orValue('')]`,
        },
        {
          // What a machine says of itself is shown to the person who lets it in.
          name: "facts",
          expression: "dyn(object)[?'spec'][?'facts'].orValue({}).map(f, string(dyn(object).spec.facts[f]))",
        },
        {
          // The platform's name for a deployment is shown in a column.
          name: "names",
          expression: "['name', 'project'].map(f, string(dyn(object)[?'spec'][?f].orValue('')))",
        },
      ],
      validations: [
        ...noCommand("variables.texts", "a message"),
        ...noCommand("variables.names", "a deployment's name"),
        ...noCommand("variables.facts", "a fact of a machine"),
        forbid(
          `${status}[?'acceptanceLine'].orValue('') in ['', 'kubectl patch ${kind} ' + object.metadata.name + ' -n ' + ` +
            `request.namespace + " --type=merge -p '${patch.replaceAll('"', '\\"')}'"]`,
          "status.acceptanceLine is the one line that accepts this very deployment",
        ),
      ],
    },
  );
}

const EVENT_FIELDS = [
  ...["apiVersion", "kind", "metadata", "eventTime", "series", "reportingController", "reportingInstance"],
  ...["type", "reason", "action", "note", "regarding", "related"],
  // The API server writes these itself, empty.
  ...["deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"],
];

function noCommandsInEvents(names: InstallationNames): readonly Manifest[] {
  const words = (map: string, pattern: string): string =>
    `${map}.orValue({}).all(k, string(${map}.orValue({})[k]).matches('${pattern}'))`;
  return validatingPolicy(
    "sallyport-no-commands-in-events",
    { apiGroups: ["events.k8s.io", ""], operations: ["CREATE", "UPDATE"], resources: ["events"] },
    {
      matchConditions: oursOnly(names),
      variables: [
        { name: "event", expression: "dyn(object)" },
        { name: "texts", expression: "[variables.event[?'note'].orValue('')]" },
      ],
      validations: [
        ...noCommand("variables.texts", "the note of an event"),
        forbid(
          `variables.event.all(k, k in [${EVENT_FIELDS.map((field) => `'${field}'`).join(", ")}]) && ` +
            "variables.event[?'deprecatedSource'].orValue({}).size() == 0 && " +
            "['reason', 'action', 'reportingInstance'].all(f, variables.event[?f].orValue('').matches('^[A-Za-z0-9._-]*$')) && " +
            `${words("variables.event[?'regarding']", "^[A-Za-z0-9:./_-]*$")} && ${words("variables.event[?'related']", "^[A-Za-z0-9:./_-]*$")}`,
          "of an event of agent or operator, the note alone is prose",
        ),
      ],
    },
  );
}
