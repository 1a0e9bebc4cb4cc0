import { apiVersionOf } from "../../kube/objects/resource.ts";
import type { Pod } from "../../kube/projection/shapes.ts";
import { OBSERVED, type ObservedKind } from "../kernel/observed-kinds.ts";

export interface HasOwners {
  readonly metadata: { readonly ownerReferences: Pod["metadata"]["ownerReferences"] };
}
type Owner = Pod["metadata"]["ownerReferences"][number];

/** The one owner that makes and deletes the object. A static pod has one too, its node. */
export function controllerOf(metadata: HasOwners["metadata"]): Owner | undefined {
  return metadata.ownerReferences.find(({ controller }) => controller === true);
}

/** The controller, when it is of this kind: other groups have kinds of the same name. */
export function ownerOfKind(metadata: HasOwners["metadata"], kind: ObservedKind): Owner | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === kind && owner.apiVersion === apiVersionOf(OBSERVED[kind].resource) ? owner : undefined;
}

/** In the index `owner`: objects that no controller of a kind that is told owns. */
export const BARE = "";

/** A pod with a controller, of which kind ever, belongs to that. A ReplicaSet too; a Job only to a CronJob. */
export const ownerIndex = {
  ReplicaSet: ({ metadata }: HasOwners) => [controllerOf(metadata)?.uid ?? BARE],
  Pod: ({ metadata }: HasOwners) => [controllerOf(metadata)?.uid ?? BARE],
  Job: ({ metadata }: HasOwners) => [ownerOfKind(metadata, "CronJob")?.uid ?? BARE],
} as const;

export function isBare(kind: keyof typeof ownerIndex, object: HasOwners): boolean {
  return ownerIndex[kind](object).includes(BARE);
}

/**
 * The Deployment of a pod by the name of its ReplicaSet alone: for as long as the ReplicaSet may not be read, or is not
 * read yet. The controller names it after the Deployment and the template's hash.
 */
export function deploymentByName({ metadata }: Pod): string | undefined {
  const owner = ownerOfKind(metadata, "ReplicaSet");
  const suffix = `-${metadata.labels["pod-template-hash"] ?? ""}`;
  return owner === undefined || suffix === "-" || !owner.name.endsWith(suffix)
    ? undefined
    : owner.name.slice(0, -suffix.length);
}
