import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { drainMetrics } from "./drain-metrics.ts";
import { joinMetrics } from "./join-metrics.ts";

type Said = readonly [type: string, status: string, reason: string];
const drain = (state: string, ...conditions: readonly Said[]): MachineDrain =>
  ({
    status: { state, conditions: conditions.map(([type, status, reason]) => ({ type, status, reason })) },
  }) as unknown as MachineDrain;

test("a drain that has ended is neither stalled nor overdue, though its conditions still say so", async () => {
  const registry = new Registry();
  const stalled: Said = ["Progressing", "False", "Stalled"];
  const late: Said = ["DeadlineExceeded", "True", "GoesOn"];
  drainMetrics(registry, () => [
    drain("Blocked", stalled, late),
    drain("Draining", ["DeadlineExceeded", "False", "InTime"]),
    drain("Drained", stalled, late),
    drain("Failed", stalled, late),
  ]);
  const text = await registry.metrics();
  expect(text).toContain("sallyport_machine_drains_stalled 1");
  expect(text).toContain("sallyport_machine_drains_overdue 1");
  expect(text).toContain('sallyport_machine_drains{state="Drained"} 1');
});

test("a signer that does not sign is counted, one that was not asked yet is not", async () => {
  const registry = new Registry();
  const pool = (...status: readonly string[]): MachinePool =>
    ({
      status: { conditions: status.map((each) => ({ type: "SignerWorks", status: each })) },
    }) as unknown as MachinePool;
  joinMetrics(
    registry,
    () => [],
    () => [pool("False"), pool("True"), pool()],
  );
  expect(await registry.metrics()).toContain("sallyport_machine_signer_broken 1");
});
