import type { DeploymentInfo } from "../../../../contract/deployment-portal/deployment-info.ts";
import type { DeploymentListItem } from "../../../../contract/deployments/deployment.ts";
import type { Manager, ManagerSetup, SetupStatus } from "../../../../contract/managers/managers.ts";
import { html, type Markup, outsideLink, type Page, page } from "../../../kernel/web-page.ts";
import { brandOf } from "./brand.ts";
import { deploymentSteps, groupSteps, type Step, type Terms } from "./commands.ts";
import { lookOf } from "./looks.ts";
import { managerSteps } from "./manager-steps.ts";
import { type Blocker, blockersOf } from "./next-steps.ts";
import { SETUP_SCRIPT } from "./portal-scripts.ts";
import { deploymentProgress, ITEM, MANAGER, type Progress } from "./progress.ts";

/** The manager that a setup token is for. */
export interface ManagerView {
  readonly id: string;
  readonly setupStatus: SetupStatus;
  readonly status: Manager["status"];
  readonly setup: ManagerSetup;
}

/** All that the page of one link shows. */
export interface PortalView extends Terms {
  readonly prefix: string;
  readonly keyId: string;
  readonly info: DeploymentInfo;
  /** The deployments that the token sees, the newest first. */
  readonly deployments: readonly DeploymentListItem[];
  /** Set for the setup of a manager. */
  readonly manager: ManagerView | undefined;
  readonly tokenExpiresAt: Date | null;
}

interface Line {
  readonly name: string;
  readonly progress: Progress;
  readonly detail: string;
}

export function setupPage(view: PortalView): Page {
  const { info, prefix, keyId } = view;
  const { appearance } = info.project.portal;
  const lines = progressOf(view);
  const blockers = view.manager === undefined ? blockersOf(info) : [];
  const isWaited = info.tokenType === "deployment-group" && blockers.some(({ isFatal }) => isFatal);
  const isSettled = lines.length > 0 && lines.every(({ progress }) => progress.isSettled) && !isWaited;
  const { title: chosen = "", subtitle = "", supportUrl, docsUrl } = appearance;
  const title = chosen.trim() || `Set up ${view.manager === undefined ? "" : "the manager "}${info.project.name}`;
  const { head, imageOrigin } = brandOf(info.workspace.name, appearance.avatarUrl ?? info.workspace.avatarUrl);
  return page(
    title,
    html`${subtitle.trim() === "" ? undefined : html`<p class="subtitle">${subtitle}</p>`}
${part("blockers", blockersPart(blockers))}
${part("progress", progressPart(lines, isSettled))}
${part("what", whatPart(view))}
${part("steps", stepsPart(view))}
<p class="note">The lines hold this link's token, which is a key: keep them as you keep a password. Your shell may write what you paste into its history.</p>
<footer><p>${docsUrl === undefined ? undefined : outsideLink(docsUrl, "Documentation")} ${supportUrl === undefined ? undefined : outsideLink(supportUrl, "Support")}
<a href="${prefix}/docs">All that the API does</a> <a href="${prefix}/deploy">Open another link</a></p>
<form method="post" action="${prefix}/deploy/${keyId}/close"><button class="small">Close this link in this browser</button></form>
<p role="status" id="told"></p></footer>`,
    { script: SETUP_SCRIPT, wide: true, head, imageOrigin, look: lookOf(appearance) },
  );
}

/** One part of the page that an open page looks for again. */
function part(id: string, content: Markup): Markup {
  return html`<section id="${id}" data-part aria-labelledby="${id}-title">${content}</section>`;
}

function blockersPart(blockers: readonly Blocker[]): Markup {
  if (blockers.length === 0) return html`<h2 id="blockers-title">In the way: nothing</h2>`;
  const items = blockers.map(
    ({ isFatal, what, next }) =>
      html`<li><span class="${isFatal ? "bad" : "warn"}">${isFatal ? "Stops the setup" : "To know"}: ${what}.</span> ${next}</li>`,
  );
  return html`<h2 id="blockers-title">In the way</h2><ul>${items}</ul>`;
}

function progressOf({ info, deployments, manager }: PortalView): readonly Line[] {
  if (manager !== undefined) {
    const heard = manager.status === "unknown" ? "Not heard of yet." : `It says that it is ${manager.status}.`;
    return [{ name: info.project.name, progress: MANAGER[manager.setupStatus], detail: heard }];
  }
  const items = (info.setupItems ?? []).map(({ item, status, blocker }) => ({
    name: `Step “${item}”`,
    progress: ITEM[status],
    detail: blocker === undefined ? "" : `${blocker.message} (${blocker.code})`,
  }));
  const made = deployments.map((each) => ({
    name: each.name,
    progress: deploymentProgress(each),
    detail: each.error === null ? "" : `${each.error.message} (${each.error.code})`,
  }));
  return [...items, ...made];
}

