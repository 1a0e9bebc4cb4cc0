import { acceptedNamespaces, type NamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { DeploymentCondition } from "./conditions.ts";

/** What this installation is configured with about namespaces. */
export interface Places {
  /** What the install values name for each deployment. */
  readonly named: NamedDeployments;
  /** Where Sallyport's accounts have been given their roles. */
  readonly opened: readonly string[];
  readonly grantsNamespace: string;
}

/** Whether and where the customer accepts this deployment, in words for them. Pure. */
export function acceptance({ spec }: Pick<ManagedDeployment, "spec">, places: Places): readonly DeploymentCondition[] {
  const { deploymentId } = spec;
  const { named, opened } = places;
  const accepted = acceptedNamespaces(deploymentId, { spec }, named);
  if (accepted.length === 0) return [notAccepted(spec)];
  const byHand = spec.acceptedNamespaces ?? [];
  const reason = byHand.length > 0 ? "AcceptedByCustomer" : "NamedAtInstall";
  const message =
    byHand.length > 0
      ? `may be served in ${accepted.join(", ")}`
      : `may be served in ${accepted.join(", ")}, as the install values say`;
  return [{ type: "Accepted", status: "True", reason, message }, openedFor(accepted, opened)];
}

/** A message holds no command; the line has a field of its own. */
const HOW = "status.acceptanceLine has the line that accepts it";

function notAccepted({ acceptedNamespaces }: ManagedDeployment["spec"]): DeploymentCondition {
  const common = { type: "Accepted", status: "False" } as const;
  if (acceptedNamespaces === undefined) {
    return {
      ...common,
      reason: "AwaitingAcceptance",
      message: `the platform lists this deployment, and nothing is done for it until you name its namespaces; ${HOW}`,
    };
  }
  return {
    ...common,
    reason: "RefusedByCustomer",
    message: `acceptedNamespaces is empty, so nothing is done for it; ${HOW}`,
  };
}

function openedFor(accepted: readonly string[], opened: readonly string[]): DeploymentCondition {
  const closed = accepted.filter((namespace) => !opened.includes(namespace));
  if (closed.length === 0) {
    return { type: "Opened", status: "True", reason: "AllOpened", message: "each of its namespaces is opened" };
  }
  return {
    type: "Opened",
    status: "False",
    reason: "NamespaceNotOpened",
    message: `accepted, but not opened to Sallyport's accounts: ${closed.join(", ")}. Add it to namespaces of the install values and upgrade`,
  };
}
