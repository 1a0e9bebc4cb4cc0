import { createHash } from "node:crypto";
import { GROUP, objectName } from "./group.ts";

/** On accounts and bindings of a rollout: its uid. */
export const ROLLOUT_UID_LABEL = "sallyport.dev/rollout-uid";
/** On what a release installs: the deployment, the resource of its stack, and the release. */
export const DEPLOYMENT_ID_LABEL = "sallyport.dev/deployment-id";
export const RESOURCE_ID_LABEL = "sallyport.dev/resource-id";
export const RELEASE_ID_LABEL = "sallyport.dev/release-id";
/** Ties a member to its set (KEP-3659): `kubectl apply --prune` of other tools leaves it alone. */
export const APPLYSET_LABEL = "applyset.kubernetes.io/part-of";
/** On the parent of such a set: its id, the tool that applies it, and of which kinds and in which namespaces its members are. */
export const APPLYSET_ID_LABEL = "applyset.kubernetes.io/id";
export const APPLYSET_TOOLING = "applyset.kubernetes.io/tooling";
export const APPLYSET_KINDS = "applyset.kubernetes.io/contains-group-kinds";
export const APPLYSET_NAMESPACES = "applyset.kubernetes.io/additional-namespaces";
/** Under this name the API server keeps which fields a release owns. */
export const RELEASE_FIELD_MANAGER = "sallyport-release";

/**
 * Names that {@link planAccount} and {@link rolloutAccount} make. Policies use the patterns in CEL, where a backslash would
 * need another one.
 */
export const PLAN_ACCOUNT = /^plan-[0-9a-f]{12}[.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
export const ROLLOUT_ACCOUNT = /^rollout-[0-9a-f]{12}[.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Of which rollout an account is, and of which deployment: no other deployment's objects are its to change. */
export interface AccountOwner {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly deploymentId: string };
}

/** Account that may try everything out, and change nothing: an admission policy holds it to dry runs. */
export function planAccount(rollout: AccountOwner): string {
  return `plan-${ownerPart(rollout)}`;
}

/** Account that carries a rollout out, from its approval until its end. */
export function rolloutAccount(rollout: AccountOwner): string {
  return `rollout-${ownerPart(rollout)}`;
}

/** Id of the set whose parent is this ManagedDeployment, by KEP-3659. */
export function applySetId(name: string, namespace: string): string {
  const parent = `${name}.${namespace}.ManagedDeployment.${GROUP}`;
  return `applyset-${createHash("sha256").update(parent).digest("base64url")}-v1`;
}

/**
 * The deployment as its ManagedDeployment is called: a cluster has no two of one such name. The policy compares the account
 * with the label of the object, which the API server tells it, and looks nothing up.
 */
function ownerPart({ metadata: { uid }, spec: { deploymentId } }: AccountOwner): string {
  return `${uid.replaceAll("-", "").slice(0, 12)}.${objectName(deploymentId)}`;
}
