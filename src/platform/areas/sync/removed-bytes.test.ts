import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

onEachDatabase(
  "what a deployment's removed objects may hold",
  (world) => {
    it("is within the budget of bytes too", async () => {
      const site = await newSite(world);
      const id = await site.deploy("noisy");
      for (let turn = 0; turn < 20; turn += 1) {
        world.clock.advance(1_000);
        const observed = {
          ...{
            rawIdentity: `r-${turn}`,
            providerKind: "Pod",
            displayName: "pod",
            health: "healthy",
            lifecycle: "running",
          },
          ...{ partial: false, providerStale: false, message: "x".repeat(4000) },
        };
        const batch = {
          ...{
            sourceKind: "operator",
            inventoryScope: "pods",
            controllerPlatform: "kubernetes",
            backend: "kubernetes",
          },
          ...{ observedAt: world.clock.wallNow().toISOString(), complete: true, resources: [observed] },
        };
        const answer = await site.report(id, "pending", { observedInventoryBatches: [batch] });
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      }
      const { rows } = await sql<{ bytes: number }>`
        select sum(octet_length(body::text))::integer as bytes from inventory_rows where deployment_id = ${id}`.execute(
        world.platform.db,
      );
      expect(rows[0]?.bytes).toBeLessThanOrEqual(10_000);
    });
  },
  { budgets: { "deployment-report-bytes": 10_000 } },
);
