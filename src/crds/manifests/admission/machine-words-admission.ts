import { GROUP, type InstallationNames, JOIN_ACCOUNT, REMOVED_LABEL } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, MACHINE, type Named, stampingPolicy, validatingPolicy } from "./admission-policy.ts";
import { accountName, BOOKKEEPING, madeByMachines, NOW_AND_WAS, sameMetadata } from "./machine-policies.ts";
import { sameBut } from "./same-but.ts";

const APPROVES = "has(object.spec.approved) && (oldObject == null || !has(oldObject.spec.approved))";
const DENIES = "has(object.spec.deniedReason) && (oldObject == null || !has(oldObject.spec.deniedReason))";
const MAY_JOIN = `authorizer.group('${GROUP}').resource('machinepools').namespace(request.namespace).name(object.spec.pool).check('join').allowed()`;

/** The words of people and of the platform on joins and drains: who may write which. */
export function machineWords(names: InstallationNames): readonly Manifest[] {
  return [...joinWords(), ...drainWords(names), ...controllerWords(names), ...stamps()];
}

/** A machine is let in or refused by a person with the verb `join` on its pool; their name stands beside it. */
function joinWords(): readonly Manifest[] {
  const stampedBy = (field: string, decides: string): string =>
    `!(${decides}) || !has(object.spec.${field}) || object.spec.${field} == request.userInfo.username`;
  return validatingPolicy(
    "sallyport-join-words",
    { apiGroups: [GROUP], operations: ["CREATE", "UPDATE"], resources: ["machinejoins"] },
    {
      variables: [
        { name: "decides", expression: `(${APPROVES}) || (${DENIES})` },
        { name: "refused", expression: isRefused("object") },
        { name: "wasRefused", expression: isRefused("oldObject") },
      ],
      validations: [
        forbid(
          `!variables.decides || !(${MACHINE})`,
          "a machine is approved or denied by a person, not by a service account",
        ),
        forbid(
          `!variables.decides || ${MAY_JOIN}`,
          "to approve or deny a machine you need the verb join on its MachinePool (role sallyport-machine-approver)",
        ),
        forbid(stampedBy("approvedBy", APPROVES), "approvedBy must be the user who approves"),
        forbid(stampedBy("deniedBy", DENIES), "deniedBy must be the user who denies"),
        forbid(
          "(!has(object.metadata.finalizers) || object.metadata.finalizers.size() == 0) && " +
            "(!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.size() == 0)",
          "a join takes no finalizer and no owner",
        ),
        forbid(
          "!variables.wasRefused || variables.refused",
          `the label ${REMOVED_LABEL} stays; delete the MachineJoin to let a machine of this name in again`,
        ),
      ],
      auditAnnotations: [
        {
          key: "machine-join",
          valueExpression: `(${APPROVES}) ? 'approved by ' + request.userInfo.username : ((${DENIES}) ? 'denied by ' + request.userInfo.username : '')`,
        },
      ],
    },
  );
}

function isRefused(of: "object" | "oldObject"): string {
  return `${of} == null ? false : dyn(${of})[?'metadata'][?'labels'].orValue({})[?'${REMOVED_LABEL}'].orValue('') == 'true'`;
}

/** The API server writes the name of the person who decides. A false name that was typed is refused. */
function stamps(): readonly Manifest[] {
  const stamp = (name: string, decides: string, field: string): readonly Manifest[] =>
    stampingPolicy(
      name,
      { apiGroups: [GROUP], operations: ["UPDATE"], resources: ["machinejoins"] },
      {
        matchConditions: [
          { name: "newly-decided", expression: decides },
          { name: "without-a-name", expression: `!has(object.spec.${field})` },
        ],
        path: `/spec/${field}`,
        value: "request.userInfo.username",
      },
    );
  return [
    ...stamp("sallyport-stamp-join-approver", APPROVES, "approvedBy"),
    ...stamp("sallyport-stamp-join-denier", DENIES, "deniedBy"),
  ];
}

/**
 * `requested` marks a drain as the platform's wish, and only the agent writes it; the agent touches no other drain. With
 * `leaving` it is the wish of a machine, which only the join server writes. Only the operator says that the customer's
 * policy or grant covers such a wish (condition Approved).
 */
