import { counted } from "../../base/counted.ts";
import type { ReleaseManifest, ReleaseObject } from "../../crds/kinds/release-content.ts";
import { kindAndGroup } from "../../crds/released/release-kinds.ts";
import { quantityOf } from "../../kube/objects/quantity.ts";
import { listAt, type Node, nodeAt, templateOf, textAt } from "./rule-nodes.ts";

export interface Sizes {
  /** At once, at most. Those of a CronJob are those of one run. */
  readonly pods: number;
  /** On each node. */
  readonly podsOfNode: number;
  /** What the pods ask for, by resource. */
  readonly asked: Readonly<Record<string, number>>;
  readonly askedOfNode: Readonly<Record<string, number>>;
}

/** What the objects come to when all of them run: pods, and what these and the claims ask for. */
export function sizesOf(objects: readonly Pick<ReleaseObject, "manifest">[]): Sizes {
  const manifests = objects.map(({ manifest }) => manifest);
  const scaled = new Map<string, number>();
  // Of two autoscalers of one workload the larger counts.
  for (const [key, most] of manifests.flatMap(scaledBy)) scaled.set(key, Math.max(scaled.get(key) ?? 0, most));
  const asked: Record<string, number> = {};
  const askedOfNode: Record<string, number> = {};
  let pods = 0;
  let podsOfNode = 0;
  for (const manifest of manifests) {
    const copies = copiesOf(manifest, scaled);
    const pod = nodeAt(templateOf(manifest), "spec");
    if (copies === "each node") {
      podsOfNode += 1;
      add(askedOfNode, requestsOf(pod), 1);
      continue;
    }
    pods += copies;
    add(asked, requestsOf(pod), copies);
    add(asked, claimed(manifest.kind === "PersistentVolumeClaim" ? [nodeAt(manifest)] : []), 1);
    add(asked, claimed(listAt(manifest.spec, "volumeClaimTemplates")), copies);
  }
  return { pods, podsOfNode, asked, askedOfNode };
}

/** `comes to 5 pods at most, which ask for cpu 2.5, memory 1Gi`. Undefined: it runs none. */
export function sizeLine({ pods, podsOfNode, asked, askedOfNode }: Sizes): string | undefined {
  const line = (count: number, where: string, resources: Readonly<Record<string, number>>): readonly string[] => {
    if (count === 0) return [];
    const all = Object.entries(resources).sort(([one], [other]) => (one < other ? -1 : 1));
    const amounts = all.map(([resource, amount]) => `${resource} ${written(resource, amount)}`).join(", ");
    const asks = amounts === "" ? "" : `, which ${count === 1 ? "asks" : "ask"} for ${amounts}`;
    return [`${counted(count, "pod")} ${where}${asks}`];
  };
  const lines = [...line(pods, "at most", asked), ...line(podsOfNode, "on each node", askedOfNode)];
  return lines.length === 0 ? undefined : `comes to ${lines.join("; and ")}`;
}

type Scaled = ReadonlyMap<string, number>;

const keyOf = (kind: string, namespace: string | undefined, name: string): string =>
  `${kind}/${namespace ?? ""}/${name}`;

function scaledBy({ kind, metadata, spec }: ReleaseManifest): readonly (readonly [string, number])[] {
  if (kind !== "HorizontalPodAutoscaler") return [];
  const target = nodeAt(spec, "scaleTargetRef");
  return [
    [keyOf(textAt(target, "kind"), metadata.namespace, textAt(target, "name")), countAt(nodeAt(spec), "maxReplicas")],
  ];
}

function copiesOf(manifest: ReleaseManifest, scaled: Scaled): number | "each node" {
  const { metadata, spec, kind } = manifest;
  switch (kindAndGroup(manifest)) {
    case "DaemonSet.apps":
      return "each node";
    case "Deployment.apps":
    case "StatefulSet.apps":
      return Math.max(
        countAt(nodeAt(spec), "replicas"),
        scaled.get(keyOf(kind, metadata.namespace, metadata.name)) ?? 0,
      );
    case "Job.batch":
      return runOf(nodeAt(spec));
    case "CronJob.batch":
      return runOf(nodeAt(spec, "jobTemplate", "spec"));
    default:
      return 0;
  }
}

function runOf(job: Node): number {
  const parallel = countAt(job, "parallelism");
  return typeof job.completions === "number" ? Math.min(parallel, countAt(job, "completions")) : parallel;
}

/** Absent is one; less than none is none, or it would make room for others. */
function countAt(node: Node, field: string): number {
  const count = node[field];
  return typeof count === "number" ? Math.max(0, count) : 1;
}

function add(sum: Record<string, number>, more: Readonly<Record<string, number>>, times: number): void {
  for (const [resource, amount] of Object.entries(more)) sum[resource] = (sum[resource] ?? 0) + amount * times;
}

/** As the scheduler counts: those that start first run one after the other, unless they stay. */
function requestsOf(pod: Node): Readonly<Record<string, number>> {
  const running: Record<string, number> = {};
  const staying: Record<string, number> = {};
  const starting: Record<string, number> = {};
  for (const container of listAt(pod, "initContainers")) {
    const own = requestOf(container);
    if (container.restartPolicy === "Always") {
      add(staying, own, 1);
      continue;
    }
    // Beside those before it that stay.
    for (const [resource, amount] of Object.entries(own)) {
      starting[resource] = Math.max(starting[resource] ?? 0, amount + (staying[resource] ?? 0));
    }
  }
  add(running, staying, 1);
  for (const container of listAt(pod, "containers")) add(running, requestOf(container), 1);
  for (const [resource, amount] of Object.entries(starting))
    running[resource] = Math.max(running[resource] ?? 0, amount);
  return { ...running, ...requestOf(pod) };
}

function requestOf(of: Node): Readonly<Record<string, number>> {
  const { limits, requests } = nodeAt(of, "resources");
  return amountsIn({ ...nodeAt(limits), ...nodeAt(requests) });
}

function claimed(claims: readonly Node[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const claim of claims) add(sum, amountsIn(nodeAt(claim, "spec", "resources", "requests")), 1);
  return sum;
}

function amountsIn(quantities: Node): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(quantities).flatMap(([resource, quantity]) => {
      const amount = quantityOf(String(quantity));
      return amount === undefined ? [] : [[resource, amount]];
    }),
  );
}

const BYTES = /^(memory|storage|ephemeral-storage|hugepages-.*)$/;
const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** At most one digit after the point, or three of what is counted. */
function written(resource: string, amount: number): string {
  if (!BYTES.test(resource)) return String(Math.ceil(amount * 1000) / 1000);
  const power = Math.min(Math.max(Math.floor(Math.log2(Math.max(amount, 1)) / 10), 0), UNITS.length - 1);
  return `${Math.ceil((amount / 1024 ** power) * 10) / 10}${UNITS[power]}`;
}
