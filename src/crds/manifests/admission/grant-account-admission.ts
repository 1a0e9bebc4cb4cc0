import { GROUP, type InstallationNames } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { UNREPLACED_PODS } from "../../operations/delete-pod.ts";
import { RESTARTED_AT } from "../../operations/rollout-restart.ts";
import { MAX_REPLICAS } from "../../operations/scale.ts";
import { WORKLOAD_RESOURCES } from "../../operations/workload-kinds.ts";
import { PLAN_ACCOUNT, ROLLOUT_ACCOUNT } from "../../release-names.ts";
import {
  BY_PLUGINS,
  METADATA_BY_PLUGINS,
  REPLICAS_WORDS,
  UNREPLACED_POD_WORDS,
  WORKLOAD_WORDS,
} from "../plugin-changes.ts";
import { CHANGED_WORKLOADS } from "../plugin-rules.ts";
import { forbid, type Named, type Validation, validatingPolicy } from "./admission-policy.ts";
import { ownersKept } from "./owners-kept.ts";
import { type Levels, sameBut } from "./same-but.ts";

/** It says more where the install values enable plugins. */
export const RESTART_POLICY = "sallyport-rollout-restart";

function grantAccountsOnly({ grantsNamespace }: InstallationNames): readonly Named[] {
  const expression = `request.userInfo.username.startsWith('system:serviceaccount:${grantsNamespace}:')`;
  return [{ name: "made-by-a-grant-account", expression }];
}

/** Accounts of rollouts write workloads too: `sallyport-rollout-objects` says what. */
function notOfRollouts({ grantsNamespace }: InstallationNames): Named {
  const forms = [PLAN_ACCOUNT, ROLLOUT_ACCOUNT].map(({ source }) => source.slice(1, -1)).join("|");
  const expression = `!request.userInfo.username.matches('^system:serviceaccount:${grantsNamespace}:(${forms})$')`;
  return { name: "not-by-the-account-of-a-rollout", expression };
}

const BEFORE_AND_AFTER: readonly Named[] = [
  { name: "now", expression: "dyn(object)" },
  { name: "was", expression: "dyn(oldObject)" },
  { name: "nowOwners", expression: "variables.now.metadata[?'managedFields'].orValue([])" },
  { name: "wasOwners", expression: "variables.was.metadata[?'managedFields'].orValue([])" },
];

/**
 * RBAC cannot say "restart, but change nothing else". So this policy compares the objects: all but the restart
 * annotation must be equal, which covers fields of a later Kubernetes too. Generation, resourceVersion and that one
 * annotation are written by the API server, whatever a client sends.
 */
export function rolloutRestart(names: InstallationNames): readonly Manifest[] {
  const message = `a grant account may only restart a workload (pod template annotation ${RESTARTED_AT})`;
  const restart: Levels = [["spec", "metadata"], ["template"], ["metadata"], ["annotations"], [RESTARTED_AT]];
  const bookkeeping: Levels = [
    ["annotations", "managedFields", "generation", "resourceVersion"],
    ["deprecated.daemonset.template.generation"],
  ];
  const owners = ownersKept([["f:template"], ["f:metadata"], ["f:annotations"], [`f:${RESTARTED_AT}`, "."]]);
  return validatingPolicy(
    RESTART_POLICY,
    { apiGroups: ["apps"], operations: ["UPDATE"], resources: WORKLOAD_RESOURCES },
    orOfPlugins(names, {
      matchConditions: [...grantAccountsOnly(names), notOfRollouts(names)],
      variables: [...BEFORE_AND_AFTER, ...owners.variables],
      validations: [
        forbid(sameBut("variables.now", "variables.was", restart), message),
        forbid(sameBut("variables.now.metadata", "variables.was.metadata", bookkeeping), message),
        forbid(
          `variables.now.spec.template.metadata[?'annotations'][?'${RESTARTED_AT}'].orValue('none').matches('^[0-9TZ:.+-]{1,40}$')`,
          `annotation ${RESTARTED_AT} must hold an instant`,
        ),
        owners.validation,
      ],
    }),
  );
}

/**
 * Where plugins are enabled: an account whose role has the right of our own, which the role of a plugin has that patches
 * workloads, may change more than the restart annotation. With a pod template it could start pods with any image, account and
 * Secret of the namespace, which is more than its role gives.
 */
