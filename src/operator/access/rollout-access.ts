import { atOnce } from "../../base/at-once.ts";
import { EXPIRES_AT_ANNOTATION, GROUP, VERSION } from "../../crds/group.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { type AccountOwner, planAccount, ROLLOUT_UID_LABEL, rolloutAccount } from "../../crds/release-names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import { type KubeObject, type Resource, resources } from "../../kube/objects/resource.ts";
import { type AccessClient, type Binding, collected, tolerateExisting, whereAllowed } from "./access.ts";

const RBAC = "rbac.authorization.k8s.io";
/** The least that the API server issues, and as long as it takes for a token that has leaked. */
const TOKEN_SECONDS = 600;

/** Namespaces that are visited at once: the sweep that also ends grants waits for the last of them. */
const AT_ONCE = 8;

/** How an installation lends to rollouts. */
export interface RolloutLending {
  /** Of rollouts and their accounts. */
  readonly grantsNamespace: string;
  readonly roleKind: "ClusterRole" | "Role";
  /** What rollouts may do: the shipped role, or the customer's own. */
  readonly role: string;
}

/** Which of a rollout's two accounts. */
export type RolloutAccountKind = "plan" | "rollout";

/** What is left of rollouts: bindings and accounts, each with the uid of its rollout. */
export interface RolloutLeftOver {
  readonly kind: "RoleBinding" | "ServiceAccount";
  readonly rolloutUid: string;
  readonly object: KubeObject;
}

/**
 * The accounts of one rollout and their rights in its namespaces. Everything is named after the rollout's uid and its
 * deployment, so that a crash leaves nothing that the sweep cannot find; the accounts go with the rollout also while the operator is dead.
 */
export class RolloutAccess {
  readonly #client: AccessClient;
  readonly #lending: RolloutLending;

  constructor(client: AccessClient, lending: RolloutLending) {
    this.#client = client;
    this.#lending = lending;
  }

  /** Idempotent. @returns a token of the account. @throws ApiError 403 when the role may not be lent there. */
  async open(
    kind: RolloutAccountKind,
    rollout: Rollout,
    namespaces: readonly string[],
    until: Date,
    signal: AbortSignal,
  ): Promise<string> {
    const name = accountName(kind, rollout);
    // All at once, and none left under way by an error of another: it would come into being after the end.
    const made = await Promise.allSettled([
      this.#ensureAccount(name, rollout, signal),
      ...namespaces.map((namespace) => this.#ensureBinding({ name, namespace }, rollout, until, signal)),
    ]);
    for (const each of made) if (each.status === "rejected") throw each.reason;
    const key = { namespace: this.#lending.grantsNamespace, name };
    return (await this.#client.createToken(key, { expirationSeconds: TOKEN_SECONDS }, signal)).token;
  }

  /** Bindings first: their rights end at once, while a deleted account's token works on for some seconds. */
  async close(
    kinds: readonly RolloutAccountKind[],
    rollout: AccountOwner,
    namespaces: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const names = kinds.map((kind) => accountName(kind, rollout));
    const bindings = namespaces.flatMap((namespace) => names.map((name) => ({ namespace, name })));
    await atOnce(bindings, AT_ONCE, (key) =>
      whereAllowed(this.#client.delete(resources.roleBindings, key, {}, signal), false),
    );
    const { grantsNamespace: namespace } = this.#lending;
    for (const name of names) await this.#client.delete(resources.serviceAccounts, { namespace, name }, {}, signal);
  }

  /** Bindings in `places` before accounts, in the order in which they are to be removed. */
  async leftOvers(places: readonly string[], signal: AbortSignal): Promise<readonly RolloutLeftOver[]> {
    const listed = async (resource: Resource, namespace: string): Promise<readonly KubeObject[]> =>
      collected(this.#client.list(resource, { namespace, labelSelector: ROLLOUT_UID_LABEL }, signal));
    const bindings = await atOnce(places, AT_ONCE, (namespace) =>
      whereAllowed(listed(resources.roleBindings, namespace), []),
    );
    const accounts = await listed(resources.serviceAccounts, this.#lending.grantsNamespace);
    const found = bindings.flat().map((object) => leftOver("RoleBinding", object));
    return [...found, ...accounts.map((object) => leftOver("ServiceAccount", object))];
  }

  #ensureAccount(name: string, { metadata }: Rollout, signal: AbortSignal): Promise<void> {
    const owner = { kind: "Rollout", name: metadata.name, uid: metadata.uid, blockOwnerDeletion: false };
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: {
        name,
        namespace: this.#lending.grantsNamespace,
        labels: { [ROLLOUT_UID_LABEL]: metadata.uid },
        ownerReferences: [{ apiVersion: `${GROUP}/${VERSION}`, ...owner }],
      },
      automountServiceAccountToken: false,
    };
    return tolerateExisting(this.#client.create(resources.serviceAccounts, account, signal));
  }

  /** One that a crash has left with another end is made anew: the sweep would take it away in the middle of the work. */
  async #ensureBinding(
    key: { readonly name: string; readonly namespace: string },
    { metadata }: Rollout,
    until: Date,
    signal: AbortSignal,
  ): Promise<void> {
    const { grantsNamespace, roleKind, role } = this.#lending;
    const end = timestamp(until);
    const binding = {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: {
        ...key,
        labels: { [ROLLOUT_UID_LABEL]: metadata.uid },
        annotations: { [EXPIRES_AT_ANNOTATION]: end },
      },
      roleRef: { apiGroup: RBAC, kind: roleKind, name: role },
      subjects: [{ kind: "ServiceAccount", name: key.name, namespace: grantsNamespace }],
    };
    const make = (): Promise<unknown> => this.#client.create(resources.roleBindings, binding, signal);
    try {
      await make();
    } catch (error) {
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
      const found = await this.#client.get<Binding>(resources.roleBindings, key, signal);
      if (found?.metadata.annotations?.[EXPIRES_AT_ANNOTATION] === end) return;
      await this.#client.delete(resources.roleBindings, key, {}, signal);
      await tolerateExisting(make());
    }
  }
}

function accountName(kind: RolloutAccountKind, rollout: AccountOwner): string {
  return kind === "plan" ? planAccount(rollout) : rolloutAccount(rollout);
}

function leftOver(kind: RolloutLeftOver["kind"], object: KubeObject): RolloutLeftOver {
  return { kind, object, rolloutUid: object.metadata.labels?.[ROLLOUT_UID_LABEL] ?? "" };
}
