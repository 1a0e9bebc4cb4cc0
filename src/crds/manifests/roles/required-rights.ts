import type { InstallationNames } from "../../group.ts";
import type { Reach } from "./shipped-role.ts";
import { shippedRoles } from "./shipped-roles.ts";

/** One verb on one resource that a process of ours needs, and where it comes from. */
export interface RequiredRight {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name?: string;
  /** The shipped role that gives it. */
  readonly role: string;
  readonly reach: Reach;
}

/**
 * The rights that `holder` needs, from the rules of which the manifests and the chart are made. Without those to read
 * the admission policies: an installation may leave that role out, and the grants' condition `IdentityVerified` reports
 * it.
 *
 * @param opened namespaces that the customer opened.
 */
export function requiredRights(
  holder: "agent" | "operator",
  names: InstallationNames,
  opened: readonly string[],
): readonly RequiredRight[] {
  return rightsOf(holder, names, { system: [names.systemNamespace], grants: [names.grantsNamespace], opened });
}

/**
 * The operator's rights for operations on objects without a namespace, which an installation has only if the customer
 * switched one on. The API server shows them with those of any namespace, here the grants namespace.
 */
export function clusterOpenedRights(names: InstallationNames): readonly RequiredRight[] {
  return rightsOf("operator", names, { "cluster-opened": [names.grantsNamespace] });
}

/** The agent's right to nodes, which an installation has only if the customer gave it. Shown like those above. */
export function nodesRights(names: InstallationNames): readonly RequiredRight[] {
  return rightsOf("agent", names, { nodes: [names.grantsNamespace] });
}

/** The agent's right to the salt of names, which an installation has only if names are redacted. */
export function nameSaltRights(names: InstallationNames): readonly RequiredRight[] {
  return rightsOf("agent", names, { "name-salt": [names.systemNamespace] });
}

/** Of what has no namespace. */
const CLUSTER_WIDE: readonly Reach[] = ["cluster-opened", "nodes"];

function rightsOf(
  holder: "agent" | "operator",
  names: InstallationNames,
  namespaces: Readonly<Partial<Record<Reach, readonly string[]>>>,
): readonly RequiredRight[] {
  const roles = shippedRoles(names).filter((role) => role.holder === holder);
  return roles.flatMap(({ name: role, reach, rules }) =>
    (namespaces[reach] ?? []).flatMap((namespace) =>
      rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs.flatMap((verb) =>
              resourceNames.map((name) => ({
                verb,
                group,
                resource,
                namespace,
                ...(name !== undefined && { name }),
                role,
                reach,
              })),
            ),
          ),
        ),
      ),
    ),
  );
}

const MAX_TOLD = 6;

/** For people, the verbs of one resource together: `list, watch pods in shop (role sallyport-agent-observe)`. */
export function rightsText(rights: readonly RequiredRight[]): string {
  const groups = Map.groupBy(
    rights,
    ({ name, namespace, role, reach, ...right }) =>
      `${spokenResource(right)}${name === undefined ? "" : `/${name}`} in ${CLUSTER_WIDE.includes(reach) ? "the whole cluster" : namespace} (role ${role})`,
  );
  const all = [...groups].map(([where, same]) => `${same.map(({ verb }) => verb).join(", ")} ${where}`);
  const more = all.length > MAX_TOLD ? `; and ${all.length - MAX_TOLD} more` : "";
  return all.slice(0, MAX_TOLD).join("; ") + more;
}

/** As RBAC has it; with its group when another kind has the same plural. */
function spokenResource({ group, resource }: Pick<RequiredRight, "group" | "resource">): string {
  return group === "metrics.k8s.io" ? `${resource}.${group}` : resource;
}

/** A Kubernetes event about rights; the runtime's `EventNote` has the same shape. */
export interface RightsNote {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace: string;
  };
  readonly related: { readonly apiVersion: string; readonly kind: string; readonly name: string };
  readonly type: "Normal" | "Warning";
  readonly reason: "RuleMissing" | "RuleRegained";
  /** What cannot be done: `GetListWatchPods`. Events of equal actions count as one, so each resource has its own. */
  readonly action: string;
  readonly note: string;
}

/**
 * The events for people when a right is lost or comes back: one event a role, resource and namespace. All lie in the
 * grants namespace, where alone agent and operator may write events; `related` names the namespace in which the right
 * is missing.
 *
 * @param who `the operator` or `the agent`.
 */
export function rightsNotes(
  who: string,
  { lost, regained }: { readonly lost: readonly RequiredRight[]; readonly regained: readonly RequiredRight[] },
  { grantsNamespace: namespace, roleKind = "ClusterRole" }: Pick<InstallationNames, "grantsNamespace" | "roleKind">,
): readonly RightsNote[] {
  const about = (rights: readonly RequiredRight[], kind: Pick<RightsNote, "type" | "reason">, words: string) =>
    [...Map.groupBy(rights, (right) => `${right.role} ${spokenResource(right)} ${right.namespace}`).values()].flatMap(
      (same) =>
        same.slice(0, 1).map(({ role, reach, namespace: where, ...right }) => ({
          ...kind,
          action: pascalCase([...same.map(({ verb }) => verb), spokenResource(right)]),
          regarding: {
            apiVersion: "rbac.authorization.k8s.io/v1",
            kind: reach === "nodes" ? "ClusterRole" : reach === "opened" ? roleKind : "Role",
            name: role,
            namespace,
          },
          related: { apiVersion: "v1", kind: "Namespace", name: where },
          note: `${words} ${rightsText(same)}`,
        })),
    );
  return [
    ...about(lost, { type: "Warning", reason: "RuleMissing" }, `${who} may not`),
    ...about(regained, { type: "Normal", reason: "RuleRegained" }, `${who} may again`),
  ];
}

/** `get`, `get`, `serviceaccounts/token`: `GetServiceaccountsToken`. */
function pascalCase(words: readonly string[]): string {
  const parts = [...new Set(words)].flatMap((word) => word.split(/[/.]/));
  return parts.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join("");
}
