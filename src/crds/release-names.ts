import { createHash } from "node:crypto";
import { GROUP } from "./group.ts";

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

/** Names that {@link planAccount} and {@link rolloutAccount} make. Policies use the patterns in CEL. */
export const PLAN_ACCOUNT = /^plan-[0-9a-f]{12}$/;
export const ROLLOUT_ACCOUNT = /^rollout-[0-9a-f]{12}$/;

/** Account that may try everything out, and change nothing: an admission policy holds it to dry runs. */
export function planAccount(rolloutUid: string): string {
  return `plan-${shortened(rolloutUid)}`;
}

/** Account that carries a rollout out, from its approval until its end. */
export function rolloutAccount(rolloutUid: string): string {
  return `rollout-${shortened(rolloutUid)}`;
}

/** Id of the set whose parent is this ManagedDeployment, by KEP-3659. */
export function applySetId(name: string, namespace: string): string {
  const parent = `${name}.${namespace}.ManagedDeployment.${GROUP}`;
  return `applyset-${createHash("sha256").update(parent).digest("base64url")}-v1`;
}

function shortened(uid: string): string {
  return uid.replaceAll("-", "").slice(0, 12);
}
