import type { DeploymentInfo, PortalPackages } from "../../../../contract/deployment-portal/deployment-info.ts";
import { isTypedWord, pastedLine } from "../../../../contract/wire/pasted-line.ts";

/** Lines to paste for one step. Without lines, or with a word that no shell should read, the page says so instead. */
export interface Step {
  readonly title: string;
  readonly why: string;
  readonly lines: readonly (string | undefined)[];
}

/** Who pastes, and where to. */
export interface Terms {
  readonly token: string;
  readonly baseUrl: string;
}

const ALL_METHODS = ["cloudformation", "terraform", "helm", "cli", "google-oauth", "manual"] as const;

/** From standard input, so that no list of processes shows the token. */
function asked({ token }: Terms): string | undefined {
  return pastedLine`printf 'Authorization: Bearer %s' ${token} | curl -sS --fail-with-body --header @-`;
}

/** What a group's link lets its holder do: make a deployment, then install it. Pure. */
export function groupSteps(info: DeploymentInfo, terms: Terms): readonly Step[] {
  const policy = info.setupConfig?.policy ?? {};
  const methods = policy.allowedSetupMethods ?? ALL_METHODS;
  const platforms = policy.allowedPlatforms ?? info.project.stackSummary?.platforms ?? [];
  const platform = platforms.includes("kubernetes") ? "kubernetes" : (platforms[0] ?? "kubernetes");
  const isHelm = platform === "kubernetes" && methods.includes("helm");
  const items = info.setupItems?.map(({ item }) => item) ?? [];
  const creating = (items.length === 0 ? [undefined] : items).map((item): Step => {
    const body = JSON.stringify({
      name: "YOUR-NAME",
      platform,
      ...(isHelm && { setupMethod: "helm" }),
      ...(item !== undefined && { setupItem: item }),
    });
    const curl = asked(terms);
    const post = pastedLine`${terms.baseUrl}/v1/deployments`;
    const line = curl && post && `${curl} -X POST -H 'content-type: application/json' \\\n  -d '${body}' ${post}`;
    return {
      title: `Name ${item === undefined || item === "deployment" ? "your deployment" : `what you set up: ${item}`}`,
      why: "Put a name in place of YOUR-NAME: small letters, digits and hyphens. The answer has the deployment's id and a token of its own; that token opens a page like this one for the deployment alone, with the lines that install it: take “Open another link” below.",
      lines: [line],
    };
  });
  const later = packageSteps(info.packages, methods, isHelm);
  return [...creating, ...later];
}

/** What a deployment's link lets its holder do: install that deployment, accept it, look at it. Pure. */
export function deploymentSteps(
  info: DeploymentInfo,
  deployment: { readonly id: string; readonly platform: string },
  terms: Terms,
): readonly Step[] {
  const { id, platform } = deployment;
  const curl = asked(terms);
  const get = pastedLine`${terms.baseUrl}/v1/deployments/${id}`;
  const looking: Step = {
    title: "Look at it from a terminal",
    why: "What this page shows, and the release and settings.",
    lines: [curl && get && `${curl} ${get}`],
  };
  if (platform !== "kubernetes") return [...packageSteps(info.packages, ALL_METHODS, false), looking];
  const name = id.replaceAll("_", "-");
  const accepting = pastedLine`kubectl patch manageddeployments.sallyport.dev ${name} -n sallyport-grants --type=merge`;
  const watching = pastedLine`kubectl get manageddeployments.sallyport.dev ${name} -n sallyport-grants --watch`;
  return [
    ...packageSteps(info.packages, ALL_METHODS, true),
    {
      title: "Accept it, where the agent runs already",
      why: "Put the namespace that you opened for it in place of YOUR-NAMESPACE. Nothing is set up there before.",
      lines: [accepting && `${accepting} \\\n  -p '{"spec":{"acceptedNamespaces":["YOUR-NAMESPACE"]}}'`],
    },
    { title: "Watch it in the cluster", why: "Ctrl-C ends it.", lines: [watching] },
    looking,
  ];
}

type Methods = readonly (typeof ALL_METHODS)[number][];

/** The commands of each built package whose method the link allows. */
function packageSteps(packages: PortalPackages, methods: Methods, isKubernetes: boolean): readonly Step[] {
  const { helm, cli, terraform, cloudformation } = packages;
  const steps: Step[] = [];
  if (isKubernetes && helm?.outputs !== undefined && methods.includes("helm")) {
    const { managerFetchExample: fetching, localImportExample: importing } = helm;
    const why = "Put your namespace in place of YOUR-NAMESPACE, where there is one.";
    steps.push({ title: `Install version ${helm.version} with helm`, why, lines: [fetching || undefined] });
    const without = "With a chart that you have fetched and looked at, or carried into a closed network.";
    steps.push({ title: "The same in two steps", why: without, lines: [importing || undefined] });
  }
  if (cli?.outputs !== undefined && methods.includes("cli")) {
    for (const [target, { url, sha256 }] of Object.entries(cli.outputs.binaries)) {
      const name = cli.commandName || "program";
      const fetching = pastedLine`curl -sS --fail -L -o ${name} ${url}`;
      const checking = pastedLine`echo ${sha256}  ${name} | sha256sum -c`;
      steps.push({
        title: `Fetch the command line for ${target}`,
        why: "The second line says OK, or do not run what came.",
        lines: [fetching, checking],
      });
    }
  }
  if (terraform?.outputs !== undefined && methods.includes("terraform")) {
    const sources = Object.values(terraform.moduleSources).filter(isTypedWord);
    const why = `Version ${terraform.version}. Put the module into your configuration by its source.`;
    for (const source of sources) {
      steps.push({ title: "The Terraform module", why, lines: [`module "product" {\n  source = "${source}"\n}`] });
    }
  }
  if (cloudformation?.outputs !== undefined && methods.includes("cloudformation")) {
    for (const { target, templateUrl } of Object.values(cloudformation.outputs.targets)) {
      const line = pastedLine`curl -sS --fail -L -o template.yaml ${templateUrl}`;
      const why = `Version ${cloudformation.version}, for ${target}: create a stack with it.`;
      steps.push({ title: "The CloudFormation template", why, lines: [line] });
    }
  }
  return steps;
}
