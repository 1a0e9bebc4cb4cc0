import { Gauge, type Registry } from "prom-client";
import { closedCounter } from "../../base/closed-series.ts";
import { MACHINE_JOIN_STATES, type MachineJoin, type MachineJoinState } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";

const JOIN_RESULTS = ["joined", "denied", "expired"] as const;
const CERTIFICATE_KINDS = ["first", "renewal", "serving"] as const;
export type CertificateKind = (typeof CERTIFICATE_KINDS)[number];

/** What the rest of the process may do to the metrics of joins. */
export interface JoinMetrics {
  ended(result: (typeof JOIN_RESULTS)[number]): void;
  issued(kind: CertificateKind): void;
}

/** @param joins asked at each scrape, as `pools` is */
export function joinMetrics(
  registry: Registry,
  joins: () => Iterable<MachineJoin>,
  pools: () => Iterable<MachinePool>,
): JoinMetrics {
  new Gauge({
    name: "sallyport_machine_signer_broken",
    help: "Machine pools whose last request for a certificate the cluster's signer did not sign.",
    registers: [registry],
    collect() {
      const isBroken = ({ status }: MachinePool): boolean =>
        status?.conditions?.some((each) => each.type === "SignerWorks" && each.status === "False") === true;
      this.set([...pools()].filter(isBroken).length);
    },
  });
  new Gauge({
    name: "sallyport_machine_joins",
    help: "Machines that asked to join, by state.",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const counts = new Map<MachineJoinState, number>(MACHINE_JOIN_STATES.map((state) => [state, 0]));
      for (const { status } of joins()) {
        const state = status?.state ?? "Waiting";
        counts.set(state, (counts.get(state) ?? 0) + 1);
      }
      for (const [state, count] of counts) this.set({ state }, count);
    },
  });
  const total = closedCounter(registry, "sallyport_machine_joins_ended_total", "Joins that ended, by how.", {
    result: JOIN_RESULTS,
  });
  const issued = closedCounter(
    registry,
    "sallyport_node_certificates_issued_total",
    "Certificates of nodes that were signed by this process's word.",
    { kind: CERTIFICATE_KINDS },
  );
  return {
    ended: (result) => total.inc({ result }),
    issued: (kind) => issued.inc({ kind }),
  };
}
