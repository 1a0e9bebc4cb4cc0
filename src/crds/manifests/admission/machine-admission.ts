import {
  CORDONED_BY_ANNOTATION,
  DEBUG_NAMESPACE,
  GROUP,
  type InstallationNames,
  JOIN_ACCOUNT,
  MACHINE_LABEL,
  MACHINES_ACCOUNT,
  REMOVED_LABEL,
  VERSION,
} from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, quoted, validatingPolicy } from "./admission-policy.ts";
import { accountName, madeByMachines, NOW_AND_WAS, sameMetadata } from "./machine-policies.ts";
import { machineWords } from "./machine-words-admission.ts";
import { sameBut } from "./same-but.ts";

/** Names of the policies that an installation has only with machines; the machine controller looks for them then. */
export const MACHINE_VALIDATING_POLICIES = [
  "sallyport-join-words",
  "sallyport-join-server",
  "sallyport-drain-words",
  "sallyport-machines-words",
  "sallyport-machines-nodes",
  "sallyport-machines-csr",
  "sallyport-machines-evict",
  "sallyport-removed-machines",
] as const;
export const MACHINE_MUTATING_POLICIES = ["sallyport-stamp-join-approver", "sallyport-stamp-join-denier"] as const;

/** Between a node's name and a number: the name of the drain with which its machine asks to leave. */
export const LEAVE_INFIX = "-leave-";

export const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet";
export const SERVING_SIGNER = "kubernetes.io/kubelet-serving";

/**
 * What joins and drains may say, and what the two processes of machines may do beside what RBAC says.
 *
 * @param signServing the machine controller may also approve certificates with which kubelets serve
 */
export function machinePolicies(names: InstallationNames, { signServing = false } = {}): readonly Manifest[] {
  return [
    ...machineWords(names),
    ...joinServer(names),
    ...nodes(names),
    ...signing(names, signServing),
    ...evictions(names),
    ...removed(names),
  ];
}

/** What a machine that wants to leave may ask for: that its own node be emptied, and nothing more. */
const LEAVE = [
  "variables.now[?'spec'][?'requested'][?'leaving'].orValue(false)",
  `variables.now.metadata.name.startsWith(variables.now.spec.nodeName + '${LEAVE_INFIX}')`,
  "!variables.now.spec[?'force'].orValue(false)",
  "!('remove' in variables.now.spec.requested)",
  "!('grantName' in variables.now.spec.requested)",
].join(" && ");

/**
 * The join server says in a pool how it is reached, and writes no other word of it. It makes joins, and drains for machines
 * that want to leave; that the node is the machine's, which CEL cannot look up, the machine controller checks.
 */
function joinServer(names: InstallationNames): readonly Manifest[] {
  const username = accountName(names.joinAccount ?? JOIN_ACCOUNT, names);
  return validatingPolicy(
    "sallyport-join-server",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: [
        "machinepools",
        "machinepools/status",
        "machinejoins",
        "machinejoins/status",
        "machinedrains",
        "machinedrains/status",
      ],
    },
    {
      matchConditions: [{ name: "made-by-the-join-server", expression: `request.userInfo.username == '${username}'` }],
      variables: NOW_AND_WAS,
      validations: [
        forbid(
          "(request.operation == 'CREATE' && request.resource.resource in ['machinejoins', 'machinedrains']) || " +
            "(request.operation == 'UPDATE' && " +
            "request.resource.resource == 'machinepools' && has(request.subResource) && request.subResource == 'status')",
          "the join server may only create joins and drains, and report on pools (status.joinServer)",
        ),
        forbid(
          `request.resource.resource != 'machinedrains' || request.operation != 'CREATE' || (${LEAVE})`,
          "the join server makes drains only for machines that want to leave (spec.requested.leaving)",
        ),
        forbid(
          `request.operation == 'CREATE' || (${sameBut("variables.now", "variables.was", [["status", "metadata"], ["joinServer"]])} && ${sameMetadata()})`,
          "the join server may only write status.joinServer",
        ),
        // With the label of a removed machine a join would stop the node that it names.
        forbid(
          "request.operation != 'CREATE' || (variables.now[?'metadata'][?'labels'].orValue({}).size() == 0 && " +
            "variables.now[?'metadata'][?'annotations'].orValue({}).size() == 0)",
          "the join server makes joins and drains without labels and annotations",
        ),
      ],
    },
  );
}

