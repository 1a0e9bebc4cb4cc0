import type { Static } from "typebox";
import type {
  Appearance,
  DeploymentInfo,
  PortalSetupConfig,
} from "../../../contract/deployment-portal/deployment-info.ts";
import type { deploymentPortalRoutes } from "../../../contract/deployment-portal/deployment-portal.ts";
import type { StackInput } from "../../../contract/deployments/stack.ts";
import { withoutNulls } from "../../kernel/without-nulls.ts";
import { countDeployments } from "../deployment-groups/store.ts";
import type { GroupSetup } from "../deployments/create/group-setup.ts";
import { targeted } from "../deployments/settings/environment.ts";
import { inputsOf, shownInput } from "../deployments/settings/inputs.ts";
import { toPackage } from "../packages/store.ts";
import { type ServedPlatform, servedPlatforms } from "./install-context.ts";
import { modelSources } from "./model-availability.ts";
import { enabledTypes, newestPackages, portalPackages, unready } from "./packages.ts";
import { readiness } from "./readiness.ts";
import { SUPPORTED_REGIONS } from "./regions.ts";
import { deploymentsOfGroup, portalItems } from "./setup-items.ts";
import { stackSummary } from "./stack-summary.ts";
import { type PortalCall, type Subject, subjectOf } from "./subject.ts";

type Query = Static<(typeof deploymentPortalRoutes)["info"]["query"]>;

/** Everything that the page behind a deployment link shows (§8), read in one transaction. */
export async function deploymentInfo(call: PortalCall, query: Query): Promise<DeploymentInfo> {
  const { db, principal, now } = call;
  const subject = await subjectOf(call, query.setupItem);
  const { project, release, setup, deployment } = subject;
  const managers = await servedPlatforms(call, project, subject.platforms);
  const deployments = deployment === undefined ? await deploymentsOfGroup(db, subject.group.id, now) : [];
  const ids = deployment === undefined ? deployments.map(({ id }) => id) : [deployment.id];
  const sources = await modelSources(db, ids, principal, now);
  const enabled = enabledTypes(project);
  const packages = (await newestPackages(db, project.id, enabled)).map((row) => toPackage(row, principal, now));
  const summary = release && stackSummary(release, query.platform ?? deployment?.platform);
  const generated = call.config.generatedDomain;
  const missing = unready(packages, enabled, subject.methods);
  return {
    tokenType: deployment === undefined ? "deployment-group" : "deployment",
    ...(deployment && { deployment: { name: deployment.name, platform: deployment.platform } }),
    deploymentGroup: { ...subject.group, pinnedSubdomain: subject.subdomain },
    workspace: await workspaceOf(call),
    project: {
      name: project.name,
      portal: { appearance: appearanceOf(project.deployment_portal_appearance) },
      ...(summary && { stackSummary: summary }),
      ...(generated !== undefined && { generatedDomain: { domain: generated, isSystem: true } }),
    },
    packages: portalPackages(packages, missing.length === 0, {
      page: `${call.config.portalUrl}/deploy`,
      managerUrls: managerUrls(managers),
      deploymentId: deployment?.id,
    }),
    installContext: { targets: Object.fromEntries(managers.map(({ platform, target }) => [platform, target])) },
    supportedRegions: call.config.supportedRegions ?? SUPPORTED_REGIONS,
    modelAvailabilitySources: sources,
    ...(setup && {
      setupItems: portalItems(setup.items, { deployments, sources, principal, now }),
      setupConfig: setupConfigOf(subject, setup, query.platform),
    }),
    readiness: readiness(await factsOf(call, subject, query, { managers, unready: missing, enabled }), now),
  };
}

async function workspaceOf({ db, workspaceId }: PortalCall): Promise<DeploymentInfo["workspace"]> {
  const { id, name, logo_url } = await db
    .selectFrom("workspaces")
    .select(["id", "name", "logo_url"])
    .where("id", "=", workspaceId)
    .executeTakeFirstOrThrow();
  return { id, name, ...(logo_url !== null && { avatarUrl: logo_url }) };
}

function appearanceOf(chosen: Subject["project"]["deployment_portal_appearance"]): Appearance {
  const { preset = "clean", accentColor = "blue", density = "comfortable", ...words } = chosen ?? {};
  return { preset, accentColor, density, ...withoutNulls(words) };
}

function managerUrls(managers: readonly ServedPlatform[]): Record<string, string> {
  return Object.fromEntries(
    managers.flatMap(({ platform, target }) =>
      target.managerUrl === undefined ? [] : [[platform, target.managerUrl]],
    ),
  );
}

/** Leaves out the values of variables and inputs: the page shows which ones are set, not their values. */
function setupConfigOf(
  { release, platforms }: Subject,
  setup: GroupSetup,
  platform: Query["platform"],
): PortalSetupConfig {
  const shown = platform === undefined ? platforms : [platform];
  const all = shown.flatMap((each) => inputsOf(release, each)) as readonly StackInput[];
  const inputs = [...new Map(all.map((input) => [input.id, shownInput(input)])).values()];
  const provided = new Set(Object.keys(setup.inputValues));
  return {
    metadata: setup.metadata,
    policy: setup.policy,
    environmentVariables: setup.environmentVariables.map(({ value: _, ...open }) => targeted(open)),
    items: [...setup.items],
    inputs,
    inputValues: inputs.map((input) => ({
      id: input.id,
      label: input.label,
      providedBy: input.providedBy,
      required: input.required,
      secret: input.kind === "secret",
      provided: provided.has(input.id),
    })),
  };
}

type Seen = { readonly managers: readonly ServedPlatform[] } & Pick<
  Parameters<typeof readiness>[0],
  "unready" | "enabled"
>;

async function factsOf(
  { db, principal }: PortalCall,
  { platforms, release, group, maxDeployments }: Subject,
  { platform }: Query,
  { managers, unready: missing, enabled }: Seen,
): Promise<Parameters<typeof readiness>[0]> {
  const allowed = platforms.filter((each) => platform === undefined || each === platform);
  const used = maxDeployments === undefined ? 0 : await countDeployments(db, group.id);
  return {
    hasRelease: release !== undefined,
    allowed,
    served: allowed.filter((each) => release?.stack[each] != null),
    managers: managers
      .filter((each) => allowed.includes(each.platform))
      .map(({ heard, target }) => ({ heard, hasUrl: target.managerUrl !== undefined })),
    unready: missing,
    enabled,
    placesLeft: maxDeployments === undefined ? undefined : maxDeployments - used,
    tokenExpiresAt: principal.kind === "serviceAccount" ? principal.expiresAt : null,
  };
}
