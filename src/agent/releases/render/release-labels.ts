import { objectName } from "../../../crds/group.ts";
import {
  APPLYSET_LABEL,
  applySetId,
  DEPLOYMENT_ID_LABEL,
  RELEASE_ID_LABEL,
  RESOURCE_ID_LABEL,
} from "../../../crds/release-names.ts";

/** Of which release and deployment everything is. */
export interface ReleaseIdentity {
  readonly deploymentId: string;
  readonly releaseId: string;
  readonly version: string;
  /** Where the ManagedDeployment is, to which the objects belong. */
  readonly grantsNamespace: string;
}

type Labels = Readonly<Record<string, string>>;

const LABEL_VALUE = /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

export function isLabelValue(text: string): boolean {
  return LABEL_VALUE.test(text);
}

/** By what a workload knows its pods. Immutable in the API server: nothing that another release changes may be in it. */
export function selectorOf({ deploymentId }: ReleaseIdentity, resourceId: string): Labels {
  return { [DEPLOYMENT_ID_LABEL]: deploymentId, [RESOURCE_ID_LABEL]: resourceId };
}

/** Of pods and claims: those of a release's objects that stay from release to release, so that none restarts for a label. */
export function lastingLabels(identity: ReleaseIdentity, resourceId: string): Labels {
  return {
    ...describing(identity, resourceId),
    "app.kubernetes.io/managed-by": "sallyport",
    ...selectorOf(identity, resourceId),
  };
}

/**
 * Of everything that a release applies. What an author says of name, instance and version stays; the rest says whose the
 * object is, and is ours.
 */
export function releaseLabels(identity: ReleaseIdentity, resourceId: string, given: Labels = {}): Labels {
  const { deploymentId, releaseId, version, grantsNamespace } = identity;
  return {
    ...describing(identity, resourceId),
    ...(isLabelValue(version) && { "app.kubernetes.io/version": version }),
    ...given,
    "app.kubernetes.io/managed-by": "sallyport",
    ...selectorOf(identity, resourceId),
    [RELEASE_ID_LABEL]: releaseId,
    [APPLYSET_LABEL]: applySetId(objectName(deploymentId), grantsNamespace),
  };
}

function describing({ deploymentId }: ReleaseIdentity, resourceId: string): Labels {
  return { "app.kubernetes.io/name": resourceId, "app.kubernetes.io/instance": objectName(deploymentId) };
}
