import { GROUP, type InstallationNames } from "../../group.ts";
import { NAMESPACE_PLACEHOLDER } from "../../kinds/accepted-namespaces.ts";
import { managedDeployments } from "../../kinds/managed-deployment.ts";
import type { Manifest } from "../../manifest.ts";
import { COMMAND_PATTERN, SHELL_SIGNS } from "../../without-commands.ts";
import { forbid, type Validation, validatingPolicy } from "./admission-policy.ts";
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
  const where = "the line to paste stands in status.bindings or status.acceptanceLine";
  const unquoted = `t.replace('"', '').replace("'", '')`;
  return [
    forbid(
      `${texts}.all(t, !t.matches(r'${SHELL_SIGNS}'))`,
      `${what} of agent or operator holds no sign of a shell, and is one line`,
    ),
    forbid(
      `${texts}.all(t, !${unquoted}.matches(r'(?i)${COMMAND_PATTERN}'))`,
      `${what} of agent or operator holds no command; ${where}`,
    ),
  ];
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
      ],
    },
    {
      matchConditions: oursOnly(names),
      variables: [
        {
          name: "texts",
          expression: `${messages("conditions")} + ${messages("commands")} + [${status}[?'error'][?'message'].orValue('')]`,
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
