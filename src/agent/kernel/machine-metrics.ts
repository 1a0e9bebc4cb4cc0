import { Gauge, type Registry } from "prom-client";
import type { Clock } from "../../base/clock.ts";
import { MACHINE_STATUSES, type MachineReport } from "../../contract/machines/machine.ts";

type Machine = Pick<MachineReport, "status" | "lastHeartbeat">;

/**
 * Declares what the agent tells the platform of machines.
 *
 * @param machines asked at each scrape: as they were last reported
 */
export function machineGauges(
  registry: Registry,
  machines: () => readonly Machine[],
  clock: Pick<Clock, "wallNow">,
): void {
  new Gauge({
    name: "sallyport_machines",
    help: "Machines of accepted deployments by status, as reported to the platform.",
    labelNames: ["status"],
    registers: [registry],
    collect() {
      for (const status of MACHINE_STATUSES) this.set({ status }, 0);
      for (const { status } of machines()) this.inc({ status });
    },
  });
  new Gauge({
    name: "sallyport_machine_heartbeat_age_seconds",
    help: "How long ago the machine that is silent for longest renewed its lease, by the last report. 0: there is no machine.",
    registers: [registry],
    collect() {
      const nowMs = clock.wallNow().getTime();
      const ages = machines().map(({ lastHeartbeat }) => (nowMs - Date.parse(lastHeartbeat)) / 1_000);
      this.set(ages.reduce((most, age) => Math.max(most, age), 0));
    },
  });
}
