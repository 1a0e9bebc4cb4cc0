import { groupKindOf } from "../../../contract/stacks/manifest-problems.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Manifest } from "../../../crds/manifest.ts";
import { hookOf, hookWeightOf } from "./given-objects.ts";

/** One object before it has its wave. */
export interface Part {
  readonly resourceId: string;
  readonly frozen: boolean;
  readonly manifest: Manifest;
}

/** What of the stack decides on the order. */
export interface Step {
  readonly needs: readonly string[];
  /** Whether objects are made of it. What the customer's cluster has already keeps nothing waiting. */
  readonly isMade: boolean;
}

/** Those that run pods, directly or at some time. */
const PODS: ReadonlySet<string> = new Set([
  ...["/Pod", "/ReplicationController", "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet"],
  ...["batch/Job", "batch/CronJob"],
]);
/** Pods wait for these by themselves, and a claim may wait for its pod: none needs a wave of its own. */
const BESIDE: ReadonlySet<string> = new Set(["/ServiceAccount", "/Service", "/PersistentVolumeClaim"]);
/** They act on workloads that are there. */
const AFTER: ReadonlySet<string> = new Set([
  ...["policy/PodDisruptionBudget", "autoscaling/HorizontalPodAutoscaler", "networking.k8s.io/Ingress"],
]);

const CONFIG = 0;
const POD = 2;

/** Place inside of a wave: what pods read comes before them, and what acts on them after. */
function rankOf(manifest: Manifest): number {
  const kind = groupKindOf(manifest);
  if (PODS.has(kind)) return POD;
  if (BESIDE.has(kind)) return 1;
  return AFTER.has(kind) ? 3 : CONFIG;
}

/**
 * The objects in the order of their waves. A layer of the stack's dependencies is a wave; hooks have waves of their own
 * before and after it, by their weights: of one weight first what runs no pods, then one Job after the other. What pods may read, such as a ConfigMap, has its own before its layer's pods: applied
 * beside them, a pod could start with what stood there before.
 */
export function inWaves(parts: readonly Part[], steps: ReadonlyMap<string, Step>): readonly ReleaseObject[] {
  const layers = layersOf(steps);
  const layerOf = ({ resourceId }: Part): number => layers.get(resourceId) ?? 0;
  const ranked = parts.map((part) => ({ part, layer: layerOf(part), rank: rankOf(part.manifest) }));
  const withPods = new Set(
    ranked
      .filter(({ part, rank }) => rank === POD && hookOf(part.manifest.metadata) === undefined)
      .map(({ layer }) => layer),
  );
  const placed = ranked.map(({ part, layer, rank }) => {
    const hook = hookOf(part.manifest.metadata);
    const main = rank === CONFIG && withPods.has(layer) ? 1 : 2;
    const phase = hook === undefined ? main : hook === "pre" ? 0 : 3;
    const name = nameIn(part);
    const isPod = rank === POD;
    const among: Turn =
      hook === undefined ? [0, 0, ""] : [hookWeightOf(part.manifest.metadata), isPod ? 1 : 0, isPod ? name : ""];
    return { part, rank, turn: [layer, phase, ...among] as const, name };
  });
  placed.sort(
    (one, other) => inTurn(one.turn, other.turn) || one.rank - other.rank || inTurn([one.name], [other.name]),
  );
  let wave = -1;
  let last: readonly (number | string)[] | undefined;
  return placed.map(({ part: { frozen, resourceId, manifest }, turn }) => {
    if (last === undefined || inTurn(last, turn) !== 0) wave += 1;
    last = turn;
    return { wave, frozen, resourceId, manifest };
  });
}

/** Weight, pods after what they need, and which of them. */
type Turn = readonly [number, number, string];

function inTurn(one: readonly (number | string)[], other: readonly (number | string)[]): number {
  for (const [index, value] of one.entries()) {
    const beside = other[index] ?? value;
    if (value !== beside) return value < beside ? -1 : 1;
  }
  return 0;
}

/** Unlike that of any other object of the release. */
function nameIn({ resourceId, manifest }: Part): string {
  return JSON.stringify([resourceId, groupKindOf(manifest), manifest.metadata.namespace, manifest.metadata.name]);
}

/** How many layers lie before each resource: by walking from what needs nothing, because a chain may be long. */
function layersOf(steps: ReadonlyMap<string, Step>): ReadonlyMap<string, number> {
  const users = new Map<string, string[]>();
  const open = new Map<string, number>();
  for (const [id, { needs }] of steps) {
    const distinct = new Set(needs);
    open.set(id, distinct.size);
    for (const need of distinct) {
      const known = users.get(need);
      if (known === undefined) users.set(need, [id]);
      else known.push(id);
    }
  }
  const layers = new Map<string, number>([...steps.keys()].map((id) => [id, 0]));
  const free = [...steps.keys()].filter((id) => open.get(id) === 0);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    const end = (layers.get(id) ?? 0) + (steps.get(id)?.isMade === true ? 1 : 0);
    for (const user of users.get(id) ?? []) {
      layers.set(user, Math.max(layers.get(user) ?? 0, end));
      const left = (open.get(user) ?? 0) - 1;
      open.set(user, left);
      if (left === 0) free.push(user);
    }
  }
  return layers;
}
