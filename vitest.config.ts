import { defineConfig } from "vitest/config";
import { Sequencer } from "./scripts/test-run/sequencer.ts";
import { filesOf, tierOf } from "./scripts/test-run/tiers.ts";

// biome-ignore lint/style/noProcessEnv: scripts/test.ts says which tier it runs; without it a named file of any tier is found.
const tier = tierOf(process.env.SALLYPORT_TEST_TIER);

const DATABASES = ["src/platform/testing/shared-databases.ts"];

// Projects, because they need different worlds: `unit` Node and databases, `chart` helm, `integration` a real
// API server and real SQL, `faults` the same and minutes of killing things, `e2e` a kind cluster that main.ts makes.
export default defineConfig({
  test: {
    // Two cores is what CI has: more workers only make the API servers of the tests slower.
    maxWorkers: 2,
    // It does nothing but in a full run, which records what each file covers.
    setupFiles: ["scripts/test-run/coverage/coverage-setup.ts"],
    // Of a file with one such test the others would not run, and the run would be green.
    allowOnly: false,
    sequence: { sequencer: Sequencer },
    // vitest's own second is too short for a machine that is busy with other work.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [...filesOf("unit", tier)],
          globalSetup: DATABASES,
          setupFiles: ["src/base/testing/default-runs.ts"],
          // A worker loads the modules, compiles the route table and PGlite once and not for each of four hundred files.
          isolate: false,
          // For what hangs. A machine that is busy with other work takes ten times as long as a quiet one.
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: "chart",
          include: [...filesOf("chart", tier)],
          globalSetup: [...DATABASES, "test/chart/rendered-charts.ts"],
          isolate: false,
          testTimeout: 300_000,
          // The first run on a machine builds helm, and the API server for the one test that installs.
          hookTimeout: 900_000,
        },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: [...filesOf("integration", tier)],
          globalSetup: DATABASES,
          // A worker keeps a control plane from one file to the next (lab/cluster/use-cluster.ts).
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 600_000,
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
