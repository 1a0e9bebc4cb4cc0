import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Stack } from "../../../contract/deployments/stack.ts";
import type { StackSettings } from "../../../contract/deployments/stack-settings.ts";
import { quantity } from "../../../contract/stacks/quantity.ts";
import { computePlan } from "./compute-plan.ts";
import { MACHINES } from "./machines.ts";

const GIB = 1024 ** 3;
const stackOf = (resources: Record<string, object>): Stack => ({
  id: "shop",
  resources: Object.fromEntries(
    Object.entries(resources).map(([id, config]) => [
      id,
      { config: { id, type: "container", ...config }, dependencies: [], lifecycle: "live" as const },
    ]),
  ),
});
const plan = (resources: Record<string, object>, settings: StackSettings = {}) =>
  computePlan(stackOf(resources), settings, MACHINES.aws);
const poolSettings = (pool: object) => ({ compute: { pools: { default: pool } } }) as StackSettings;

describe("a compute plan", () => {
  it("has a pool for each name that enabled compute resources use", () => {
    const pools = plan({
      web: { pool: "front" },
      api: {},
      jobs: { type: "worker", pool: "front" },
      files: { type: "bucket", pool: "none" },
    });
    expect(pools.map(({ poolId, workloads }) => [poolId, workloads])).toEqual([
      ["default", ["api"]],
      ["front", ["jobs", "web"]],
    ]);
    const off = stackOf({ web: {} });
    const web = { ...off.resources.web, enabledWhen: false };
    expect(computePlan({ ...off, resources: { web } } as Stack, {}, MACHINES.aws)).toEqual([]);
  });

  it("needs the largest workload in each dimension and as many machines as the sum at 85 % use", () => {
    const [pool] = plan({ web: { cpu: "500m", memory: "6Gi", replicas: 3 }, api: { cpu: 2, memory: "1Gi" } });
    expect(pool?.requirements).toEqual({ cpu: "2", memoryBytes: 6 * GIB, ephemeralStorageBytes: 0 });
    // 19 GiB over 6.8 usable GiB a machine.
    expect(pool?.recommended).toEqual({ mode: "fixed", machine: "m7g.large", machines: 3 });
    expect(pool?.scale).toEqual({ type: "fixed", machines: { min: 1, max: 100, default: 3 } });
    expect(pool?.selected).toEqual(pool?.recommended);
    expect(pool?.machines.filter(({ recommended }) => recommended)).toHaveLength(1);
  });

  it("keeps to an architecture and a GPU", () => {
    expect(plan({ web: { architecture: "x86_64" } })[0]?.recommended).toMatchObject({ machine: "m7i.large" });
    const [pool] = plan({ model: { gpu: { type: "nvidia-a10g", count: 1 }, replicas: 2 } });
    expect(pool?.recommended).toEqual({ mode: "fixed", machine: "g5.xlarge", machines: 2 });
    expect(plan({ web: { cpu: 1000 } })[0]).not.toHaveProperty("selected");
    expect(plan({ web: { cpu: 1000 } })[0]?.errors).toEqual(["no machine is large enough for pool default"]);
  });

  it.each([
    ["a fixed choice that is large enough", { mode: "fixed", machine: "m7i.xlarge", machines: 2 }, []],
    ["an autoscaled one", { mode: "autoscale", machine: "m7g.large", min: 1, max: 5 }, []],
    [
      "too few",
      { mode: "fixed", machine: "m7g.large", machines: 1 },
      ["pool default needs 2 machines of m7g.large, not 1"],
    ],
    [
      "a machine that is not there",
      { mode: "fixed", machine: "x", machines: 9 },
      ["x is unknown or too small for pool default"],
    ],
    [
      "bounds the wrong way round",
      { mode: "autoscale", machine: "m7g.large", min: 3, max: 2 },
      ["min is over max in pool default"],
    ],
  ])("takes up the settings' choice: %s", (_, choice, errors) => {
    const [pool] = plan({ web: { cpu: 1, memory: "5Gi", replicas: 2 } }, poolSettings(choice));
    expect(pool?.errors).toEqual(errors);
    expect(pool?.selected).toEqual(errors.length === 0 ? choice : pool?.recommended);
    expect(pool?.scale.type).toBe(choice.mode);
  });

  it("whatever is asked, what it recommends holds all copies, and asking for it is no error", () => {
    const workload = fc.record({
      cpu: fc.integer({ min: 0, max: 16 }),
      memoryBytes: fc.integer({ min: 0, max: 64 * GIB }),
      replicas: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), workload, { minKeys: 1, maxKeys: 5 }),
        (resources) => {
          const [pool] = plan(resources);
          if (pool?.recommended?.mode !== "fixed") return;
          const { machine, machines } = pool.recommended;
          const kind = MACHINES.aws.find(({ name }) => name === machine);
          const cpu = Object.values(resources).reduce((sum, each) => sum + each.cpu * each.replicas, 0);
          expect(machines === 100 || machines * (kind?.cpu ?? 0) * 0.85 >= cpu).toBe(true);
          const again = plan(resources, poolSettings(pool.recommended))[0];
          expect([again?.selected, again?.errors]).toEqual([pool.recommended, []]);
        },
      ),
    );
  });

  it.each([
    ["500m", 0.5],
    ["1.5", 1.5],
    ["2Gi", 2 * GIB],
    ["1k", 1000],
    [3, 3],
    ["-1", undefined],
    ["1Xi", undefined],
    [Number.NaN, undefined],
    [null, undefined],
  ])("reads the quantity %j as %j", (text, value) => expect(quantity(text)).toBe(value));
});
