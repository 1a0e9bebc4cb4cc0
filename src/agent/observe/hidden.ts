import type { KubernetesEvent } from "../../contract/resources/resource-heartbeat.ts";
import type { Pod } from "../../kube/projection/shapes.ts";
import type { NamespaceUsage } from "../lookups/usage-lookup.ts";
import type { HiddenNames, Names } from "../names/names.ts";
import type { Lookups, WorkloadRef } from "./observation.ts";
import { ofPod, type Related, type Workload } from "./workload.ts";

/** An object with all that is known of it, as it goes into what is told. */
export interface Told {
  readonly workload: Workload;
  readonly related: Related;
  readonly lookups: Lookups;
}

const WITHHELD = "withheld: observe.redactNames is on";

/** The name under which an object is told: a pod of its own has another one, and so has a claim. */
export function toldRef(ref: WorkloadRef, { hidden }: Names): WorkloadRef {
  if (hidden === undefined) return ref;
  if (ref.kind === "Pod") return { ...ref, name: hidden.pod(ref.name) };
  return ref.kind === "PersistentVolumeClaim" ? { ...ref, name: hidden.claim(ref.name) } : ref;
}

/**
 * The same with other names for pods, claims, nodes and images, before anything is made of it: so no message, row or heartbeat can
 * have the true ones. Words of controllers name pods in any form, so they are withheld.
 */
export function withHiddenNames(ref: WorkloadRef, told: Told, { hidden: names }: Names): Told {
  if (names === undefined) return told;
  const { related } = told;
  const pods = related.pods?.map((pod) => hiddenPod(pod, names));
  const itself =
    ref.kind === "Pod" ? pods?.find(({ metadata }) => metadata.uid === told.workload.metadata.uid) : undefined;
  const workload = itself === undefined ? hiddenClaim(ref, told.workload, names) : ofPod(itself);
  const claims = related.claims && new Map([...related.claims].map(([uid, claim]) => [uid, named(claim, names.claim)]));
  return {
    workload: {
      ...workload,
      conditions: workload.conditions.map(({ message: _, ...rest }) => rest),
      images: (itself === undefined ? workload.images : told.workload.images).map(names.image),
    },
    related: { ...related, ...(pods && { pods }), ...(claims && { claims }) },
    lookups: hiddenLookups(ref, told.lookups, names),
  };
}

function hiddenClaim(ref: WorkloadRef, workload: Workload, names: HiddenNames): Workload {
  return ref.kind === "PersistentVolumeClaim" ? named(workload, names.claim) : workload;
}

/** The same under another name, also where a label has it. */
function named<T extends { readonly metadata: Workload["metadata"] }>(object: T, alias: (name: string) => string): T {
  const { metadata } = object;
  const own = alias(metadata.name);
  const labels = Object.entries(metadata.labels).map(([key, value]) => [key, value === metadata.name ? own : value]);
  return { ...object, metadata: { ...metadata, name: own, labels: Object.fromEntries(labels) } };
}

function hiddenPod(pod: Pod, names: HiddenNames): Pod {
  const { metadata, spec } = named(pod, names.pod);
  const { ownerReferences } = metadata;
  return {
    ...pod,
    metadata: {
      ...metadata,
      // A static pod belongs to its node.
      ownerReferences: ownerReferences.map((owner) =>
        owner.kind === "Node" ? { ...owner, name: names.node(owner.name) } : owner,
      ),
    },
    spec: { ...spec, ...(spec.nodeName !== undefined && { nodeName: names.node(spec.nodeName) }) },
  };
}

/** Asked for under the true names, told under the others. */
function hiddenLookups(ref: WorkloadRef, { events, usage }: Lookups, names: HiddenNames): Lookups {
  return {
    events: {
      of: (_, subjects) => {
        const found = events.of(ref, subjects);
        return { ...found, events: found.events.map((event) => hiddenEvent(event, names)) };
      },
      well: () => events.well(ref),
    },
    usage: { of: (namespace) => hiddenUsage(usage.of(namespace), names) },
  };
}

function hiddenEvent(event: KubernetesEvent, names: HiddenNames): KubernetesEvent {
  const { kind, name } = event.involvedObject ?? {};
  const isPod = kind === "Pod" && typeof name === "string";
  return {
    ...event,
    message: WITHHELD,
    ...(isPod && { involvedObject: { ...event.involvedObject, name: names.pod(name) } }),
  };
}

/** One poll of a namespace serves thousands of looks. */
const hiddenUsages = new WeakMap<NamespaceUsage, { readonly names: HiddenNames; readonly usage: NamespaceUsage }>();

function hiddenUsage(usage: NamespaceUsage, names: HiddenNames): NamespaceUsage {
  const known = hiddenUsages.get(usage);
  if (known?.names === names) return known.usage;
  const pods = new Map([...usage.pods].map(([name, used]) => [names.pod(name), used]));
  const found = { ...usage, pods };
  hiddenUsages.set(usage, { names, usage: found });
  return found;
}
