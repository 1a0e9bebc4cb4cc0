import fc from "fast-check";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../../base/testing/runs.ts";
import { ROLLOUT_STATES, type RolloutState } from "../../../contract/releases/releases.ts";
import type { Db } from "../../database/db.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import { newId } from "../../kernel/ids.ts";
import { OWN_PLATFORM, onEachDatabase, type World } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { sweepTallies } from "./tallies.ts";
import { promote, release } from "./testing/releases.ts";
import { wrongTallies } from "./testing/tallied.ts";

const STATUSES = ["pending", "running", "updating", "update-failed", "error", "deleted"] as const;

/** Of the project, and of its second group. */
const BOTH: readonly { readonly deploymentGroup?: string }[] = [{}, { deploymentGroup: "second" }];

/** A project with two groups and three releases, in which deployments are made and changed by SQL. */
interface Ground {
  readonly db: Db;
  readonly site: Site;
  readonly groups: readonly string[];
  readonly releases: readonly string[];
  readonly template: DeploymentRow;
}

type Columns = Partial<
  Pick<
    DeploymentRow,
    | "deployment_group_id"
    | "status"
    | "current_release_id"
    | "desired_release_id"
    | "pinned_release_id"
    | "release_channel"
    | "release_duration_ms"
  >
>;

/** To those of the deployments whose ids fall to that third. */
type Step =
  | { readonly kind: "insert"; readonly columns: Columns; readonly count: number }
  | { readonly kind: "update"; readonly columns: Columns; readonly third: number }
  | { readonly kind: "delete"; readonly third: number }
  | { readonly kind: "beat"; readonly third: number }
  | { readonly kind: "fold" };

function stepsOn({ groups, releases }: Ground): fc.Arbitrary<Step> {
  const third = fc.nat({ max: 2 });
  const aRelease = fc.option(fc.constantFrom(...releases));
  const all = fc.record({
    deployment_group_id: fc.constantFrom(...groups),
    status: fc.constantFrom(...STATUSES),
    current_release_id: aRelease,
    desired_release_id: aRelease,
    pinned_release_id: aRelease,
    release_channel: fc.constantFrom("production", "beta"),
    release_duration_ms: fc.option(fc.nat({ max: 9000 })),
  });
  // Few at once, or hardly ever would one change alone.
  const some: fc.Arbitrary<Columns> = all.chain((columns) =>
    fc
      .subarray(Object.entries(columns), { minLength: 1, maxLength: 3 })
      .map((entries): Columns => Object.fromEntries(entries)),
  );
  return fc.oneof(
    fc.record({ kind: fc.constant("insert" as const), columns: all, count: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ kind: fc.constant("update" as const), columns: some, third }),
    fc.record({ kind: fc.constant("delete" as const), third }),
    fc.record({ kind: fc.constant("beat" as const), third }),
    fc.record({ kind: fc.constant("fold" as const) }),
  );
}

async function take({ db, site, template }: Ground, step: Step): Promise<void> {
  if (step.kind === "fold") return sweepTallies(db, new Date());
  if (step.kind === "insert") {
    const rows = Array.from({ length: step.count }, () => {
      const id = newId("dep");
      return { ...template, ...step.columns, id, name: id };
    });
    await db.insertInto("deployments").values(rows).execute();
    return;
  }
  const some = sql<boolean>`project_id = ${site.project.id} and abs(hashtext(id)) % 3 = ${step.third}`;
  if (step.kind === "delete") {
    await db.deleteFrom("deployments").where(some).execute();
    return;
  }
  const set = step.kind === "beat" ? { last_heartbeat_at: new Date() } : { ...step.columns, updated_at: new Date() };
  await db.updateTable("deployments").set(set).where(some).execute();
}

async function newGround(world: World): Promise<Ground> {
  const { db } = world.platform;
  const site = await newSite(world, 1000);
  const { project } = site;
  const releases: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    world.clock.advance(1000);
    releases.push(await release(site));
  }
  await site.call("POST", "/v1/release-channels", { query: { project: project.name }, body: { name: "beta" } });
  await promote(site, releases[2] ?? "", {}, "beta");
  const second = { name: "second", project: project.name };
  const groups = [site.group.id, (await site.call("POST", "/v1/deployment-groups", { body: second })).body.id];
  const id = await site.deploy("template");
  const template = await db.selectFrom("deployments").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  return { db, site, groups, releases, template };
}

