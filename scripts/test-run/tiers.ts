import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

// Two tiers. `npm test`, the default one, proves every promise once, in the time that a person waits: units, the chart, and of each
// capability the story on a real API server. `npm run test:full` has everything there is, at full length.

const ROOT = join(import.meta.dirname, "../..");

/** vitest's projects, each with its files. e2e has one tier, the full one, and a cluster that test/e2e/main.ts makes. */
export const PROJECTS = {
  unit: "{src,scripts,lab,deploy,test/oracle,test/patterns,test/platform}/**/*.test.ts",
  chart: "test/chart/**/*.test.ts",
  integration: "test/{integration,browser}/**/*.test.ts",
  faults: "test/faults/**/*.test.ts",
} as const;

export type Project = keyof typeof PROJECTS;

/** Units that start servers, restore dumps or kill processes: minutes, for what changes rarely. */
const FULL_UNITS = [
  "lab/cluster/cluster.test.ts",
  "src/cli/platform/platform-command.test.ts",
  "src/platform/administration/dump.test.ts",
  "test/platform/old-dump.test.ts",
  "test/platform/relay-homes.test.ts",
  "test/platform/sigkill.test.ts",
];

/** Charts that need a linter of minutes to build, and those whose words people type, on a real API server. */
const FULL_CHARTS = ["installer", "portal-lines", "rules-lint"].map((name) => `test/chart/${name}.test.ts`);

/** The story of each capability on a real API server, with real kubectl where people type it, and what docs/security.md promises. */
const DEFAULT_INTEGRATION = [
  "access-grants/access-grants",
  "admission/sample",
  "agent/agent",
  "agent/receipts",
  "debug/admission",
  "debug/kubectl",
  "egress/egress",
  "every-field/every-field",
  "kube/client",
  "kube/runtime",
  "lying-platform/acceptance",
  "lying-platform/lying-platform",
  "machines/approved",
  "machines/join",
  "machines/joins",
  "machines/leave",
  "machines/machine-admission",
  "machines/machine-kinds",
  "npm-start",
  "operator/cluster-operations",
  "operator/kubectl-plugin",
  "operator/operator",
  "operator/plugin-operations",
  "operator/stolen-operator",
  "plugins/plugin-test",
  "releases/apply-set",
  "releases/drift",
  "releases/hands",
  "releases/release-admission",
  "releases/release-policy",
  "releases/release-secrets",
  "releases/wishes",
  "resource-health/choices",
  "resource-health/resource-health",
  "secrets",
].map((name) => `test/integration/${name}.test.ts`);

const DEFAULT: Readonly<Record<Project, (file: string) => boolean>> = {
  unit: (file) => !FULL_UNITS.includes(file),
  chart: (file) => !FULL_CHARTS.includes(file),
  integration: (file) => DEFAULT_INTEGRATION.includes(file),
  faults: () => false,
};

/** What a file imports whose tests a full run has more of: longer ones, more runs of a property, a second database. */
const LONGER_IN_FULL = /\/testing\/(full|harness|model-step)\.ts"|from "fast-check"/;

/** "rest" is what a full run has beyond the default tier: other files, and files that are longer in it. */
export type Tier = "default" | "rest" | "full";

/** @throws Error for a value that names no tier */
export function tierOf(name: string | undefined): Tier {
  if (name === undefined || name === "full") return "full";
  if (name === "default" || name === "rest") return name;
  throw new Error(`SALLYPORT_TEST_TIER is default, rest or full, not ${name}`);
}

/** @returns patterns for vitest's `include` */
export function filesOf(project: Project, tier: Tier): readonly string[] {
  if (tier === "full") return [PROJECTS[project]];
  const isInDefault = DEFAULT[project];
  const isLongerInFull = (file: string) => LONGER_IN_FULL.test(readFileSync(join(ROOT, file), "utf8"));
  return allFilesOf(project).filter((file) =>
    tier === "default" ? isInDefault(file) : !isInDefault(file) || isLongerInFull(file),
  );
}

/** The stories on a kind cluster. */
export function e2eFiles(): readonly string[] {
  return find("test/e2e/**/*.test.ts");
}

/** Whether vitest runs the file by itself, without a cluster that is made for it. */
export function isTestFile(file: string): boolean {
  return (Object.keys(PROJECTS) as Project[]).some((project) => allFilesOf(project).includes(file));
}

function allFilesOf(project: Project): readonly string[] {
  return find(PROJECTS[project]);
}

function find(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: ROOT, exclude: ["**/node_modules/**"] }).toSorted();
}

/** Files that a list above names and that are not there: they moved, and their place in a tier is lost. */
export function missingFiles(): readonly string[] {
  const there = new Set(Object.keys(PROJECTS).flatMap((project) => allFilesOf(project as Project)));
  return [...FULL_UNITS, ...FULL_CHARTS, ...DEFAULT_INTEGRATION].filter((file) => !there.has(file));
}
