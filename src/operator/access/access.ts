import {
  AUTO_ACCOUNT,
  EXPIRES_AT_ANNOTATION,
  GRANT_UID_LABEL,
  GROUP,
  grantAccount,
  type LendingMode,
  operationRole,
  VERSION,
} from "../../crds/group.ts";
import { type BindingLike, borrower, inNamespace, type Place } from "../../crds/kinds/lending.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import { type KubeObject, type Resource, resources } from "../../kube/objects/resource.ts";

const RBAC = "rbac.authorization.k8s.io";

/** Whose account it is: a grant, or an invocation that the customer's policy lets run by itself. */
export interface AccessOwner {
  readonly kind: "AccessGrant" | "OperationInvocation";
  readonly name: string;
  readonly uid: string;
}

export interface AccessRequest {
  readonly owner: AccessOwner;
  /** Distinguishes this binding from those of the owner's other commands. */
  readonly invocationUid: string;
  readonly plugin: string;
  readonly operation: string;
  /** Undefined: the whole cluster. */
  readonly namespace: Place;
  /** When the binding must be gone, also if this process ends before. */
  readonly expiresAt: Date;
  /** Lifetime of the token; the API server accepts 600 to 3600 s. */
  readonly tokenSeconds: number;
}

/** A RoleBinding of an opened namespace or a ClusterRoleBinding, with what shows who was lent what. */
export type Binding = KubeObject & BindingLike;

/** The verbs that access needs; the operator's own client has them in `sallyport-grants` and in opened namespaces. */
export type AccessClient = Pick<Client, "create" | "get" | "list" | "delete" | "createToken">;

type RoleKind = "ClusterRole" | "Role";

/** How an installation lends. */
export interface Lending {
  readonly grantsNamespace: string;
  /** What the shipped operation roles are in this installation. Default ClusterRole. */
  readonly roleKind?: RoleKind;
  /** Default operator. */
  readonly mode?: LendingMode;
}

/**
 * Per-grant accounts and what they may do, for a while. The operator itself holds no right on any workload: it lends a
 * shipped ClusterRole to an account that lives and dies with the grant. Where approvers lend, it makes the account and
 * its token, and no binding: without an approver's, the account may do nothing.
 *
 * Everything is idempotent and named after uids, so that a crash leaves nothing that the sweep cannot find.
 */
export class Access {
  readonly #client: AccessClient;
  readonly #grantsNamespace: string;
  #roleKind: RoleKind;
  readonly #mode: LendingMode;

  constructor(client: AccessClient, { grantsNamespace, roleKind = "ClusterRole", mode = "operator" }: Lending) {
    this.#client = client;
    this.#grantsNamespace = grantsNamespace;
    this.#roleKind = roleKind;
    this.#mode = mode;
  }

  /** Account, binding and a bound token. @throws ApiError 403 when the customer has not opened the namespace to us. */
  async open(request: AccessRequest, signal: AbortSignal): Promise<string> {
    const name = this.#accountOf(request.owner);
    await Promise.all([
      // Both at once: a binding may name an account that is a millisecond younger.
      name !== AUTO_ACCOUNT && this.#ensureAccount(request.owner, signal),
      this.#mode === "operator" && this.#ensureBinding(request, signal),
    ]);
    const key = { namespace: this.#grantsNamespace, name };
    const { token } = await this.#client.createToken(key, { expirationSeconds: request.tokenSeconds }, signal);
    return token;
  }

  /** Where approvers lend, what runs by itself runs as one account, which is not the operator's to make. */
  #accountOf({ kind, uid }: Pick<AccessOwner, "kind" | "uid">): string {
    return this.#mode === "approver" && kind === "OperationInvocation" ? AUTO_ACCOUNT : grantAccount(uid);
  }