/** What the mark of a drain's cordon may be: the drain's uid, and whether the cordon was there before. */
const CORDON_MARK = "^[0-9a-f-]{36}(/found)?$";
const CONTROL_PLANE = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/**
 * The machine controller cordons: it writes two things of a node. It deletes a node that it has cordoned, which is a mark of
 * its own, and only one that the kubelet itself registered as a machine of Sallyport: whether a drain or a removed join
 * names the node, CEL cannot look up for one account without stopping the deletions of all others.
 */
function nodes(names: InstallationNames): readonly Manifest[] {
  const mark = (of: string): string =>
    `variables.${of}[?'metadata'][?'annotations'].orValue({})[?'${CORDONED_BY_ANNOTATION}'].orValue('')`;
  const labels = "variables.was[?'metadata'][?'labels'].orValue({})";
  return validatingPolicy(
    "sallyport-machines-nodes",
    { apiGroups: [""], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["nodes", "nodes/status"] },
    {
      matchConditions: madeByMachines(names),
      variables: NOW_AND_WAS,
      validations: [
        forbid(
          "request.operation != 'CREATE' && (!has(request.subResource) || request.subResource == '')",
          "the machine controller creates no node and writes no status of one",
        ),
        forbid(
          `request.operation != 'UPDATE' || (${sameBut("variables.now", "variables.was", [
            ["spec", "metadata"],
            ["unschedulable"],
          ])})`,
          "the machine controller may only change spec.unschedulable of a node",
        ),
        forbid(
          `request.operation != 'UPDATE' || (${sameMetadata([["managedFields", "generation", "resourceVersion", "annotations"]])} && ` +
            `${sameBut("variables.now[?'metadata'][?'annotations'].orValue({})", "variables.was[?'metadata'][?'annotations'].orValue({})", [[CORDONED_BY_ANNOTATION]])})`,
          `the machine controller may only change the annotation ${CORDONED_BY_ANNOTATION} of a node`,
        ),
        forbid(
          `request.operation != 'UPDATE' || ${mark("now")} in ['', ${mark("was")}] || ${mark("now")}.matches('${CORDON_MARK}')`,
          `the annotation ${CORDONED_BY_ANNOTATION} of a node is the uid of a drain`,
        ),
        forbid(
          "request.operation != 'DELETE' || (variables.was[?'spec'][?'unschedulable'].orValue(false) && " +
            `'${CORDONED_BY_ANNOTATION}' in variables.was[?'metadata'][?'annotations'].orValue({}))`,
          "the machine controller may only delete a node that it has cordoned",
        ),
        forbid(
          `request.operation != 'DELETE' || (${labels}[?'${MACHINE_LABEL}'].orValue('') == 'true' && ` +
            `!${labels}.exists(l, l in [${quoted(CONTROL_PLANE)}]))`,
          `the machine controller may only delete a node that joined through Sallyport (label ${MACHINE_LABEL}), and no control plane`,
        ),
      ],
    },
  );
}

/** It asks for first certificates of nodes only, and approves its own requests and those with which a node renews itself. */
function signing(names: InstallationNames, signServing: boolean): readonly Manifest[] {
  // Whose names and addresses stand in a request, CEL cannot read.
  const serving =
    `oldObject.spec.signerName == '${SERVING_SIGNER}' && ` +
    "oldObject.spec.usages.all(u, u in ['digital signature', 'key encipherment', 'server auth']) && " +
    "(!has(oldObject.spec.expirationSeconds) || oldObject.spec.expirationSeconds <= 604800)";
  const ofNode = `oldObject.spec.signerName == '${CLIENT_SIGNER}'${signServing ? ` || (${serving})` : ""}`;
  const own = accountName(names.machinesAccount ?? MACHINES_ACCOUNT, names);
  const subresource = "(has(request.subResource) ? request.subResource : '')";
  return validatingPolicy(
    "sallyport-machines-csr",
    {
      apiGroups: ["certificates.k8s.io"],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["certificatesigningrequests", "certificatesigningrequests/*"],
    },
    {
      matchConditions: madeByMachines(names),
      validations: [
        forbid(
          `(request.operation == 'CREATE' && ${subresource} == '') || (request.operation == 'UPDATE' && ${subresource} == 'approval')`,
          "the machine controller may only create and approve certificate requests",
        ),
        forbid(
          "request.operation != 'CREATE' || (object.metadata.name.matches('^sp-[0-9a-f]{12}$') && " +
            `object.spec.signerName == '${CLIENT_SIGNER}' && ` +
            "object.spec.usages.all(u, u in ['digital signature', 'key encipherment', 'client auth']))",
          `the machine controller may only ask for certificates of ${CLIENT_SIGNER}, under a name sp-<12 hex digits>`,
        ),
        forbid(
          "request.operation != 'CREATE' || (has(object.spec.expirationSeconds) && object.spec.expirationSeconds <= 604800)",
          "a node's first certificate may not live longer than 7 days (expirationSeconds)",
        ),
        forbid(
          `request.operation != 'UPDATE' || oldObject.spec.username == '${own}' || ` +
            "(oldObject.spec.username.startsWith('system:node:') && has(oldObject.spec.groups) && 'system:nodes' in oldObject.spec.groups && " +
            `(${ofNode}))`,
          `the machine controller may only approve its own requests, and those with which a node renews its own certificate${signServing ? " or asks to serve for at most 7 days" : ""}`,
        ),
      ],
    },
  );
}

