import { meets } from "../../kube/objects/label-match.ts";
import type { DrainRules } from "./rules.ts";
import { type DrainPod, MIRROR_ANNOTATION, TEMPLATE_HASH_LABEL } from "./shapes.ts";

/** What a drain does about a pod, before the API server is asked. */
export type Standing =
  /** Stays with its node, and holds nothing up. */
  | "daemon"
  /** Its containers have ended: it is left to its owner. */
  | "ended"
  | "terminating"
  | "unmanaged-pod"
  | "local-storage"
  | "evictable";

export interface PodView {
  /** Whether the drain may force, as its pool allows it. */
  readonly force: boolean;
  readonly rules: Pick<DrainRules, "skip" | "deleteEmptyDir">;
}

export function standingOf(pod: DrainPod, { force, rules }: PodView): Standing {
  const { metadata, spec, status } = pod;
  if (Object.hasOwn(metadata.annotations, MIRROR_ANNOTATION)) return "daemon";
  const controller = controllerOf(pod);
  if (controller?.kind === "DaemonSet") return "daemon";
  if (rules.skip.some((requirements) => meets(requirements, metadata.labels))) return "daemon";
  if (status.phase === "Succeeded" || status.phase === "Failed") return "ended";
  if (metadata.deletionTimestamp !== undefined) return "terminating";
  if (spec.volumes && !rules.deleteEmptyDir) return "local-storage";
  if (controller === undefined && !force) return "unmanaged-pod";
  return "evictable";
}

/** Kubernetes' default. */
const DEFAULT_GRACE_SECONDS = 30;

export function graceSecondsOf({ spec }: DrainPod): number {
  return spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}

export interface OwnPods {
  readonly namespace: string;
  /** Of this very process. */
  readonly name: string;
}

/** Pods of a lower rank go first, ours last: this process, which drains, at the very end. */
export const OWN_RANK = 2;
const SYSTEM_CRITICAL = 2_000_000_000;

export function rankOf({ metadata, spec }: DrainPod, own: OwnPods): number {
  if (metadata.namespace === own.namespace) return metadata.name === own.name ? OWN_RANK + 1 : OWN_RANK;
  const isCritical = (spec.priority ?? 0) >= SYSTEM_CRITICAL || spec.priorityClassName?.startsWith("system-") === true;
  return isCritical ? 1 : 0;
}

/** By rank, then the lowest priority, then the shortest grace; by name, so that each look gives the same order. */
export function inOrder(pods: readonly DrainPod[], own: OwnPods): readonly DrainPod[] {
  return [...pods].sort(
    (one, other) =>
      rankOf(one, own) - rankOf(other, own) ||
      (one.spec.priority ?? 0) - (other.spec.priority ?? 0) ||
      graceSecondsOf(one) - graceSecondsOf(other) ||
      nameOf(one).localeCompare(nameOf(other)),
  );
}

/** With its namespace: a drain touches all of them. */
export function nameOf({ metadata }: DrainPod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Whose pod it is, `shop/deployment/api`; undefined for a pod of its own. */
export function workloadOf(pod: DrainPod): string | undefined {
  const controller = controllerOf(pod);
  if (controller === undefined) return undefined;
  const { namespace, labels } = pod.metadata;
  const hash = labels[TEMPLATE_HASH_LABEL];
  // The Deployment's name stands in its ReplicaSet's, before the hash that the pod is labelled with.
  if (controller.kind === "ReplicaSet" && hash !== undefined && controller.name.endsWith(`-${hash}`)) {
    return `${namespace}/deployment/${controller.name.slice(0, -hash.length - 1)}`;
  }
  return `${namespace}/${controller.kind.toLowerCase()}/${controller.name}`;
}

function controllerOf({ metadata }: DrainPod): { readonly kind: string; readonly name: string } | undefined {
  return metadata.ownerReferences.find(({ controller }) => controller === true);
}