function drainWords(names: InstallationNames): readonly Manifest[] {
  const agent = accountName(names.agentAccount, names);
  const operator = accountName(names.operatorAccount, names);
  const word = (of: string): string =>
    `variables.${of}[?'status'][?'conditions'].orValue([]).filter(c, c.type == 'Approved')`;
  const mine = (of: string): string => `has(variables.${of}.spec) && 'requested' in variables.${of}.spec`;
  const join = accountName(names.joinAccount ?? JOIN_ACCOUNT, names);
  const leaving = "variables.now.spec.requested[?'leaving'].orValue(false)";
  const by = (username: string): string => `request.userInfo.username == '${username}'`;
  const variables: readonly Named[] = [
    ...NOW_AND_WAS,
    { name: "target", expression: "request.operation == 'DELETE' ? variables.was : variables.now" },
  ];
  return validatingPolicy(
    "sallyport-drain-words",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["machinedrains", "machinedrains/status"],
    },
    {
      variables,
      validations: [
        forbid(
          `!(${by(agent)}) || (${mine("target")} && (!has(request.subResource) || request.subResource == ''))`,
          "the agent may only make, hasten and cancel drains that the platform asked for (spec.requested)",
        ),
        forbid(
          `request.operation != 'CREATE' || !(${mine("now")}) || (${leaving} ? ${by(join)} : ${by(agent)})`,
          "spec.requested is the platform's wish, which the agent alone passes on, or a machine's own, which the join server does",
        ),
        forbid(
          `request.operation == 'DELETE' || ${by(operator)} || ${word("now")} == ${word("was")}`,
          "the condition Approved of a drain is the operator's",
        ),
        forbid(
          `!(${by(operator)}) || (request.operation == 'UPDATE' && ` +
            `${sameBut("variables.now", "variables.was", [["status", "metadata"], ["conditions"]])} && ${sameMetadata(BOOKKEEPING)})`,
          "the operator may only write conditions of a drain",
        ),
        forbid(
          "request.operation == 'DELETE' || ((!has(variables.now.metadata.finalizers) || variables.now.metadata.finalizers.size() == 0) && " +
            "(!has(variables.now.metadata.ownerReferences) || variables.now.metadata.ownerReferences.size() == 0))",
          "a drain takes no finalizer and no owner",
        ),
      ],
    },
  );
}

/** No tombstone of a removed machine, and no word of a person: both keep a machine out for as long as they stand. */
const ENDED_WITHOUT_MACHINE =
  "variables.was[?'status'][?'state'].orValue('') in ['Denied', 'Expired'] && " +
  "!variables.was[?'spec'][?'deniedReason'].hasValue() && " +
  `!('${REMOVED_LABEL}' in variables.was[?'metadata'][?'labels'].orValue({}))`;

/** The machine controller reports; it decides for no person, asks for no drain, and does not speak for the join server. */
function controllerWords(names: InstallationNames): readonly Manifest[] {
  const status = "has(request.subResource) && request.subResource == 'status'";
  return validatingPolicy(
    "sallyport-machines-words",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["*/*"],
    },
    {
      matchConditions: madeByMachines(names),
      variables: NOW_AND_WAS,
      validations: [
        forbid(
          "(request.operation == 'UPDATE' && request.resource.resource in ['machinepools', 'machinejoins', 'machinedrains']) || " +
            `(request.operation == 'DELETE' && request.resource.resource == 'machinejoins' && ${ENDED_WITHOUT_MACHINE})`,
          "the machine controller creates no object of Sallyport, deletes joins only that were denied by a rule or have expired, and reports on machines only",
        ),
        forbid(
          `request.operation == 'DELETE' || (${status}) || (request.resource.resource == 'machinejoins' && ${sameBut("variables.now", "variables.was", [["metadata"]])} && ` +
            `${sameMetadata([["managedFields", "generation", "resourceVersion", "labels"]])} && ` +
            `${sameBut("variables.now[?'metadata'][?'labels'].orValue({})", "variables.was[?'metadata'][?'labels'].orValue({})", [[REMOVED_LABEL]])})`,
          `the machine controller may only write status, and the label ${REMOVED_LABEL} of a join`,
        ),
        forbid(
          "request.resource.resource != 'machinepools' || " +
            "variables.now[?'status'][?'joinServer'].orValue(null) == variables.was[?'status'][?'joinServer'].orValue(null)",
          "status.joinServer is the join server's",
        ),
      ],
    },
  );
}
