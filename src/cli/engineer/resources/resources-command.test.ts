import { sql } from "kysely";
import { expect, it } from "vitest";
import { scaledClock } from "../../../base/testing/scaled-clock.ts";
import { newSite, type Site } from "../../../platform/areas/deployments/testing/site.ts";
import { onEachDatabase } from "../../../platform/testing/harness.ts";
import { runCli } from "../../run-cli.ts";
import { Stopped } from "../../stop-signals.ts";
import type { Surroundings } from "../calling.ts";
import { engineerCommands } from "../engineer-commands.ts";

const WORKLOADS = 5_000;
const SCOPE = { sourceKind: "operator", inventoryScope: "kubernetes:apps/v1:Deployment:shop" } as const;
const PLACE = { controllerPlatform: "kubernetes", backend: "kubernetes" } as const;

interface Told {
  readonly health?: string;
  readonly namespace?: string;
}

const workload = (name: string, { health = "healthy", namespace = "shop" }: Told = {}) => ({
  ...{ rawIdentity: `deployment.${namespace}.${name}`, providerKind: "Deployment", displayName: name, namespace },
  ...{ health, lifecycle: "running", partial: false, providerStale: false, resourceTypeHint: "container" },
  message: health === "healthy" ? null : "1 of 3 ready",
});

onEachDatabase("resources of a project with 5,000 workloads", (world) => {
  async function newShop() {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await tell(site, id, { complete: true, resources: [workload("api", { health: "unhealthy" })] });
    const body = JSON.stringify(workload("NAME"));
    await sql`
      insert into inventory_rows (deployment_id, source_kind, inventory_scope, raw_identity, observed_at, body)
      select ${id}, ${SCOPE.sourceKind}, ${SCOPE.inventoryScope}, 'deployment.shop.' || name, ${world.clock.wallNow()},
        replace(${body}, 'NAME', name)::jsonb
      from (select 'a' || lpad(n::text, 4, '0') as name from generate_series(1, ${sql.lit(WORKLOADS - 1)}) n) names`.execute(
      world.platform.db,
    );
    return { site, id };
  }
  const tell = async (site: Site, id: string, more: object): Promise<void> => {
    world.clock.advance(1_000);
    const batch = { ...SCOPE, ...PLACE, observedAt: world.clock.wallNow().toISOString(), ...more };
    const answer = await site.report(id, "running", { observedInventoryBatches: [batch] });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  const delta = (site: Site, id: string, resources: object[], removed: string[] = []) =>
    tell(site, id, { mode: "delta", complete: true, resources, removed });

  async function type(site: Site, words: readonly string[], onOut?: (text: string, stop: () => void) => void) {
    const stop = new AbortController();
    const said = { out: "", error: "" };
    const surroundings: Surroundings = {
      env: { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: site.member },
      clock: scaledClock(50),
      out(text) {
        said.out += text;
        if (text !== "") onOut?.(text, () => stop.abort(new Stopped("SIGINT")));
      },
      error(text) {
        said.error += text;
      },
      isTTY: false,
      readInput: async () => "",
      askSecret: undefined,
      openBrowser: undefined,
    };
    const command = await engineerCommands(surroundings, []).find("resources");
    if (command === undefined) throw new Error("there is no such command");
    const { out, error } = surroundings;
    const named = [{ ...command, name: "resources" }];
    const code = await runCli(named, ["resources", ...words, "-p", site.project.name], { out, error }, stop.signal);
    return { code, ...said };
  }

  it.each([[[]], [["--attention"]]])(
    "watch %j: what recovers is healthy and not gone, and what is deleted is",
    async (more) => {
      const { site, id } = await newShop();
      const shown: string[] = [];
      const sick = (name: string) => workload(name, { health: "unhealthy" });
      const steps = [
        () => delta(site, id, [workload("api")]),
        () => delta(site, id, [sick("api"), sick("web")]),
        () => delta(site, id, [], ["deployment.shop.web"]),
      ];
      const watched = await type(site, ["watch", ...more], (text, stop) => {
        // Of healthy rows those are shown too that come into the list for others.
        const lines = text.replace(/^a\d+ .*\n/gm, "").replace(/ +shop +container +shop +/g, " ");
        if (lines === "") return;
        shown.push(lines);
        const next = steps[shown.length - 1];
        if (next === undefined) stop();
        else void next();
      });
      expect(watched.code).toBe(130);
      expect(shown).toEqual([
        expect.stringMatching(/^NAME .*\napi unhealthy .*\n$/),
        expect.stringMatching(/^api healthy .*\n$/),
        expect.stringMatching(/^api unhealthy .*\nweb unhealthy .*\n$/),
        expect.stringMatching(/^web gone .*\n$/),
      ]);
      // The cut is said when it changes, and not at each look.
      expect(watched.error.split("\n").length).toBeLessThan(8);
      expect(watched.error).toMatch(/^only 1000 are shown, 1000 of 5000 of shop: narrow it with .*--name\n/);
    },
  );

  it("get finds what is behind the cut, says when a name means two, and denies only what is not there", async () => {
    const { site, id } = await newShop();
    await delta(site, id, [workload("zoo"), workload("zoo", { namespace: "zoo" }), workload("zoo-2")]);
    const get = (...words: string[]) => type(site, ["get", ...words]);
    expect(await get("shop", "a4999")).toMatchObject({ code: 0, out: expect.stringMatching(/^health +healthy$/m) });
    expect((await get("shop", "shop/zoo")).out).toMatch(/^resource +deployment\.shop\.zoo$/m);
    expect((await get("shop", "deployment.zoo.zoo")).out).toMatch(/^namespace +zoo$/m);
    expect(await get("shop", "zoo")).toMatchObject({
      code: 2,
      error: expect.stringMatching(
        /zoo is the name of 2 resources.*\n.*deployment\.shop\.zoo .*\n.*deployment\.zoo\.zoo /,
      ),
    });
    expect(await get("shop", "zo")).toMatchObject({ code: 5, error: expect.stringContaining("no resource zo") });
    const listed = await type(site, ["list", "--name", "zoo", "-o", "json"]);
    expect([JSON.parse(listed.out).length, listed.error]).toEqual([2, ""]);
  });
});
