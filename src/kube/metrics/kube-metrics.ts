import type { Registry } from "prom-client";
import { clientMetrics } from "./client-metrics.ts";
import { controllerMetrics, queueMetrics } from "./controller-metrics.ts";
import { electionMetrics, eventMetrics } from "./election-metrics.ts";
import type { KubeMetrics } from "./metrics.ts";
import { watchMetrics } from "./watch-metrics.ts";

/**
 * Registers the series of this room in `registry`, under client-go's and controller-runtime's own names, labels and
 * buckets, so that dashboards made for them light up. A registry takes them once. Labels hold names from code (kinds,
 * controllers, leases), never names of objects.
 */
export function kubeMetrics(registry: Registry): KubeMetrics {
  return {
    client: clientMetrics(registry),
    watch: watchMetrics(registry),
    queue: queueMetrics(registry),
    controller: controllerMetrics(registry),
    election: electionMetrics(registry),
    events: eventMetrics(registry),
  };
}
