import { GROUP, type InstallationNames } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, validatingPolicy } from "./admission-policy.ts";
import { UNREADABLE, UNREADABLE_PARAMS } from "./readable-params.ts";

/**
 * Readable, bounded plans; no metadata that would delete an object, or keep it, without a person knowing.
 *
 * A nested string inside `'%s'.format()` comes out quoted, with every unprintable character as a backslash escape.
 */
export function planHygiene({ systemNamespace, agentAccount }: InstallationNames): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-plan-hygiene",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE"],
      resources: ["accessgrants", "operationinvocations", "manageddeployments"],
    },
    {
      variables: [
        {
          name: "params",
          expression:
            "request.operation != 'CREATE' ? [] : " +
            "has(object.spec.commands) ? object.spec.commands.filter(c, has(c.params)).map(c, '%s'.format([c.params])) : " +
            "has(object.spec.params) ? ['%s'.format([object.spec.params])] : []",
        },
        {
          name: "annotations",
          expression:
            "has(object.metadata.annotations) ? object.metadata.annotations.map(k, k + ' ' + object.metadata.annotations[k]) : []",
        },
      ],
      validations: [
        {
          expression: "variables.params.all(p, p.size() <= 8192)",
          message: "params of one command may not exceed 8192 characters",
        },
        {
          expression: "variables.params.map(p, p.size()).sum() <= 65536",
          message: "params of all commands together may not exceed 65536 characters",
        },
        {
          expression: `variables.params.all(p, !p.matches(r'${UNREADABLE_PARAMS}'))`,
          message: "params hold control, zero-width or bidirectional characters",
        },
        {
          expression: `variables.annotations.all(a, !a.matches(r'${UNREADABLE}'))`,
          message: "annotations hold control, zero-width or bidirectional characters",
        },
        forbid(
          "!has(object.metadata.finalizers) || object.metadata.finalizers.all(f, " +
            "oldObject != null && has(oldObject.metadata.finalizers) && f in oldObject.metadata.finalizers)",
          "finalizers may not be added to this object",
        ),
        forbid(
          "!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.size() == 0",
          "ownerReferences may not be set on this object",
        ),
        forbid(
          `request.userInfo.username != 'system:serviceaccount:${systemNamespace}:${agentAccount}' || ` +
            "((!has(object.metadata.labels) || object.metadata.labels.size() == 0) && " +
            "(!has(object.metadata.annotations) || object.metadata.annotations.size() == 0))",
          "the agent sets no label and no annotation: other controllers act, and delete, by them",
        ),
        forbid(
          `request.resource.resource == 'manageddeployments' || (${nothingNew("labels")} && ${nothingNew("annotations")})`,
          "a grant or an invocation takes no label and no annotation: a deployment tool would take the record for its own, and prune it",
        ),
      ],
    },
  );
}

/** CEL: the write adds no entry to this map of the metadata. */
export function nothingNew(map: "labels" | "annotations"): string {
  const [now, was] = [`object.metadata.${map}`, `oldObject.metadata.${map}`];
  return `(!has(${now}) || ${now}.all(k, oldObject != null && has(${was}) && k in ${was} && ${was}[k] == ${now}[k]))`;
}

/** Bounds the result of an invocation. */
export function resultSize(): readonly Manifest[] {
  return validatingPolicy(
    "sallyport-result-size",
    { apiGroups: [GROUP], operations: ["UPDATE"], resources: ["operationinvocations/status"] },
    {
      validations: [
        {
          expression:
            "!has(object.status) || !has(object.status.result) || '%s'.format([object.status.result]).size() <= 65536",
          message: "result may not exceed 65536 characters",
        },
      ],
    },
  );
}