  /**
   * Takes back one command's binding; an automatic invocation's account goes with it. What an approver has lent stays
   * until the grant is over: other lines of the plan need it.
   */
  async close(request: AccessRequest, signal: AbortSignal): Promise<void> {
    if (this.#mode === "approver") return;
    const { owner, namespace } = request;
    const key = { name: bindingName(request), ...inNamespace(namespace) };
    await this.#client.delete(bindingsOf(namespace), key, {}, signal);
    if (owner.kind === "OperationInvocation") await this.#deleteAccount(owner.uid, signal);
  }

  /** Everything of one owner. Bindings first: a deleted account's token works on for 10 s (the server's cache). */
  async closeAll(ownerUid: string, places: readonly Place[], signal: AbortSignal): Promise<void> {
    for (const namespace of places) {
      for (const [account, { metadata }] of await this.lentIn(namespace, signal)) {
        if (account !== grantAccount(ownerUid)) continue;
        const key = { name: metadata.name, ...inNamespace(namespace) };
        await this.#client.delete(bindingsOf(namespace), key, {}, signal);
      }
    }
    await this.#deleteAccount(ownerUid, signal);
  }

  /** What was lent in `namespace` to accounts of grants, by us or by approvers, each with its account. */
  async lentIn(namespace: Place, signal: AbortSignal): Promise<readonly (readonly [account: string, Binding])[]> {
    return (await this.bindingsIn(namespace, signal)).flatMap((binding) => {
      const account = borrower(binding, this.#grantsNamespace);
      return account === undefined ? [] : [[account, binding] as const];
    });
  }

  /** Every binding of a place. None where we may not look: there we could neither have made any nor wait for one. */
  bindingsIn(namespace: Place, signal: AbortSignal): Promise<readonly Binding[]> {
    const listed = this.#client.list<Binding>(bindingsOf(namespace), inNamespace(namespace), signal);
    return whereAllowed<readonly Binding[]>(collected(listed), []);
  }

  /** Accounts of all grants and automatic invocations. */
  accounts(signal: AbortSignal): Promise<readonly KubeObject[]> {
    const options = { namespace: this.#grantsNamespace, labelSelector: GRANT_UID_LABEL };
    return collected(this.#client.list(resources.serviceAccounts, options, signal));
  }

  async #ensureAccount({ kind, name, uid }: AccessOwner, signal: AbortSignal): Promise<void> {
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        name: grantAccount(uid),
        namespace: this.#grantsNamespace,
        labels: { [GRANT_UID_LABEL]: uid },
        // Deleting the grant deletes its account even while the operator is dead.
        ownerReferences: [{ apiVersion: `${GROUP}/${VERSION}`, kind, name, uid, blockOwnerDeletion: false }],
      },
      automountServiceAccountToken: false,
    };
    await tolerateExisting(this.#client.create(resources.serviceAccounts, account, signal));
  }

  async #ensureBinding(request: AccessRequest, signal: AbortSignal): Promise<void> {
    const { owner, namespace, plugin, operation, expiresAt } = request;
    const bind = (kind: RoleKind): Promise<void> => {
      const binding = {
        apiVersion: `${RBAC}/v1`,
        kind: bindingsOf(namespace).kind,
        metadata: {
          name: bindingName(request),
          ...inNamespace(namespace),
          labels: { [GRANT_UID_LABEL]: owner.uid },
          annotations: { [EXPIRES_AT_ANNOTATION]: timestamp(expiresAt) },
        },
        roleRef: { apiGroup: RBAC, kind, name: operationRole(plugin, operation) },
        subjects: [{ kind: "ServiceAccount", name: grantAccount(owner.uid), namespace: this.#grantsNamespace }],
      };
      return tolerateExisting(this.#client.create(bindingsOf(namespace), binding, signal));
    };
    // An installation whose roles lie in namespaces has none of cluster scope: such a binding is refused.
    if (namespace === undefined) return bind("ClusterRole");
    const known = this.#roleKind;
    try {
      await bind(known);
    } catch (error) {
      if (!(error instanceof ApiError && (error.isForbidden || error.isNotFound))) throw error;
      // An upgrade that changes `rbac.scope` replaces the roles seconds before this process: its lines would fail.
      // Rights and policies of the installation allow one of the two kinds only.
      const other = known === "Role" ? "ClusterRole" : "Role";
      await bind(other).catch(() => Promise.reject(error));
      this.#roleKind = other;
    }
  }

  async #deleteAccount(uid: string, signal: AbortSignal): Promise<void> {
    const key = { namespace: this.#grantsNamespace, name: grantAccount(uid) };
    await this.#client.delete(resources.serviceAccounts, key, {}, signal);
  }
}

export function bindingsOf(namespace: Place): Resource {
  return namespace === undefined ? resources.clusterRoleBindings : resources.roleBindings;
}

/** One binding an invocation: its end never takes another command's rights away. */
function bindingName({ owner, invocationUid }: AccessRequest): string {
  return `${grantAccount(owner.uid)}-${invocationUid.replaceAll("-", "").slice(0, 12)}`;
}

export async function collected<T extends KubeObject>(objects: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const object of objects) all.push(object);
  return all;
}

/** What is not to be seen, or not there, counts as `otherwise`. */
export async function whereAllowed<T>(answer: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && (error.isForbidden || error.isNotFound)) return otherwise;
    throw error;
  }
}

export async function tolerateExisting(created: Promise<unknown>): Promise<void> {
  try {
    await created;
  } catch (error) {
    if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
  }
}
