import { DEBUG_SESSION_LABEL, debugAccount, EXPIRES_AT_ANNOTATION, operationRole } from "../../crds/group.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import { type KubeObject, resources } from "../../kube/objects/resource.ts";
import { type AccessClient, collected, tolerateExisting, whereAllowed } from "./access.ts";

const RBAC = "rbac.authorization.k8s.io";

/** How an installation lends to debug sessions. */
export interface SessionLending {
  /** Of the accounts of sessions. */
  readonly debugNamespace: string;
  readonly roleKind: "ClusterRole" | "Role";
}

/** What is left of sessions: bindings and accounts, each with the uid of its session. */
export interface SessionLeftOver {
  readonly kind: "RoleBinding" | "ServiceAccount";
  readonly sessionUid: string;
  readonly object: KubeObject;
}

/**
 * The account of one debug session and its rights in one namespace. The account lies in another namespace than the
 * session, so no owner reference deletes it: the reconciler does, and the sweep by label.
 */
export class SessionAccess {
  readonly #client: AccessClient;
  readonly #lending: SessionLending;

  constructor(client: AccessClient, lending: SessionLending) {
    this.#client = client;
    this.#lending = lending;
  }

  /** Idempotent. @throws ApiError 403 when the role may not be lent there. */
  async open({ metadata, spec }: DebugSession, until: Date, signal: AbortSignal): Promise<void> {
    const { debugNamespace, roleKind } = this.#lending;
    const name = debugAccount(metadata.uid);
    const labels = { [DEBUG_SESSION_LABEL]: metadata.uid };
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace: debugNamespace, labels },
      automountServiceAccountToken: false,
    };
    const binding = {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: {
        ...{ name, namespace: spec.namespace, labels },
        annotations: { [EXPIRES_AT_ANNOTATION]: timestamp(until) },
      },
      roleRef: { apiGroup: RBAC, kind: roleKind, name: operationRole("debug", spec.mode) },
      subjects: [{ kind: "ServiceAccount", name, namespace: debugNamespace }],
    };
    // Both at once: a binding may name an account that is a millisecond younger. Neither is left under way by an error
    // of the other one: it would come into being after the session's rights were taken away.
    const made = await Promise.allSettled([
      tolerateExisting(this.#client.create(resources.serviceAccounts, account, signal)),
      tolerateExisting(this.#client.create(resources.roleBindings, binding, signal)),
    ]);
    for (const each of made) if (each.status === "rejected") throw each.reason;
  }

  /** The binding first: its rights end at once, while a deleted account's token works on for some seconds. */
  async close({ metadata, spec }: Pick<DebugSession, "metadata" | "spec">, signal: AbortSignal): Promise<void> {
    const name = debugAccount(metadata.uid);
    await whereAllowed(
      this.#client.delete(resources.roleBindings, { namespace: spec.namespace, name }, {}, signal),
      false,
    );
    const { debugNamespace: namespace } = this.#lending;
    await this.#client.delete(resources.serviceAccounts, { namespace, name }, {}, signal);
  }

  /** Bindings in `places` before accounts, in the order in which they are to be removed. */
  async leftOvers(places: readonly string[], signal: AbortSignal): Promise<readonly SessionLeftOver[]> {
    const found: SessionLeftOver[] = [];
    for (const namespace of places) {
      const options = { namespace, labelSelector: DEBUG_SESSION_LABEL };
      const bindings = await whereAllowed(collected(this.#client.list(resources.roleBindings, options, signal)), []);
      found.push(...bindings.map((object) => leftOver("RoleBinding", object)));
    }
    const options = { namespace: this.#lending.debugNamespace, labelSelector: DEBUG_SESSION_LABEL };
    const accounts = await collected(this.#client.list(resources.serviceAccounts, options, signal));
    return [...found, ...accounts.map((object) => leftOver("ServiceAccount", object))];
  }
}

function leftOver(kind: SessionLeftOver["kind"], object: KubeObject): SessionLeftOver {
  return { kind, object, sessionUid: object.metadata.labels?.[DEBUG_SESSION_LABEL] ?? "" };
}