onEachDatabase(
  "tallies of deployments",
  (world) => {
    const rowsOf = async (table: "deployment_tallies" | "deployment_tally_changes"): Promise<number> => {
      const { count } = await world.platform.db
        .selectFrom(table)
        .select((eb) => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      return Number(count);
    };

    it("are what counting gives, whatever is done, folded or not", { timeout: 120_000 }, async () => {
      const ground = await newGround(world);
      await fc.assert(
        fc.asyncProperty(fc.array(stepsOn(ground), { maxLength: 12 }), async (steps) => {
          for (const step of steps) {
            await take(ground, step);
            expect(await wrongTallies(ground.db)).toEqual([]);
          }
        }),
        { numRuns: runs(40, FEWEST_WALKS) },
      );
      await sweepTallies(ground.db, new Date());
      expect(await rowsOf("deployment_tally_changes")).toBe(0);
    });

    it("tell the same as the deployments one by one", { timeout: 120_000 }, async () => {
      const ground = await newGround(world);
      const { db, site, groups, releases } = ground;
      const live = async (owner: string | undefined): Promise<number> => {
        const { count } = await db
          .selectFrom("deployments")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where(sql<boolean>`${owner} in (project_id, deployment_group_id)`)
          .where("status", "<>", "deleted")
          .executeTakeFirstOrThrow();
        return Number(count);
      };
      const pages = async (id: string, query: Record<string, string | number>) => {
        const items: { id: string; name: string; rolloutState: RolloutState }[] = [];
        let counts: unknown;
        for (let cursor: string | null = ""; cursor !== null; ) {
          const more = cursor === "" ? {} : { cursor };
          const { body } = await site.call("GET", `/v1/releases/${id}/deployments`, { query: { ...query, ...more } });
          items.push(...body.items);
          counts = body.stateCounts;
          cursor = body.nextCursor;
        }
        return { items, counts };
      };
      const of = (items: readonly { rolloutState: RolloutState }[], states: readonly RolloutState[]) =>
        items.filter(({ rolloutState }) => states.includes(rolloutState));
      await fc.assert(
        fc.asyncProperty(
          fc.array(stepsOn(ground), { minLength: 3, maxLength: 9 }),
          fc.constantFrom(...releases),
          fc.uniqueArray(fc.constantFrom(...ROLLOUT_STATES), { minLength: 1, maxLength: 4 }),
          async (steps, id, states) => {
            for (const step of steps) await take(ground, step);
            for (const group of BOTH) {
              const { items, counts } = await pages(id, { limit: 100, ...group });
              expect(items.length).toBe(await live(group.deploymentGroup === undefined ? site.project.id : groups[1]));
              expect(counts).toEqual(
                Object.fromEntries(ROLLOUT_STATES.map((each) => [each, of(items, [each]).length])),
              );
              expect((await pages(id, { limit: 3, state: states.join(), ...group })).items).toEqual(of(items, states));
              if (group.deploymentGroup !== undefined) continue;
              const { rollout } = (await site.call("GET", `/v1/releases/${id}`, { query: { include: "rollout" } }))
                .body;
              expect(rollout.updatedCount).toBe(of(items, ["updated"]).length);
              expect(rollout.pendingCount).toBe(of(items, ["pending", "updating"]).length);
            }
          },
        ),
        { numRuns: 15 },
      );
    });

    it("lose nothing while many write and several fold", { timeout: 120_000 }, async () => {
      const { db, site, template, releases } = await newGround(world);
      const ids = Array.from({ length: 8 }, () => newId("dep"));
      await db
        .insertInto("deployments")
        .values(ids.map((id) => ({ ...template, id, name: id })))
        .execute();
      let writing = true;
      const folding = [1, 2, 3].map(async () => {
        while (writing) await sweepTallies(db, new Date());
      });
      await Promise.all(
        ids.map(async (id, n) => {
          for (let turn = 0; turn < 30; turn += 1) {
            const set = {
              status: STATUSES[(n + turn) % STATUSES.length] ?? "running",
              current_release_id: releases[turn % 4] ?? null,
            };
            await db.updateTable("deployments").set(set).where("id", "=", id).execute();
          }
        }),
      );
      writing = false;
      await Promise.all(folding);
      expect(await wrongTallies(db)).toEqual([]);
      await sweepTallies(db, new Date());
      expect([await wrongTallies(db), await rowsOf("deployment_tally_changes")]).toEqual([[], 0]);
      const mine = await db
        .selectFrom("deployment_tallies")
        .select((eb) => eb.fn.sum<number>("count").as("count"))
        .where("owner_id", "=", site.project.id)
        .executeTakeFirstOrThrow();
      expect(Number(mine.count)).toBeGreaterThan(0);
    });

    it("cost a heartbeat nothing, and nothing is left of a project that is gone", async () => {
      const { db, site, template } = await newGround(world);
      await sweepTallies(db, new Date());
      const kept = await rowsOf("deployment_tallies");
      await db.updateTable("deployments").set({ last_heartbeat_at: new Date(), updated_at: new Date() }).execute();
      expect(await rowsOf("deployment_tally_changes")).toBe(0);
      expect(template.project_id).toBe(site.project.id);
      await db.deleteFrom("projects").where("id", "=", site.project.id).execute();
      expect(await wrongTallies(db)).toEqual([]);
      await sweepTallies(db, new Date());
      // The project's own, and its group's.
      expect([await rowsOf("deployment_tallies"), await rowsOf("deployment_tally_changes")]).toEqual([kept - 2, 0]);
    });
  },
  OWN_PLATFORM,
);
