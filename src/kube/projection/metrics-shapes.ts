import { entries, interned, list, optional, quantity, string, time } from "./field-types.ts";
import { field, message, type Projected } from "./projection.ts";

/** metrics.k8s.io/v1beta1: what a pod's containers used within the last window. */
export const podMetricsShape = message({
  metadata: field(1, message({ name: field(1, string) })),
  timestamp: field(2, optional(time)),
  containers: field(
    4,
    list(message({ name: field(1, interned), usage: field(2, entries(["cpu", "memory"], quantity)) })),
  ),
});
export type PodMetrics = Projected<typeof podMetricsShape>;
