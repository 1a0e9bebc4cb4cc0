import type { ChartValues, PortalPackages } from "../../../contract/deployment-portal/deployment-info.ts";
import type { SETUP_METHODS } from "../../../contract/deployments/deployment.ts";
import type { PackageOutputs, PackageType } from "../../../contract/packages/package-types.ts";
import type { Package } from "../../../contract/packages/packages.ts";
import { isTypedWord, pastedLine } from "../../../contract/wire/pasted-line.ts";
import { OPERATOR_WITH_PLUGINS } from "../../../plugins/values.ts";
import type { Db } from "../../database/db.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { ProjectRow } from "../../database/tables/projects.ts";
import { enabledConfigs } from "../packages/config.ts";
import { NO_BUILDER_CODE } from "../packages/no-builder.ts";

export type SetupMethod = (typeof SETUP_METHODS)[number];

/** The packages that a setup method needs (§8). */
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

/**
 * For each type the newest ready package, else the newest that was not canceled, so that a rebuild does not hide a
 * ready one.
 */
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
    .orderBy((eb) => eb("k.status", "=", "ready"), "desc")
    .orderBy("k.number", "desc")
    .execute();
}

export interface Unready {
  readonly type: string;
  readonly status: Package["status"] | undefined;
  /** Why it will not be ready before somebody acts. */
  readonly why?: string;
}

/**
 * The package types that the methods need and that are not ready. A type that was never built has no status. When no
 * method has an enabled type, all needed types are listed, because none of them will ever be built.
 */
export function unready(
  packages: readonly Package[],
  enabled: readonly PackageType[],
  methods: readonly SetupMethod[],
): readonly Unready[] {
  const isOffered = (method: SetupMethod): boolean =>
    NEEDS[method].length === 0 || NEEDS[method].some((type) => enabled.includes(type));
  const needed = [...new Set(methods.flatMap((method) => NEEDS[method]))];
  return needed
    .filter((type) => enabled.includes(type) || !methods.some(isOffered))
    .map((type) => {
      const found = packages.find((each) => each.type === type);
      const why = found?.error?.code === NO_BUILDER_CODE ? found.error.message : undefined;
      return { type, status: found?.status, ...(why !== undefined && { why }) };
    })
    .filter(({ status }) => status !== "ready");
}

/** What the platform knows about the customer's installation. */
export interface Installing {
  /** Where people follow this link, in a browser. */
  readonly page: string;
  /** Address of the manager by platform. */
  readonly managerUrls: Readonly<Record<string, string>>;
  /** Undefined: the customer's cluster cannot pull the operator's image from a registry that the platform knows. */
  readonly image?: NonNullable<ChartValues["image"]> | undefined;
  /** Set for a deployment token. A group token creates its deployment later. */
  readonly deploymentId: string | undefined;
}

export function portalPackages(packages: readonly Package[], ready: boolean, installing: Installing): PortalPackages {
  const image = packages.flatMap((each) => imageValues(outputsOf(each, "operator-image")) ?? [])[0];
  const parts = packages.map((each) => partOf(each, { ...installing, image }));
  return Object.assign({ ready }, ...parts);
}

type Part<K extends "cli" | "cloudformation" | "terraform" | "helm" | "operatorImage"> = NonNullable<PortalPackages[K]>;

function partOf(row: Package, installing: Installing): Omit<PortalPackages, "ready"> {
  switch (row.config.type) {
    case "cli":
      return { cli: cliPart(row, row.config.name) };
    case "cloudformation":
      return { cloudformation: cloudformationPart(row, installing.page) };
    case "terraform":
      return { terraform: terraformPart(row, installing.managerUrls) };
    case "helm":
      return { helm: helmPart(row, row.config.chartName, installing) };
    case "operator-image":
      return { operatorImage: imagePart(row) };
    // The portal does not offer it: the customer does not install it directly.
    case "sandbox-bundle":
      return {};
  }
}

/**
 * What is known only of a built package. The field is there all the same, as text: this is the answer that is polled
 * until the package is ready, and no shell or Terraform takes an empty one for a name.
 */
const UNKNOWN = "";

const build = ({ status, version, error }: Package) => ({ status, version, ...(error !== null && { error }) });

/** The outputs in the form of the type; undefined before the package is ready. */
function outputsOf<T extends PackageType>(
  { outputs }: Package,
  type: T,
): Extract<PackageOutputs, { type: T }> | undefined {
  return outputs?.type === type ? (outputs as Extract<PackageOutputs, { type: T }>) : undefined;
}

