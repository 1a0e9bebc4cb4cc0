import type { SETUP_METHODS } from "../../../contract/deployment.ts";
import type { PortalPackages } from "../../../contract/deployment-info.ts";
import type { PackageOutputs, PackageType } from "../../../contract/package-types.ts";
import type { Package } from "../../../contract/packages.ts";
import type { Db } from "../../database.ts";
import { enabledConfigs } from "../packages/config.ts";
import type { PackageRow } from "../packages/store.ts";
import type { ProjectRow } from "../projects/store.ts";

export type SetupMethod = (typeof SETUP_METHODS)[number];

/** What must be built before somebody can set up that way (§8). */
const NEEDS: Readonly<Record<SetupMethod, readonly PackageType[]>> = {
  cloudformation: ["cloudformation"],
  terraform: ["terraform"],
  helm: ["helm", "operator-image"],
  cli: ["cli"],
  "google-oauth": [],
  manual: [],
};

export function enabledTypes({ packages_config }: Pick<ProjectRow, "packages_config">): readonly PackageType[] {
  return enabledConfigs(packages_config).map(({ type }) => type);
}

/** The newest package that was not canceled, of each of the types. */
export async function newestPackages(db: Db, projectId: string, types: readonly PackageType[]): Promise<PackageRow[]> {
  if (types.length === 0) return [];
  return db
    .selectFrom("packages as k")
    .distinctOn("k.type")
    .selectAll("k")
    .where("k.project_id", "=", projectId)
    .where("k.type", "in", types)
    .where("k.status", "<>", "canceled")
    .orderBy("k.type")
    .orderBy("k.number", "desc")
    .execute();
}

/** Of what the methods need, the types that are not built; one that never was built has no status. */
export function unready(
  packages: readonly Package[],
  enabled: readonly PackageType[],
  methods: readonly SetupMethod[],
): readonly { readonly type: PackageType; readonly status: Package["status"] | undefined }[] {
  const needed = new Set(methods.flatMap((method) => NEEDS[method]));
  return enabled
    .filter((type) => needed.has(type))
    .map((type) => ({ type, status: packages.find((each) => each.type === type)?.status }))
    .filter(({ status }) => status !== "ready");
}

/** @param managerUrls platform to the address of the manager that serves it. */
export function portalPackages(
  packages: readonly Package[],
  ready: boolean,
  managerUrls: Readonly<Record<string, string>>,
): PortalPackages {
  const parts = packages.map((each) => partOf(each, managerUrls));
  return Object.assign({ ready }, ...parts);
}

type Part<K extends "cli" | "cloudformation" | "terraform" | "helm"> = NonNullable<PortalPackages[K]>;

function partOf(row: Package, managerUrls: Readonly<Record<string, string>>): Omit<PortalPackages, "ready"> {
  switch (row.config.type) {
    case "cli":
      return { cli: cliPart(row, row.config.name) };
    case "cloudformation":
      return { cloudformation: cloudformationPart(row) };
    case "terraform":
      return { terraform: terraformPart(row, managerUrls) };
    case "helm":
      return { helm: helmPart(row, row.config.chartName) };
    // Nobody who follows a link takes these by themselves.
    case "operator-image":
    case "sandbox-bundle":
      return {};
  }
}

const build = ({ status, version, error }: Package) => ({ status, version, error });

/** The outputs as those of the type; none before the package is ready. */
function outputsOf<T extends PackageType>(
  { outputs }: Package,
  type: T,
): Extract<PackageOutputs, { type: T }> | undefined {
  return outputs?.type === type ? (outputs as Extract<PackageOutputs, { type: T }>) : undefined;
}

function cliPart(row: Package, commandName: string): Part<"cli"> {
  const outputs = outputsOf(row, "cli");
  // No package says where an installer of it would lie.
  const installScripts = { windows: null, mac: null, linux: null };
  return { ...build(row), commandName, installScripts, ...(outputs && { outputs }) };
}

function cloudformationPart(row: Package): Part<"cloudformation"> {
  const outputs = outputsOf(row, "cloudformation");
  const launchUrls = Object.values(outputs?.targets ?? {}).flatMap(({ launchStackUrl }) => launchStackUrl ?? []);
  const launchUrl = launchUrls[0] ?? null;
  return { ...build(row), mode: "auto", launchUrl, outputsSchema: null, ...(outputs && { outputs }) };
}

function terraformPart(row: Package, managerUrls: Readonly<Record<string, string>>): Part<"terraform"> {
  const outputs = outputsOf(row, "terraform");
  const modules = Object.entries(outputs?.modules ?? {});
  return {
    ...build(row),
    providerSource: outputs?.provider.source ?? null,
    moduleSources: Object.fromEntries(modules.map(([target, { source }]) => [target, source])),
    moduleVersion: outputs === undefined ? null : row.version,
    managerUrls,
    ...(outputs && { outputs }),
  };
}

function helmPart(row: Package, chartName: string): Part<"helm"> {
  const outputs = outputsOf(row, "helm");
  if (outputs === undefined) {
    return { ...build(row), chartRef: null, managerFetchExample: null, localImportExample: null };
  }
  const { chart, version } = outputs;
  const file = `${chartName}-${version}.tgz`;
  return {
    ...build(row),
    outputs,
    chartRef: chart,
    managerFetchExample: `helm upgrade --install ${chartName} ${chart} --version ${version}`,
    localImportExample: `helm pull ${chart} --version ${version} && helm upgrade --install ${chartName} ./${file}`,
  };
}
