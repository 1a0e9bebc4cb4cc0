import { expect, it } from "vitest";
import { newSite } from "../../areas/deployments/testing/site.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { RATES } from "./rate-limit.ts";

onEachDatabase(
  "a tenant's rate",
  (world) => {
    it("is one for all of a customer's keys: more of them let through no more, and the vendor goes on", async () => {
      const site = await newSite(world);
      const scope = {
        type: "deployment-group",
        deploymentGroupId: site.group.id,
        projectId: site.project.id,
      } as const;
      world.clock.hold();
      const keys: string[] = [];
      const unused = await site.workspace.key("deployment-group.deployer", scope);
      for (let count = 0; count < 7; count += 1)
        keys.push(await site.workspace.key("deployment-group.deployer", scope));
      const whoami = (key: string) => world.call("GET", "/v1/whoami", { key });
      let allowed = 0;
      for (const key of keys) {
        const answers = await Promise.all(Array.from({ length: RATES.standard.burst }, () => whoami(key)));
        allowed += answers.filter(({ status }) => status === 200).length;
      }
      expect(allowed).toBe(RATES.customer.burst);
      const refused = await whoami(unused);
      expect([refused.status, refused.body.code]).toEqual([429, "RATE_LIMITED"]);
      expect(refused.body.message).toMatch(/one customer's deployment group together may send 3000 a minute/);
      expect(refused.body.context).toEqual({ rate: "customer", ...RATES.customer });
      expect((await whoami(keys[0] ?? "")).body.context).toMatchObject({ rate: "standard" });
      // A deployment's token that the group's token mints is the same customer's.
      expect((await whoami(site.admin)).status).toBe(200);
      expect((await whoami(site.manager.key)).status).toBe(200);
      world.clock.advance(60_000);
      const { token } = (
        await world.call("POST", "/v1/deployments", {
          key: keys[0] ?? "",
          body: { name: "shop", platform: "kubernetes" },
        })
      ).body;
      for (const key of keys) await Promise.all(Array.from({ length: RATES.standard.burst }, () => whoami(key)));
      expect((await whoami(token)).status).toBe(429);
    });
  },
  { rateLimits: true },
);