/** CEL: a deletion by force shortens a pod's time to end to half a minute, and never to nothing. */
const GRACE_LEFT = [
  "!has(request.options.gracePeriodSeconds)",
  "request.options.gracePeriodSeconds >= 30",
  "request.options.gracePeriodSeconds >= oldObject.spec.?terminationGracePeriodSeconds.orValue(30)",
  // The API server itself sets 0 for a pod that has no node or has ended.
  "(request.options.gracePeriodSeconds == 0 && (oldObject.spec.?nodeName.orValue('') == '' || " +
    "oldObject.?status.phase.orValue('') in ['Succeeded', 'Failed']))",
].join(" || ");

/** An eviction or deletion is for the one pod that was judged, and force stops at what keeps the cluster and Sallyport up. */
function evictions(names: InstallationNames): readonly Manifest[] {
  const { systemNamespace, grantsNamespace, debugNamespace = DEBUG_NAMESPACE } = names;
  const kept = ["kube-system", systemNamespace, grantsNamespace, debugNamespace].map((each) => `'${each}'`).join(", ");
  const uid = (of: string): string => `dyn(${of})[?'preconditions'][?'uid'].orValue('') != ''`;
  return validatingPolicy(
    "sallyport-machines-evict",
    { apiGroups: [""], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["pods", "pods/*"] },
    {
      matchConditions: madeByMachines(names),
      validations: [
        forbid(
          "request.operation == 'DELETE' || (request.operation == 'CREATE' && has(request.subResource) && request.subResource == 'eviction')",
          "the machine controller may only evict and delete pods",
        ),
        forbid(
          "request.operation != 'CREATE' || !dyn(object)[?'deleteOptions'][?'gracePeriodSeconds'].hasValue()",
          "an eviction leaves a pod the time to end that it asks for: no deleteOptions.gracePeriodSeconds",
        ),
        forbid(
          `request.operation != 'CREATE' || dyn(object)[?'deleteOptions'][?'preconditions'][?'uid'].orValue('') != ''`,
          "an eviction names the pod's uid (deleteOptions.preconditions.uid)",
        ),
        forbid(
          `request.operation != 'DELETE' || (${GRACE_LEFT})`,
          "the machine controller leaves a pod that it deletes its own time to end, or 30 s of a longer one",
        ),
        forbid(
          `request.operation != 'DELETE' || (!(request.namespace in [${kept}]) && request.name != '' && ${uid("request.options")})`,
          "the machine controller deletes one pod by its uid, and never in kube-system or in a namespace of Sallyport",
        ),
      ],
    },
  );
}

/**
 * Kubernetes cannot revoke a certificate: a machine that was removed could register again until its own runs out. Each
 * removed MachineJoin is a parameter, and its node may write nothing with which a kubelet comes back.
 */
function removed({ grantsNamespace }: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-removed-machines",
    {
      apiGroups: ["", "coordination.k8s.io", "certificates.k8s.io"],
      operations: ["CREATE", "UPDATE"],
      resources: ["nodes", "nodes/status", "leases", "certificatesigningrequests"],
    },
    {
      params: {
        paramKind: { apiVersion: `${GROUP}/${VERSION}`, kind: "MachineJoin" },
        paramRef: {
          namespace: grantsNamespace,
          selector: { matchLabels: { [REMOVED_LABEL]: "true" } },
          parameterNotFoundAction: "Allow",
        },
      },
      matchConditions: [{ name: "made-by-a-node", expression: "request.userInfo.username.startsWith('system:node:')" }],
      validations: [
        forbid(
          "request.userInfo.username != 'system:node:' + params.spec.nodeName",
          "this machine was removed from the cluster; delete its MachineJoin to let a machine of this name in again",
        ),
      ],
    },
  );
}
