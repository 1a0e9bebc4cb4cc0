import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { filesOf, tierOf } from "./scripts/test-run/tiers.ts";

// biome-ignore lint/style/noProcessEnv: scripts/test.ts says which tier it runs; without it a named file of any tier is found.
const tier = tierOf(process.env.SALLYPORT_TEST_TIER);

const DATABASES = ["src/platform/testing/shared-databases.ts"];

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

/** What a file asks of its cluster: `{ controllers: true, holds: INSTALLED }`. */
const CLUSTER = /useCluster\(([^()]*)\)/;

/** Files that ask for the same cluster come one after the other, because a worker keeps one; among them the longest first. */
class Sequence extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const clusterOf = ({ moduleId }: TestSpecification) => CLUSTER.exec(readFileSync(moduleId, "utf8"))?.[1] ?? "";
    const clusters = new Map(files.map((file) => [file, clusterOf(file)]));
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`/${name}.test.ts`));
    const compare = (one: TestSpecification, other: TestSpecification): number =>
      one.project.name.localeCompare(other.project.name) ||
      (clusters.get(one) ?? "").localeCompare(clusters.get(other) ?? "") ||
      Number(isLong(other)) - Number(isLong(one));
    return (await super.sort(files)).toSorted(compare);
  }
}

// Projects, because they need different worlds: `unit` nothing but Node, `chart` helm, `integration` a real
// API server and real SQL, `faults` the same and minutes of killing things, `e2e` a kind cluster that main.ts makes.
export default defineConfig({
  test: {
    // Two cores is what CI has: more workers only make the API servers of the tests slower.
    maxWorkers: 2,
    sequence: { sequencer: Sequence },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [...filesOf("unit", tier)],
          globalSetup: DATABASES,
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
          globalSetup: DATABASES,
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
