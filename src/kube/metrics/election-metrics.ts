import { Counter, Gauge, type Registry } from "prom-client";
import { EVENT_RESULTS, type EventMetrics, type KubeMetrics } from "./metrics.ts";

/** client-go's leader election metrics. */
export function electionMetrics(registry: Registry): KubeMetrics["election"] {
  const registers = [registry];
  const labelNames = ["name"] as const;
  const master = new Gauge({
    name: "leader_election_master_status",
    help: "1 while this process leads. The sum over all replicas is 1, or 0 during a hand-over.",
    labelNames,
    registers,
  });
  const slowPath = new Counter({
    name: "leader_election_slowpath_total",
    help: "Renewals that had to read the lease first.",
    labelNames,
    registers,
  });
  return (name) => {
    master.set({ name }, 0);
    slowPath.inc({ name }, 0);
    return {
      leading: (leading) => master.set({ name }, leading ? 1 : 0),
      slowPath: () => slowPath.inc({ name }),
    };
  };
}

/** Our own name: client-go counts nothing here, and so loses events unseen. */
export function eventMetrics(registry: Registry): EventMetrics {
  const events = new Counter({
    name: "event_recorder_events_total",
    help: "Kubernetes events by what became of them: is the record complete?",
    labelNames: ["result"],
    registers: [registry],
  });
  for (const result of EVENT_RESULTS) events.inc({ result }, 0);
  return { ended: (result) => events.inc({ result }) };
}
