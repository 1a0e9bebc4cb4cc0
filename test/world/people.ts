import type { Cluster } from "../../lab/cluster/cluster.ts";
import { DEFAULT_NAMES, type InstallationNames } from "../../src/crds/group.ts";
import type { Manifest } from "../../src/crds/manifest.ts";
import { Client } from "../../src/kube/client/client.ts";
import { type Connection, connect } from "../../src/kube/client/connection.ts";

type ClientOptions = ConstructorParameters<typeof Client>[1];

export const { grantsNamespace: GRANTS, systemNamespace: SYSTEM } = DEFAULT_NAMES;
/** The customer's namespace that is opened to Sallyport. */
export const SHOP = "shop";
/** Decides for the customer. */
export const APPROVER = "alice";

/** Gives a person the rights of a role in one namespace. */
export function bound(name: string, namespace: string, role: string, user: string, kind = "ClusterRole"): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  };
}

/** Without it the API server refuses every decision of {@link APPROVER}. */
export function approvers({ grantsNamespace, roleKind }: InstallationNames = DEFAULT_NAMES): Manifest {
  return bound("approvers", grantsNamespace, "sallyport-approver", APPROVER, roleKind);
}

/** Clients of one API server, each with the credentials of one person or account; all are closed at once. */
export class People implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #connections: Connection[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  admin(options?: ClientOptions): Promise<Client> {
    return this.with(this.#cluster.adminKubeconfig, options);
  }

  approver(): Promise<Client> {
    return this.with(this.#cluster.kubeconfigFor({ user: APPROVER }));
  }

  /** A ServiceAccount of the installation. */
  async account(name: string, namespace = SYSTEM): Promise<Client> {
    return this.with(await this.#cluster.kubeconfigForServiceAccount(namespace, name));
  }

  async with(kubeconfig: string, options?: ClientOptions): Promise<Client> {
    // A proxy of this machine cannot reach our own loopback address.
    const connection = await connect({ kubeconfig, environment: {} });
    this.#connections.push(connection);
    return new Client(connection, options);
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.splice(0).map((connection) => connection.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
