import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

onEachDatabase(
  "the budget of live keys",
  (world) => {
    it("counts a key that had ended and is given a later end", async () => {
      const site = await newSite(world);
      const at = (ms: number) => new Date(world.clock.wallNow().getTime() + ms).toISOString();
      const mint = () =>
        world.call("POST", "/v1/api-keys", {
          key: site.member,
          body: {
            description: null,
            expiresAt: at(60_000),
            scope: { type: "project", role: "project.viewer", projectId: site.project.id },
          },
        });
      const ids: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        for (let count = 0; count < 4; count += 1) {
          const { status, body } = await mint();
          expect(status, JSON.stringify(body)).toBe(201);
          ids.push(body.keyInfo.id);
        }
        world.clock.advance(61_000);
      }
      for (const id of ids) {
        const answer = await world.call("PATCH", `/v1/api-keys/${id}`, {
          key: site.member,
          body: { expiresAt: at(86_400_000) },
        });
        if (answer.status >= 400 && answer.body.code !== "BUDGET_EXCEEDED")
          throw new Error(JSON.stringify(answer.body));
      }
      const live = await world.platform.db
        .selectFrom("api_keys")
        .select("id")
        .where("minted_by", "is not", null)
        .where("workspace_id", "=", site.workspace.id)
        .where("revoked_at", "is", null)
        .where("expires_at", ">", world.clock.wallNow())
        .execute();
      expect(live.length).toBeLessThanOrEqual(4);
    });
  },
  { budgets: { "minter-api-keys": 4 } },
);
