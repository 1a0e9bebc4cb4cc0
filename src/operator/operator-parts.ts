import { API_SERVER_BACKOFF } from "../base/backoff.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Client } from "../kube/client/client.ts";
import { Controller } from "../kube/controller/controller.ts";
import type { Source } from "../kube/controller/sources.ts";
import type { KubeMetrics } from "../kube/metrics/metrics.ts";
import type { Rights } from "./access/rights.ts";
import type { AdmissionWatch } from "./admission/admission-watch.ts";
import type { Caches } from "./caches.ts";
import type { PluginCatalogue } from "./custom-operations/plugin-catalogue.ts";
import type { OperatorConfig } from "./kernel/config.ts";
import type { DebugMetrics } from "./kernel/debug-metrics.ts";
import type { EventPublisher } from "./kernel/event-publisher.ts";
import type { OperatorMetrics } from "./kernel/metrics.ts";
import type { RolloutMetrics } from "./kernel/rollout-metrics.ts";
import type { RolloutHands } from "./rollouts/hands/hands.ts";

/** What the parts of the operator share. */
export interface OperatorParts {
  readonly client: Client;
  readonly caches: Caches;
  readonly admission: AdmissionWatch;
  readonly rights: Rights;
  readonly metrics: OperatorMetrics;
  readonly kube: KubeMetrics;
  readonly publisher: EventPublisher;
  readonly debugMetrics: DebugMetrics;
  readonly rolloutMetrics: RolloutMetrics;
  /** In place of what works on the customer's objects, in tests. */
  readonly rolloutHands: RolloutHands | undefined;
  readonly plugins: PluginCatalogue;
  readonly fence: () => void;
  readonly clock: Clock;
  /** Its calendar is the API server's. */
  readonly serverClock: Clock;
  readonly log: Logger;
  readonly config: OperatorConfig;
  /** Of this program. */
  readonly version: string;
}

export function controller(
  name: string,
  { clock, log, kube, config }: OperatorParts,
  reconcile: ConstructorParameters<typeof Controller>[0]["reconcile"],
  sources: readonly Source[],
): Controller {
  const concurrency = config.workers;
  const common = { clock, log, metrics: kube, concurrency, backoff: API_SERVER_BACKOFF };
  // A kind that may not be read is shown by readiness, log and event; starting again would not make it readable.
  return new Controller({ ...common, name, reconcile, sources, cacheSyncTimeoutMs: "never" });
}
