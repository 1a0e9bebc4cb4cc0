import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { filesOf, tierOf } from "./scripts/test-run/tiers.ts";

// biome-ignore lint/style/noProcessEnv: scripts/test.ts says which tier it runs; without it a named file of any tier is found.
const tier = tierOf(process.env.SALLYPORT_TEST_TIER);

/** Minutes long. vitest goes by size, and one that it left for the end would have the other core wait for it. */
const LONGEST = [
  "faults/story",
  "machines/fleet",
  "hostile",
  "npm-start",
  "rules-removed",
  "access-grants",
  "every-field",
  "every-route",
  "matrix",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`/${name}.test.ts`));
    return (await super.sort(files)).toSorted((one, other) => Number(isLong(other)) - Number(isLong(one)));
  }
}

// Projects, because they need different worlds: `unit` nothing but Node, `chart` helm, `integration` a real
// API server and real SQL, `faults` the same and minutes of killing things, `e2e` a kind cluster that main.ts makes.
export default defineConfig({
  test: {
    // Two cores is what CI has: more workers only make the API servers of the tests slower.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [...filesOf("unit", tier)],
          globalSetup: ["src/platform/testing/shared-databases.ts"],
          // A worker loads the modules, compiles the route table and PGlite once and not for each of four hundred files.
          isolate: false,
          // For what hangs. A machine that is busy with other work takes ten times as long as a quiet one.
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        // The first run on a machine builds helm, and the API server for the one test that installs.
        test: { name: "chart", include: [...filesOf("chart", tier)], testTimeout: 300_000, hookTimeout: 900_000 },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: [...filesOf("integration", tier)],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: { name: "faults", include: [...filesOf("faults", tier)], testTimeout: 3_600_000, hookTimeout: 300_000 },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          // One cluster, one installation: each file leaves it as it found it.
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
