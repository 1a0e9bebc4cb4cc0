import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

onEachDatabase(
  "the budget of join tokens",
  (world) => {
    it("counts those that a rotation leaves alive for a while", async () => {
      const site = await newSite(world);
      const id = await site.deploy("fleet", { platform: "machines" });
      const running = await site.report(id, "running", {}, { platform: "machines" });
      expect(running.status, JSON.stringify(running.body)).toBe(200);
      const rotate = () =>
        site.call("POST", `/v1/machines/deployments/${id}/join-tokens/rotate`, { body: { graceSeconds: 3600 } });
      const answers = [];
      for (let count = 0; count < 6; count += 1) answers.push((await rotate()).status);
      expect(answers[0]).toBe(200);
      expect(answers.filter((status) => status < 300).length, String(answers)).toBeLessThanOrEqual(3);
    });
  },
  { budgets: { "deployment-join-tokens": 3 } },
);
