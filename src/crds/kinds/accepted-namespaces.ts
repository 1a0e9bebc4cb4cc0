import { GROUP, NAMESPACE_NAME, objectName } from "../group.ts";
import { type ManagedDeployment, managedDeployments } from "./managed-deployment.ts";

/** Deployment id → the namespaces that the customer named for it in the install values. */
export type NamedDeployments = ReadonlyMap<string, readonly string[]>;

const DEPLOYMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const MAX_DEPLOYMENTS = 64;

/**
 * The setting `SALLYPORT_DEPLOYMENTS` of agent and operator.
 *
 * @throws Error whose message completes "SALLYPORT_DEPLOYMENTS must be …".
 */
export function parseNamedDeployments(text: string): NamedDeployments {
  const wrong = new Error("deployments with their namespaces, such as dep_x=shop+jobs,dep_y=shop");
  const named = new Map<string, readonly string[]>();
  for (const pair of text.split(",").map((each) => each.trim())) {
    if (pair === "") continue;
    const [id = "", list, ...more] = pair.split("=");
    const namespaces = (list ?? "").split("+").filter((each) => each !== "");
    const isProper =
      list !== undefined &&
      more.length === 0 &&
      DEPLOYMENT.test(id) &&
      namespaces.every((each) => NAMESPACE_NAME.test(each));
    if (!isProper || namespaces.length > 64 || named.has(id) || named.size >= MAX_DEPLOYMENTS) throw wrong;
    named.set(id, Object.freeze([...new Set(namespaces)]));
  }
  return named;
}

/**
 * Where the customer accepts this deployment: the namespaces that the install values name for it, and those of its own
 * object, as the customer has ordered them: a release is installed in the first, and one more must not move it. The
 * agent reports by this rule and the operator runs by it; nothing else that platform or agent says counts. Pure.
 */
export function acceptedNamespaces(
  deploymentId: string,
  managed: Pick<ManagedDeployment, "spec"> | undefined,
  named: NamedDeployments,
): readonly string[] {
  const own = managed?.spec.deploymentId === deploymentId ? (managed.spec.acceptedNamespaces ?? []) : [];
  return [...new Set([...(named.get(deploymentId) ?? []), ...own])];
}

/** The same, looked up among all deployments that the cluster serves. Undefined: none has that id. Pure. */
export function acceptedOf(
  deploymentId: string,
  deployments: readonly Pick<ManagedDeployment, "spec" | "status">[],
  named: NamedDeployments,
): readonly string[] | undefined {
  const served = deployments.filter(
    ({ spec, status }) => spec.deploymentId === deploymentId && status?.state !== "Detached",
  );
  if (served.length === 0) return undefined;
  return served.flatMap((managed) => acceptedNamespaces(deploymentId, managed, named));
}

/**
 * The line with which the customer accepts a deployment. It holds no free text of the platform. The API server refuses
 * the line with its placeholder, because no namespace is in upper case.
 */
export function acceptanceLine(deploymentId: string, grantsNamespace: string): string {
  const what = `${managedDeployments.plural}.${GROUP} ${objectName(deploymentId)} -n ${grantsNamespace}`;
  return `kubectl patch ${what} --type=merge -p '{"spec":{"acceptedNamespaces":["${NAMESPACE_PLACEHOLDER}"]}}'`;
}

export const NAMESPACE_PLACEHOLDER = "YOUR-NAMESPACE";
