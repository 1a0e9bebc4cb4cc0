import type { Static } from "typebox";
import type { Appearance, DeploymentInfo, PortalSetupConfig } from "../../../contract/deployment-info.ts";
import type { deploymentPortalRoutes } from "../../../contract/deployment-portal.ts";
import type { StackInput } from "../../../contract/stack.ts";
import { countDeployments } from "../deployment-groups/store.ts";
import type { GroupSetup } from "../deployments/group-setup.ts";
import { inputsOf } from "../deployments/inputs.ts";
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

/** Everything that the page behind a link shows (§8), read in one transaction. */
export async function deploymentInfo(call: PortalCall, query: Query): Promise<DeploymentInfo> {
  const { db, principal, now } = call;
  const subject = await subjectOf(call, query.setupItem);
  const { project, release, setup, deployment } = subject;
  const managers = await servedPlatforms(call, project, subject.platforms);
  const deployments = deployment === undefined ? await deploymentsOfGroup(db, subject.group.id, now) : [];
  const ids = deployment === undefined ? deployments.map(({ id }) => id) : [deployment.id];
  const sources = await modelSources(db, ids, now);
  const enabled = enabledTypes(project);
  const packages = (await newestPackages(db, project.id, enabled)).map((row) => toPackage(row, principal, now));
  const missing = unready(packages, enabled, subject.methods);
  return {
    tokenType: deployment === undefined ? "deployment-group" : "deployment",
    ...(deployment && { deployment: { name: deployment.name, platform: deployment.platform } }),
    deploymentGroup: { ...subject.group, pinnedSubdomain: subject.subdomain },
    workspace: await workspaceOf(call),
    project: {
      name: project.name,
      portal: { appearance: appearanceOf(project.deployment_portal_appearance) },
      stackSummary: release === undefined ? null : stackSummary(release, query.platform ?? deployment?.platform),
      generatedDomain:
        call.config.generatedDomain === undefined ? null : { domain: call.config.generatedDomain, isSystem: true },
    },
    packages: portalPackages(packages, missing.length === 0, managerUrls(managers)),
    installContext: { targets: Object.fromEntries(managers.map(({ platform, target }) => [platform, target])) },
    supportedRegions: call.config.supportedRegions ?? SUPPORTED_REGIONS,
    modelAvailabilitySources: sources,
    ...(setup && {
      setupItems: portalItems(setup.items, { deployments, sources, principal, now }),
      setupConfig: setupConfigOf(subject, setup, query.platform),
    }),
    readiness: readiness(await factsOf(call, subject, query, { managers, unready: missing }), now),
  };
}

async function workspaceOf({ db, workspaceId }: PortalCall): Promise<DeploymentInfo["workspace"]> {
  const { id, name, logo_url } = await db
    .selectFrom("workspaces")
    .select(["id", "name", "logo_url"])
    .where("id", "=", workspaceId)
    .executeTakeFirstOrThrow();
  return { id, name, avatarUrl: logo_url };
}

function appearanceOf(chosen: Subject["project"]["deployment_portal_appearance"]): Appearance {
  return {
    avatarUrl: chosen?.avatarUrl ?? null,
    preset: chosen?.preset ?? "clean",
    accentColor: chosen?.accentColor ?? "blue",
    title: chosen?.title ?? null,
    subtitle: chosen?.subtitle ?? null,
    supportUrl: chosen?.supportUrl ?? null,
    docsUrl: chosen?.docsUrl ?? null,
    density: chosen?.density ?? "comfortable",
  };
}

function managerUrls(managers: readonly ServedPlatform[]): Record<string, string> {
  return Object.fromEntries(
    managers.flatMap(({ platform, target }) => (target.managerUrl === null ? [] : [[platform, target.managerUrl]])),
  );
}

/** Without the values of variables and inputs: the page says what is settled, not what it is. */
function setupConfigOf(
  { release, platforms }: Subject,
  setup: GroupSetup,
  platform: Query["platform"],
): PortalSetupConfig {
  const shown = platform === undefined ? platforms : [platform];
  const all = shown.flatMap((each) => inputsOf(release, each)) as readonly StackInput[];
  const inputs = [...new Map(all.map((input) => [input.id, input])).values()];
  const provided = new Set(Object.keys(setup.inputValues));
  return {
    metadata: setup.metadata,
    policy: setup.policy,
    environmentVariables: setup.environmentVariables.map(({ value: _, ...open }) => open),
    items: [...setup.items],
    inputs,
    inputValues: inputs.map((input) => ({
      id: input.id,
      label: input.label,
      providedBy: input.providedBy ?? [],
      required: input.required,
      secret: input.kind === "secret",
      provided: provided.has(input.id),
    })),
  };
}

type Seen = { readonly managers: readonly ServedPlatform[] } & Pick<Parameters<typeof readiness>[0], "unready">;

async function factsOf(
  { db, principal }: PortalCall,
  { platforms, release, group, maxDeployments }: Subject,
  { platform }: Query,
  { managers, unready: missing }: Seen,
): Promise<Parameters<typeof readiness>[0]> {
  const allowed = platforms.filter((each) => platform === undefined || each === platform);
  const used = maxDeployments === undefined ? 0 : await countDeployments(db, group.id);
  return {
    hasRelease: release !== undefined,
    allowed,
    served: allowed.filter((each) => release?.stack[each] != null),
    managers: managers
      .filter((each) => allowed.includes(each.platform))
      .map(({ heard, target }) => ({ heard, hasUrl: target.managerUrl !== null })),
    unready: missing,
    placesLeft: maxDeployments === undefined ? undefined : maxDeployments - used,
    tokenExpiresAt: principal.kind === "serviceAccount" ? principal.expiresAt : null,
  };
}
