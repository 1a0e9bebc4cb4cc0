import { GROUP, type InstallationNames } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, validatingPolicy } from "./admission-policy.ts";

/** CEL: the write leaves `acceptedNamespaces` as it was; absent and empty are different values. */
const SAME_WORD =
  "has(object.spec.acceptedNamespaces) == has(oldObject.spec.acceptedNamespaces) && " +
  "(!has(object.spec.acceptedNamespaces) || object.spec.acceptedNamespaces == oldObject.spec.acceptedNamespaces)";

/**
 * The customer decides which deployments are served where. No account of Sallyport may write that field, whatever roles
 * it has, nor delete a deployment in which it is set.
 */
export function deploymentAcceptance({ systemNamespace, grantsNamespace }: InstallationNames): readonly Manifest[] {
  const ours = [systemNamespace, grantsNamespace]
    .map((namespace) => `request.userInfo.username.startsWith('system:serviceaccount:${namespace}:')`)
    .join(" || ");
  return validatingPolicy(
    "sallyport-deployment-acceptance",
    { apiGroups: [GROUP], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["manageddeployments"] },
    {
      matchConditions: [{ name: "made-by-an-account-of-sallyport", expression: ours }],
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
            "(!has(object.metadata.annotations) || object.metadata.annotations.size() == 0))",
          "an account of Sallyport may not set finalizers, ownerReferences or annotations on this object",
        ),
      ],
    },
  );
}
