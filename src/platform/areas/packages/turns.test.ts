import { expect, it } from "vitest";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { newId } from "../../kernel/ids.ts";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";
import { builtLess, lease } from "./build.ts";
import { BUILT_IN_BUILDER } from "./built-in-builder.ts";
import { type BuildSite, newBuildSite } from "./testing/builds.ts";

const OPERATOR_IMAGE = { operatorImage: { enabled: true, name: "shop", displayName: "Shop" } };
const HOUR_MS = 3_600_000;

onEachDatabase(
  "builds inside of the platform",
  (world) => {
    /** Put there by SQL: a project has at most one package that waits by requests alone. */
    const queue = async (site: BuildSite, count: number): Promise<void> => {
      const now = world.clock.wallNow();
      const config = { type: "operator-image" as const, name: "shop", displayName: "Shop" };
      const values = Array.from({ length: count }, (_, number) => ({
        id: newId("pkg"),
        workspace_id: site.workspace.id,
        project_id: site.project.id,
        ...{ type: "operator-image" as const, number, status: "pending" as const, retries: 0 },
        ...{ setup_fingerprints: {}, build_input_hash: String(number) },
        config: { ...config, brand: null, envPrefix: null, labelDomain: null },
        created_at: new Date(now.getTime() + number),
        updated_at: now,
      }));
      await world.platform.db.insertInto("packages").values(values).execute();
    };
    const next = async (limit: number): Promise<string | undefined> => {
      const now = world.clock.wallNow();
      const options = { readOnly: false, signal: new AbortController().signal, onRetry: () => undefined };
      const [row] = await inTransaction(world.platform.db, options, (db) =>
        lease(
          { db, now, principal: BUILT_IN_BUILDER },
          { builderId: "b", types: ["operator-image"] },
          { among: builtLess(limit, now), inTurns: true },
        ),
      );
      return row?.project_id;
    };

    it("a workspace with many packages lets the others through, and a project has so many builds an hour", async () => {
      const [greedy, one, other] = [
        await newBuildSite(world, OPERATOR_IMAGE),
        await newBuildSite(world, OPERATOR_IMAGE),
        await newBuildSite(world, OPERATOR_IMAGE),
      ];
      await queue(greedy, 5);
      world.clock.advance(60_000);
      await queue(one, 1);
      await queue(other, 1);
      const taken = [await next(3), await next(3), await next(3), await next(3), await next(3), await next(3)];
      expect(taken).toEqual([
        greedy.project.id,
        ...[one.project.id, other.project.id],
        ...[greedy.project.id, greedy.project.id],
        undefined,
      ]);
      world.clock.advance(HOUR_MS + 1);
      expect(await next(3)).toBe(greedy.project.id);
    });
  },
  OWN_PLATFORM,
);
