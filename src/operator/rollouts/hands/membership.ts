import { isDeepStrictEqual } from "node:util";
import { objectName } from "../../../crds/group.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Rollout } from "../../../crds/kinds/rollout.ts";
import { printableLine } from "../../../crds/printable.ts";
import {
  APPLYSET_LABEL,
  applySetId,
  DEPLOYMENT_ID_LABEL,
  RELEASE_FIELD_MANAGER,
  RELEASE_ID_LABEL,
  RESOURCE_ID_LABEL,
} from "../../../crds/release-names.ts";
import { kindAndGroup } from "../../../crds/released/release-kinds.ts";
import { type RuleProblem, refOf } from "../release-rules.ts";
import { nodeAt } from "../rule-nodes.ts";
import type { LiveObject } from "./release-api.ts";

export const MANAGED_BY = "app.kubernetes.io/managed-by";

const MAX_LABEL = 63;
const OTHER_NAME = "the release has to use another name";

/** By what the objects of one deployment are known. */
export type Membership = Readonly<Record<string, string>>;

export function membershipOf({ spec }: Rollout, grantsNamespace: string): Membership {
  const { deploymentId } = spec;
  return {
    [DEPLOYMENT_ID_LABEL]: deploymentId,
    [APPLYSET_LABEL]: applySetId(objectName(deploymentId), grantsNamespace),
  };
}

/** Whether the deployment's releases have made it. Anything else of that name is the customer's, or another's. */
export function isMember({ metadata }: Pick<LiveObject, "metadata">, membership: Membership): boolean {
  return Object.entries(membership).every(([label, value]) => metadata.labels?.[label] === value);
}

/** Why an object may not become the deployment's own, and what helps; undefined: it is the customer's alone. */
export function whoseElse({ metadata }: Pick<LiveObject, "metadata">, membership: Membership): string | undefined {
  const { labels = {}, ownerReferences = [] } = metadata;
  const other = (label: string): string | undefined =>
    labels[label] === membership[label] ? undefined : labels[label];
  const deployment = other(DEPLOYMENT_ID_LABEL);
  if (deployment !== undefined) {
    const whose = `its label says that it is of deployment ${printableLine(deployment, MAX_LABEL)}`;
    return `${whose}: where that is gone, delete the object; else ${OTHER_NAME}`;
  }
  if (other(APPLYSET_LABEL) !== undefined) {
    return `it is of another ApplySet, whose tool would prune it: delete it, or ${OTHER_NAME}`;
  }
  if (ownerReferences.some(({ controller }) => controller === true)) return `a controller owns it: ${OTHER_NAME}`;
  return undefined;
}

/** Of these the API server changes no selector, and of a Job no template. */
const WORKLOADS: readonly string[] = ["Deployment.apps", "StatefulSet.apps", "DaemonSet.apps"];

/** Why all words of the customer would not let the release have it; undefined: it may. */
export function unfit(seen: LiveObject, manifest: ReleaseManifest): string | undefined {
  const kind = kindAndGroup(manifest);
  const ownerOfPods = ({ spec }: LiveObject | ReleaseManifest): unknown =>
    nodeAt(spec, "template", "metadata", "labels")[DEPLOYMENT_ID_LABEL];
  const isOther = WORKLOADS.includes(kind)
    ? !isDeepStrictEqual(nodeAt(seen.spec, "selector"), nodeAt(manifest.spec, "selector"))
    : kind === "Job.batch" && ownerOfPods(seen) !== ownerOfPods(manifest);
  if (!isOther) return undefined;
  const what = kind === "Job.batch" ? "template" : "selector";
  return `it cannot be taken over, because its ${what} cannot be changed: delete it, or ${OTHER_NAME}`;
}

/** Whether releases own fields of it: an object that only carries our labels was made by another hand. */
export function isApplied({ metadata }: Pick<LiveObject, "metadata">): boolean {
  return (metadata.managedFields ?? []).some(
    ({ manager, operation }) => manager === RELEASE_FIELD_MANAGER && operation === "Apply",
  );
}

/** Labels that say whose an object is; the others say what it is, and stay when it is let go. */
export const MEMBER_LABELS = [DEPLOYMENT_ID_LABEL, RESOURCE_ID_LABEL, RELEASE_ID_LABEL, APPLYSET_LABEL, MANAGED_BY];

/** Objects that would not be found again, or would be taken for another deployment's. */
export function labelProblems(objects: readonly ReleaseObject[], membership: Membership): readonly RuleProblem[] {
  return objects.flatMap(({ manifest }) => {
    const labels = manifest.metadata.labels ?? {};
    const wrong = Object.entries(membership).filter(([label, value]) => labels[label] !== value);
    const lacking = [RESOURCE_ID_LABEL, MANAGED_BY].filter((label) => labels[label] === undefined);
    const names = [...wrong.map(([label]) => label), ...lacking];
    if (names.length === 0) return [];
    return [{ ref: refOf(manifest), message: `labels that name this deployment are missing: ${names.join(", ")}` }];
  });
}