function cliPart(row: Package, commandName: string): Part<"cli"> {
  const outputs = outputsOf(row, "cli");
  return { ...build(row), commandName: isTypedWord(commandName) ? commandName : UNKNOWN, ...(outputs && { outputs }) };
}

/** Until a stack can be launched, `launchUrl` opens the page that says how far the template is, or how it is applied by hand. */
function cloudformationPart(row: Package, page: string): Part<"cloudformation"> {
  const outputs = outputsOf(row, "cloudformation");
  const launchUrls = Object.values(outputs?.targets ?? {}).flatMap(({ launchStackUrl }) => launchStackUrl ?? []);
  const [launchUrl = page] = launchUrls;
  // Without a launch URL the customer applies the template by hand and then enters its outputs.
  const mode = outputs !== undefined && launchUrls.length === 0 ? "outputs" : "auto";
  return { ...build(row), mode, launchUrl, ...(outputs && { outputs }) };
}

function terraformPart(row: Package, managerUrls: Readonly<Record<string, string>>): Part<"terraform"> {
  const outputs = outputsOf(row, "terraform");
  const modules = Object.entries(outputs?.modules ?? {});
  return {
    ...build(row),
    moduleSources: Object.fromEntries(modules.map(([target, { source }]) => [target, source])),
    managerUrls,
    providerSource: outputs?.provider.source ?? UNKNOWN,
    moduleVersion: row.version,
    ...(outputs && { outputs }),
  };
}

/**
 * The commands that install. Running them means that the customer accepts the deployment: Sallyport is a dependency of
 * the vendor's chart. The placeholder for the namespace is not a valid name, so a command pasted without a change fails
 * with an error.
 */
function helmPart(row: Package, chartName: string, { deploymentId, image }: Installing): Part<"helm"> {
  const outputs = outputsOf(row, "helm");
  if (outputs === undefined) {
    return { ...build(row), chartRef: UNKNOWN, managerFetchExample: UNKNOWN, localImportExample: UNKNOWN };
  }
  const { chart, version } = outputs;
  const accepting = deploymentId === undefined ? "" : ` --set 'sallyport.deployments.${deploymentId}={YOUR-NAMESPACE}'`;
  const pulling = image === undefined ? "" : pullingFlags(image);
  const fetching = pastedLine`helm upgrade --install ${chartName} ${chart} --version ${version}`;
  const importing = pastedLine`helm pull ${chart} --version ${version} && helm upgrade --install ${chartName} ./${chartName}-${version}.tgz`;
  const known = fetching !== undefined && importing !== undefined;
  return {
    ...{ ...build(row), outputs, chartRef: chart },
    managerFetchExample: known ? `${fetching}${pulling}${accepting}` : UNKNOWN,
    localImportExample: known ? `${importing}${pulling}${accepting}` : UNKNOWN,
  };
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Undefined for an image that was not pushed: its `image` is an address. */
function imageValues(outputs: ReturnType<typeof outputsOf<"operator-image">>): ChartValues["image"] {
  if (outputs === undefined || !DIGEST.test(outputs.digest)) return undefined;
  const [, registry, repository] = /^([^/:@]+(?::\d+)?)\/([^:@]+)$/.exec(outputs.image) ?? [];
  if (registry === undefined || repository === undefined) return undefined;
  if (!isTypedWord(registry) || !isTypedWord(repository)) return undefined;
  return { registry, repository, digest: outputs.digest };
}

/** The customer's chart has the operator's image of the project, and of its plugins none runs without their values. */
function pullingFlags({ registry, repository, digest }: NonNullable<ChartValues["image"]>): string {
  const flags = pastedLine` --set sallyport.image.registry=${registry} --set sallyport.image.repository=${repository} --set sallyport.image.digest=${digest}`;
  return flags ?? "";
}

function pluginValues(plugins: NonNullable<ChartValues["plugins"]>): ChartValues {
  return Object.keys(plugins).length === 0 ? { plugins } : { plugins, operator: OPERATOR_WITH_PLUGINS };
}

function imagePart(row: Package): Part<"operatorImage"> {
  const outputs = outputsOf(row, "operator-image");
  if (outputs === undefined) return build(row);
  const { archive, digest, plugins } = outputs;
  const image = imageValues(outputs);
  return {
    ...build(row),
    digest,
    ...(archive != null && { archive }),
    values: { ...(image && { image }), ...(plugins != null && pluginValues(plugins)) },
  };
}
