import { GROUP, type InstallationNames } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { APPLYSET_ID_LABEL, APPLYSET_KINDS, APPLYSET_NAMESPACES, APPLYSET_TOOLING } from "../../release-names.ts";
import { forbid, quoted, validatingPolicy } from "./admission-policy.ts";
import { BOOKKEEPING, NOW_AND_WAS, sameMetadata } from "./machine-policies.ts";
import { operatorOnly } from "./operator-admission.ts";
import { sameBut } from "./same-but.ts";

/** What says that a deployment is the parent of the set that its releases install. */
const PARENT_ANNOTATIONS = [APPLYSET_TOOLING, APPLYSET_KINDS, APPLYSET_NAMESPACES] as const;

/** CEL: the write leaves `acceptedNamespaces` as it was; absent and empty are different values. */
const SAME_WORD =
  "has(object.spec.acceptedNamespaces) == has(oldObject.spec.acceptedNamespaces) && " +
  "(!has(object.spec.acceptedNamespaces) || object.spec.acceptedNamespaces == oldObject.spec.acceptedNamespaces)";

const OF_STATUS = "(has(request.subResource) && request.subResource == 'status')";
const receipts = (of: "now" | "was"): string => `variables.${of}[?'status'][?'receipts'].orValue(null)`;

/**
 * The customer decides which deployments are served where. No account of Sallyport may write that field, whatever roles
 * it has, nor delete a deployment in which it is set. Which receipt is the last one, the operator says alone.
 */
export function deploymentAcceptance(names: InstallationNames): readonly Manifest[] {
  const { systemNamespace, grantsNamespace } = names;
  const [{ expression: byTheOperator }] = operatorOnly(names);
  const annotations = (state: "now" | "was"): string => `variables.${state}[?'metadata'][?'annotations'].orValue({})`;
  const ours = [systemNamespace, grantsNamespace]
    .map((namespace) => `request.userInfo.username.startsWith('system:serviceaccount:${namespace}:')`)
    .join(" || ");
  return validatingPolicy(
    "sallyport-deployment-acceptance",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["manageddeployments", "manageddeployments/status"],
    },
    {
      matchConditions: [{ name: "made-by-an-account-of-sallyport", expression: ours }],
      variables: NOW_AND_WAS,
      validations: [
        forbid(
          `request.operation != 'UPDATE' || (${SAME_WORD})`,
          "acceptedNamespaces is the customer's word; an account of Sallyport may not write it",
        ),
        forbid(
          "request.operation != 'DELETE' || !has(oldObject.spec.acceptedNamespaces)",
          "a ManagedDeployment with spec.acceptedNamespaces set may not be deleted by a Sallyport account",
        ),
        forbid(
          "request.operation == 'DELETE' || ((!has(object.metadata.finalizers) || object.metadata.finalizers.size() == 0) && " +
            "(!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.size() == 0) && " +
            `${annotations("now")}.all(k, (k in ${annotations("was")} && ${annotations("was")}[k] == ${annotations("now")}[k]) || ` +
            `((${byTheOperator}) && k in [${quoted(PARENT_ANNOTATIONS)}])))`,
          "an account of Sallyport may not set finalizers, ownerReferences or annotations on this object",
        ),
        forbid(
          // Its right to patch is for this alone.
          `request.operation != 'UPDATE' || ${OF_STATUS} || !(${byTheOperator}) || (${sameBut("variables.now", "variables.was", [["metadata"]])} && ` +
            `${sameMetadata([["labels", "annotations", ...BOOKKEEPING.flat()], [APPLYSET_ID_LABEL]])} && ` +
            `${sameBut(annotations("now"), annotations("was"), [PARENT_ANNOTATIONS])})`,
          "the operator writes of a ManagedDeployment only that it is the parent of an ApplySet (KEP-3659)",
        ),
        forbid(
          `!(${OF_STATUS}) || !(${byTheOperator}) || ${sameBut("variables.now", "variables.was", [["status", "metadata"], ["receipts"]])}`,
          "the operator writes of a ManagedDeployment's status only its last receipt",
        ),
        forbid(
          `!(${OF_STATUS}) || (${byTheOperator}) || ${receipts("now")} == ${receipts("was")}`,
          "the last receipt of a deployment is the operator's",
        ),
      ],
    },
  );
}
