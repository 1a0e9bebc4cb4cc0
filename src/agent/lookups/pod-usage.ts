import type { ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { heartbeatHash } from "../../contract/resources/resource-level.ts";
import type { Pod } from "../../kube/projection/shapes.ts";
import { timeOf } from "../kernel/told-words.ts";
import type { NamespaceUsage, PodUsage } from "./usage-lookup.ts";

interface Usage {
  readonly cpu?: { readonly value: number; readonly unit: "cores" };
  readonly memory?: { readonly value: number; readonly unit: "bytes" };
}

/** What a pod used; empty when it was not measured. */
export function usageOfPod(pod: Pod, { pods }: NamespaceUsage): Usage {
  const found = measuredOf(pod, pods);
  return found === undefined ? {} : usageOf(found.cores, found.bytes);
}

/** What the pods of a workload used together: nothing is known of the sum while one that runs was not measured. */
export function usageOfAll(
  all: readonly Pod[],
  { pods }: NamespaceUsage,
): Usage & { readonly usageObservedAt?: string } {
  const running = all.filter(({ status }) => status.phase === "Running");
  const found = running.map((pod) => measuredOf(pod, pods));
  const measured = found.filter((each) => each !== undefined);
  const oldest = measured.map(({ at }) => at).toSorted()[0];
  if (oldest === undefined || timeOf(oldest) === null) return {};
  const whole = usageOf(sum(found.map((each) => each?.cores)), sum(found.map((each) => each?.bytes)));
  return { ...whole, usageObservedAt: oldest };
}

/**
 * The hash of what makes a heartbeat another: use rises and falls all the time, and a report a minute for each workload
 * that runs would say nothing else. It counts whether use is known.
 */
export function hashWithoutUsage(heartbeat: ResourceHeartbeat): bigint | undefined {
  const told = heartbeat.data.data as ResourceHeartbeat["data"]["data"] & Told;
  if (told.usageObservedAt === undefined) return undefined;
  const { cpu: _, memory: __, pods, ...rest } = told;
  const data = { ...rest, usageObservedAt: "", pods: pods.map(({ cpu: ___, memory: ____, ...pod }) => pod) };
  return heartbeatHash({ ...heartbeat, data: { ...heartbeat.data, data } });
}

interface Told extends Usage {
  readonly usageObservedAt?: string;
  readonly pods: readonly Usage[];
}

/**
 * Of a pod that runs. One that was made after the measurement has the name of another, as those of a StatefulSet do. What
 * has ended uses nothing any more, and what was told of it would change with each poll.
 */
function measuredOf({ metadata, status }: Pod, pods: NamespaceUsage["pods"]): PodUsage | undefined {
  if (status.phase !== "Running") return undefined;
  const found = pods.get(metadata.name);
  return found !== undefined && found.at >= metadata.creationTimestamp ? found : undefined;
}

function usageOf(cores: number | undefined, bytes: number | undefined): Usage {
  return {
    ...(cores !== undefined && { cpu: { value: Math.round(cores * 1e6) / 1e6, unit: "cores" } }),
    ...(bytes !== undefined && { memory: { value: Math.round(bytes), unit: "bytes" } }),
  };
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  return values.includes(undefined) ? undefined : values.reduce<number>((total, each) => total + (each ?? 0), 0);
}