function orOfPlugins<P extends { readonly variables: readonly Named[]; readonly validations: readonly Validation[] }>(
  { plugins = [] }: InstallationNames,
  policy: P,
): P {
  if (plugins.length === 0) return policy;
  const expression = `authorizer.group('${GROUP}').resource('${CHANGED_WORKLOADS}').namespace(request.namespace).check('change').allowed()`;
  const theirs = (rule: string, words: string): Validation => forbid(`!variables.ofPlugin || (${rule})`, words);
  return {
    ...policy,
    variables: [...policy.variables, { name: "ofPlugin", expression }],
    validations: [
      ...policy.validations.map((each) => ({ ...each, expression: `variables.ofPlugin || (${each.expression})` })),
      theirs(sameBut("variables.now", "variables.was", BY_PLUGINS), WORKLOAD_WORDS),
      theirs(sameBut("variables.now.metadata", "variables.was.metadata", METADATA_BY_PLUGINS), WORKLOAD_WORDS),
      theirs(`variables.now.spec[?'replicas'].orValue(1) <= ${MAX_REPLICAS}`, REPLICAS_WORDS),
      theirs(
        "variables.nowOwners.size() <= variables.wasOwners.size() + 1",
        "a grant account may not rewrite who owns which field (managedFields)",
      ),
    ],
  };
}

/** The scale subresource writes the replica count and nothing else, but any count. */
export function scaleBounds(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-scale-bounds",
    { apiGroups: ["apps"], operations: ["UPDATE"], resources: ["deployments/scale", "statefulsets/scale"] },
    {
      matchConditions: grantAccountsOnly(names),
      validations: [forbid(`!has(object.spec.replicas) || object.spec.replicas <= ${MAX_REPLICAS}`, REPLICAS_WORDS)],
    },
  );
}

/**
 * RBAC has one right to delete a pod. To delete a pod that no controller replaces, or with another grace period
 * than the pod's own, an account needs the role of the destructive operation, which holds a right of our own group for
 * it.
 */
export function podDeletion(names: InstallationNames): readonly Manifest[] {
  const may = `authorizer.group('${GROUP}').resource('${UNREPLACED_PODS}').namespace(request.namespace).check('delete').allowed()`;
  const ownGrace =
    "!has(request.options.gracePeriodSeconds) || !has(oldObject.spec.terminationGracePeriodSeconds) || " +
    "request.options.gracePeriodSeconds == oldObject.spec.terminationGracePeriodSeconds || " +
    // The API server itself sets 0 for a pod that has no node or has ended.
    "(request.options.gracePeriodSeconds == 0 && (!has(oldObject.spec.nodeName) || oldObject.spec.nodeName == '' || " +
    "(has(oldObject.status.phase) && oldObject.status.phase in ['Succeeded', 'Failed'])))";
  return validatingPolicy(
    "sallyport-pod-deletion",
    { apiGroups: [""], operations: ["DELETE"], resources: ["pods"] },
    {
      matchConditions: grantAccountsOnly(names),
      variables: [{ name: "mayUnreplaced", expression: may }],
      validations: [
        forbid(
          "variables.mayUnreplaced || (has(oldObject.metadata.ownerReferences) && " +
            "oldObject.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && o.kind != 'Node'))",
          UNREPLACED_POD_WORDS,
        ),
        forbid(
          `variables.mayUnreplaced || (${ownGrace})`,
          "a grant account may only delete a pod with the pod's own grace period, unless it holds the operation delete-pod",
        ),
        forbid(
          "(!has(request.options.propagationPolicy) || request.options.propagationPolicy == 'Background') && " +
            "!has(request.options.orphanDependents)",
          "a grant account may not choose what becomes of what a pod owns (propagationPolicy)",
        ),
      ],
    },
  );
}

/**
 * RBAC cannot say "cordon, but change nothing else". A node's labels and taints decide what runs on it, so
 * everything but `spec.unschedulable` must stay equal. Each direction needs its own right: an account that may cordon
 * may not uncordon.
 */
export function nodeScheduling(names: InstallationNames): readonly Manifest[] {
  const message = "a grant account may only cordon or uncordon a node (spec.unschedulable)";
  const bookkeeping: Levels = [["managedFields", "generation", "resourceVersion"]];
  const owners = ownersKept([["f:unschedulable", "."]]);
  const verb = "variables.now.spec[?'unschedulable'].orValue(false) ? 'cordon' : 'uncordon'";
  return validatingPolicy(
    "sallyport-node-scheduling",
    { apiGroups: [""], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["nodes", "nodes/status"] },
    {
      matchConditions: grantAccountsOnly(names),
      variables: [...BEFORE_AND_AFTER, { name: "verb", expression: verb }, ...owners.variables],
      validations: [
        forbid("request.operation == 'UPDATE' && (!has(request.subResource) || request.subResource == '')", message),
        forbid(sameBut("variables.now", "variables.was", [["spec", "metadata"], ["unschedulable"]]), message),
        forbid(sameBut("variables.now.metadata", "variables.was.metadata", bookkeeping), message),
        forbid(
          `authorizer.group('${GROUP}').resource('nodes').name(request.name).check(variables.verb).allowed()`,
          "a grant account cordons a node with the operation cordon-node, and uncordons it with uncordon-node",
        ),
        owners.validation,
      ],
    },
  );
}