function progressPart(lines: readonly Line[], isSettled: boolean): Markup {
  const items = lines.map(
    ({ name, progress, detail }) =>
      html`<li><span class="who">${name}</span>: <span class="${progress.tone}">${progress.words}</span>. ${detail}</li>`,
  );
  return html`<h2 id="progress-title">How far it is</h2>
<div aria-live="polite">${lines.length === 0 ? html`<p>Nothing is set up with this link yet.</p>` : html`<ul>${items}</ul>`}</div>
${isSettled ? html`<p data-settled>All is settled.</p>` : html`<p>This page looks again by itself where scripts run. <a href="">Look again</a></p>`}`;
}

function whatPart({ info, deployments, manager, tokenExpiresAt }: PortalView): Markup {
  const { project, workspace, deploymentGroup, deployment, setupConfig, installContext, supportedRegions } = info;
  const { stackSummary: stack, generatedDomain } = project;
  const platforms =
    deployment === undefined ? (setupConfig?.policy.allowedPlatforms ?? stack?.platforms ?? []) : [deployment.platform];
  const targets = Object.values(installContext.targets);
  const regions = Object.entries(supportedRegions).filter(([cloud]) => platforms.some((each) => each === cloud));
  const counts =
    stack &&
    Object.entries(COUNTED).flatMap(([key, words]) => {
      const count = stack.resourceCounts[key as keyof typeof COUNTED];
      return count === 0 ? [] : [`${words}: ${count}`];
    });
  const variables = setupConfig?.environmentVariables ?? [];
  const rows = [
    row(
      "What",
      manager === undefined ? (deployment?.name ?? project.name) : `the manager ${project.name}: agent and operator`,
    ),
    row("From", workspace.name),
    manager === undefined && deploymentGroup ? row("For", deploymentGroup.name) : undefined,
    row("Where", platforms.length === 0 ? "any platform" : platforms.join(", ")),
    counts && row("Consists of", counts.join(", ") || "nothing that runs by itself"),
    ...(stack?.publicEndpoints ?? []).map(({ resourceId, endpointName, hostLabel }) =>
      row(
        "Reached at",
        `${generatedDomain === undefined ? hostLabel : `${hostLabel}.${generatedDomain.domain}`} (${resourceId}, ${endpointName})`,
      ),
    ),
    stack?.requiresNetwork === true ? row("Needs", "a network") : undefined,
    stack?.customerModels === true ? row("Needs", "models in your own account") : undefined,
    ...regions.map(([cloud, names]) => row(`Regions of ${cloud}`, names.join(", "))),
    ...targets.map(({ platform, managerUrl }) =>
      row("Run by", `the manager for ${platform}${managerUrl === undefined ? "" : `, ${managerUrl}`}`),
    ),
    variables.length > 0 ? row("Set by the vendor", variables.map(({ name }) => name).join(", ")) : undefined,
    deployments.length > 0 ? row("Its id", deployments.map(({ id }) => id).join(", ")) : undefined,
    row("Link ends", tokenExpiresAt === null ? "when the vendor takes it back" : tokenExpiresAt.toISOString()),
  ];
  return html`<h2 id="what-title">What will be installed where</h2><dl>${rows.filter((each) => each !== undefined)}</dl>`;
}

const COUNTED = {
  containers: "containers",
  workers: "workers",
  daemons: "daemons",
  externalInfra: "other resources",
} as const;

function row(name: string, value: string): Markup {
  return html`<dt>${name}</dt><dd>${value}</dd>`;
}

function stepsPart(view: PortalView): Markup {
  const { info, manager } = view;
  const [deployment] = view.deployments;
  const steps =
    manager !== undefined
      ? managerSteps(manager.id, manager.setup, view)
      : info.tokenType === "deployment" && deployment !== undefined
        ? deploymentSteps(info, deployment, view)
        : groupSteps(info, view);
  return html`<h2 id="steps-title">The lines</h2>${steps.map(stepOf)}${googlePart(manager)}`;
}

function stepOf({ title, why, lines }: Step, index: number): Markup {
  const known = lines.filter((line) => line !== undefined);
  const block =
    known.length < lines.length || known.length === 0
      ? html`<p class="bad">There is no line to show: a name in it holds characters that a shell would read. Ask your vendor.</p>`
      : html`<pre><code id="line-${String(index)}">${known.join("\n")}</code></pre>
<button type="button" class="small copy" data-copies="line-${String(index)}" aria-label="Copy: ${title}">Copy</button>`;
  return html`<h3>${String(index + 1)}. ${title}</h3>${why === "" ? undefined : html`<p>${why}</p>`}${block}`;
}

function googlePart(manager: ManagerView | undefined): Markup | undefined {
  if (manager?.setup.method !== "google-oauth") return undefined;
  return html`<p>${outsideLink(manager.setup.oauthStartUrl, "The same on Google Cloud")}</p>`;
}
