import type { DebugMode } from "../../contract/debug-sessions/debug-sessions.ts";
import { DEBUG_RULES } from "../../crds/operations/debug-rules.ts";
import type { Subject } from "./subject.ts";

/** Whether the mode lets `subject` pass, in whichever namespace it is. The account's role is the wall; this is the second. */
export function modeAllows(mode: DebugMode, { verb, group, resource, subresource }: Subject): boolean {
  const wanted = subresource === undefined ? resource : `${resource}/${subresource}`;
  return DEBUG_RULES[mode].some(
    ({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) && resources.includes(wanted) && verbs.includes(verb),
  );
}

/** The reviews by which a user asks what they may do. They name no namespace in their path. */
const REVIEWS: Readonly<Record<string, readonly string[]>> = {
  "authorization.k8s.io": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
  "authentication.k8s.io": ["selfsubjectreviews"],
};

export function isSelfReview({ verb, group, resource, subresource, namespace, name }: Subject): boolean {
  if (verb !== "create" || subresource !== undefined || namespace !== undefined || name !== undefined) return false;
  return Object.hasOwn(REVIEWS, group) && REVIEWS[group]?.includes(resource) === true;
}

/** Which kinds of the API there are: told to every user of a cluster. */
export function isDiscovery([root, ...rest]: readonly string[]): boolean {
  if (root === "version") return rest.length === 0;
  if (root === "api") return rest.length <= 1;
  if (root === "apis") return rest.length <= 2;
  return root === "openapi" && rest[0] === "v3";
}
