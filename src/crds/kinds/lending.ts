import {
  GRANT_ACCOUNT,
  type InstallationNames,
  NAMESPACE_NAME,
  OPERATION_ROLE_PREFIX,
  operationRole,
} from "../group.ts";
import { type CommandTable, inScope } from "../operations/catalog.ts";

/** Where a role holds: in one namespace, or, undefined, in the whole cluster. */
export type Place = string | undefined;

/** One shipped role in one place: what a line of a plan cannot run without. */
export interface LentRole {
  readonly role: string;
  readonly namespace: Place;
}

/** The fields of a RoleBinding or ClusterRoleBinding that say who was lent what; the others do not matter. */
export interface BindingLike {
  readonly roleRef?: { readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

type Names = Pick<InstallationNames, "grantsNamespace" | "roleKind">;

const RBAC = "rbac.authorization.k8s.io";
/** Without its anchors, for use within a longer pattern. */
const ACCOUNT = GRANT_ACCOUNT.source.slice(1, -1);

/**
 * The role that `plugin/operation` needs in `namespace`, which is ignored for an operation of cluster scope. Undefined
 * when no binding is possible; then the line cannot run either.
 */
export function lentRole(command: string, namespace: unknown, commands: CommandTable): LentRole | undefined {
  const [, plugin, operation] = /^([a-z0-9-]{1,63})\/([a-z0-9-]{1,63})$/.exec(command) ?? [];
  if (plugin === undefined || operation === undefined || command.length > 64) return undefined;
  if (commands.isClusterWide(command)) return { role: operationRole(plugin, operation), namespace: undefined };
  if (typeof namespace !== "string" || !NAMESPACE_NAME.test(namespace)) return undefined;
  return { role: operationRole(plugin, operation), namespace };
}

/** Everything that a plan needs, each once, in the plan's order. */
export function rolesOfPlan(
  plan: readonly { readonly command: string; readonly params?: Readonly<Record<string, unknown>> }[],
  commands: CommandTable,
): readonly LentRole[] {
  const found = plan.flatMap(({ command, params }) => lentRole(command, params?.namespace, commands) ?? []);
  return found.filter(
    (each, index) => found.findIndex((one) => one.role === each.role && one.namespace === each.namespace) === index,
  );
}

/** Whether a binding in the role's place lends `role` to `account`; its name and author do not matter. */
export function isLent(
  { role }: LentRole,
  account: string,
  bindings: readonly BindingLike[],
  grantsNamespace: string,
): boolean {
  return bindings.some((each) => each.roleRef?.name === role && soleAccount(each, grantsNamespace) === account);
}

/** The grant's account that a binding lends a shipped role to. Undefined for every other binding, {@link AUTO_ACCOUNT}'s too. */
export function borrower(binding: BindingLike, grantsNamespace: string): string | undefined {
  if (!binding.roleRef?.name.startsWith(OPERATION_ROLE_PREFIX)) return undefined;
  const account = soleAccount(binding, grantsNamespace);
  return account !== undefined && GRANT_ACCOUNT.test(account) ? account : undefined;
}

function soleAccount({ subjects = [] }: BindingLike, grantsNamespace: string): string | undefined {
  const [subject, ...others] = subjects;
  const isOurs = subject?.kind === "ServiceAccount" && subject.namespace === grantsNamespace;
  return isOurs && others.length === 0 ? subject.name : undefined;
}

/** Depends on role and account alone, so that a second try finds the binding of the first. */
function lentBindingName({ role }: LentRole, account: string): string {
  return `${account}-${role.slice(OPERATION_ROLE_PREFIX.length)}`;
}

/** The binding as an object, for a client. */
export function lentBinding(
  lent: LentRole,
  account: string,
  { grantsNamespace, roleKind = "ClusterRole" }: Names,
  marks: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  },
): LentBinding {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: lent.namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: { name: lentBindingName(lent, account), ...inNamespace(lent.namespace), ...marks },
    roleRef: { apiGroup: RBAC, kind: lent.namespace === undefined ? "ClusterRole" : roleKind, name: lent.role },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: grantsNamespace }],
  };
}

export interface LentBinding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
}

/** The binding as one line that a person pastes. Each word has a closed alphabet: see {@link BINDING_LINE}. */
export function bindingLine(
  lent: LentRole,
  account: string,
  { grantsNamespace, roleKind = "ClusterRole" }: Names,
): string {
  const name = lentBindingName(lent, account);
  const subject = `--serviceaccount=${grantsNamespace}:${account}`;
  if (lent.namespace === undefined) {
    return `kubectl create clusterrolebinding ${name} --clusterrole=${lent.role} ${subject}`;
  }
  return `kubectl create rolebinding ${name} -n ${lent.namespace} --${roleKind.toLowerCase()}=${lent.role} ${subject}`;
}

/** The field of an object's or a request's key, absent for the whole cluster. */
export function inNamespace(namespace: Place): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

/** Roles of operations of cluster scope: the only ones that a ClusterRoleBinding may lend. */
export const CLUSTER_ROLES: readonly string[] = inScope("cluster").map(({ plugin, name }) =>
  operationRole(plugin, name),
);

/** When a plan needs more, those that do not exist yet come first. */
export const MAX_BINDING_LINES = 16;

/**
 * The form in which the API server accepts such a line in a grant's status: even a stolen operator can write nothing
 * else.
 */
export const BINDING_LINE =
  `^kubectl create (rolebinding ${ACCOUNT}-[a-z0-9-]{1,64} -n [a-z0-9][a-z0-9-]{0,62} ` +
  `--(cluster)?role=sallyport-op-[a-z0-9-]{1,64}|clusterrolebinding ${ACCOUNT}-[a-z0-9-]{1,64} ` +
  `--clusterrole=(${CLUSTER_ROLES.join("|")})) --serviceaccount=[a-z0-9][a-z0-9-]{0,62}:${ACCOUNT}$`;
