import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { GROUP, objectName, VERSION } from "../crds/group.ts";
import { type AccessGrant, accessGrants } from "../crds/kinds/access-grant.ts";
import { type DebugSession, debugSessions } from "../crds/kinds/debug-session.ts";
import type { KindResource } from "../crds/kinds/kind.ts";
import {
  MANAGED_DEPLOYMENT,
  type ManagedDeployment,
  type ManagedDeploymentSpec,
  type ManagedDeploymentStatus,
  managedDeployments,
} from "../crds/kinds/managed-deployment.ts";
import { OpenObjects } from "../crds/kinds/open-objects.ts";
import { type OperationInvocation, operationInvocations } from "../crds/kinds/operation-invocation.ts";
import { Informer } from "../kube/cache/informer.ts";
import type { Cached } from "../kube/cache/store.ts";
import type { Client } from "../kube/client/client.ts";
import type { KubeMetrics } from "../kube/metrics/metrics.ts";
import { jsonProjection } from "../kube/projection/projection.ts";
import type { NewGrant } from "./access-requests/access-request.ts";
import type { NewInvocation } from "./commands/command.ts";
import type { NewSession } from "./debug-sessions/debug-session.ts";
import type { AgentConfig } from "./kernel/config.ts";
import { MachineCluster } from "./machines/machine-cluster.ts";
import { ReleaseCluster } from "./releases/release-cluster.ts";
import { ReleaseSecrets } from "./releases/release-secrets.ts";

export interface ClusterOptions {
  readonly client: Client;
  /** Of grants, invocations and managed deployments. */
  readonly namespace: string;
  /** What is off, the agent has no right to. */
  readonly config: Pick<
    AgentConfig,
    "debugModes" | "machines" | "releases" | "releasesSecrets" | "releasesNamespace" | "systemNamespace"
  >;
  /** Throws when another agent may lead by now; called right before each write. */
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<KubeMetrics, "watch">;
}

/** The custom resources as the agent sees them: a cache of each kind, and the few writes it may do. It changes no grant. */
export class Cluster {
  readonly grants: Informer<AccessGrant>;
  readonly invocations: Informer<OperationInvocation>;
  readonly managed: Informer<ManagedDeployment>;
  /** Undefined: debug sessions are off. */
  readonly sessions: Informer<DebugSession> | undefined;
  /** Undefined: machines are off. */
  readonly machines: MachineCluster | undefined;
  /** Undefined: releases are off. */
  readonly releases: ReleaseCluster | undefined;
  /** Undefined: releases bring no secret values. */
  readonly releaseSecrets: ReleaseSecrets | undefined;
  readonly openGrants = new OpenObjects<AccessGrant>();
  readonly openInvocations = new OpenObjects<OperationInvocation>();
  readonly openSessions = new OpenObjects<DebugSession>(({ status }) => !isFinal(status?.state));
  readonly #options: ClusterOptions;

  constructor(options: ClusterOptions) {
    const { client, namespace, config, clock, log, metrics } = options;
    const informer = <T extends Cached>(resource: KindResource): Informer<T> =>
      new Informer<T>({
        client,
        namespace,
        clock,
        log,
        metrics: metrics.watch,
        resource,
        projection: jsonProjection<T>(),
      });
    this.#options = options;
    this.grants = informer(accessGrants);
    this.invocations = informer(operationInvocations);
    this.managed = informer(managedDeployments);
    this.sessions = config.debugModes.length > 0 ? informer(debugSessions) : undefined;
    this.machines = config.machines ? new MachineCluster(options) : undefined;
    this.releases = config.releases ? new ReleaseCluster(options) : undefined;
    const { releasesNamespace, systemNamespace } = config;
    const secrets = { ...options, releasesNamespace, namespace: systemNamespace };
    this.releaseSecrets = config.releases && config.releasesSecrets ? new ReleaseSecrets(secrets) : undefined;
    this.grants.onChange(this.openGrants.changed);
    this.invocations.onChange(this.openInvocations.changed);
    this.sessions?.onChange(this.openSessions.changed);
  }

  get informers() {
    const always = [this.grants, this.invocations, this.managed];
    const sessions = this.sessions === undefined ? [] : [this.sessions];
    return [...always, ...sessions, ...(this.machines?.informers ?? []), ...(this.releases?.informers ?? [])];
  }

  grantOf(requestId: string): AccessGrant | undefined {
    return this.grants.store.get(this.#key(objectName(requestId)));
  }

  invocationNamed(name: string): OperationInvocation | undefined {
    return this.invocations.store.get(this.#key(name));
  }

  /** The object of this session's name; its id may be another. */
  sessionNamedFor(id: string): DebugSession | undefined {
    return this.sessions?.store.get(this.#key(objectName(id)));
  }

  managedOf(deploymentId: string): ManagedDeployment | undefined {
    const found = this.managedUnderNameOf(deploymentId);
    // Two ids can meet in one name; the customer's word is on one of them.
    return found?.spec.deploymentId === deploymentId ? found : undefined;
  }

  managedUnderNameOf(deploymentId: string): ManagedDeployment | undefined {
    return this.managed.store.get(this.#key(objectName(deploymentId)));
  }

  readInvocation(name: string, signal: AbortSignal): Promise<OperationInvocation | undefined> {
    const { client, namespace } = this.#options;
    return client.get<OperationInvocation>(operationInvocations, { namespace, name }, signal);
  }

  createGrant(grant: NewGrant, signal: AbortSignal): Promise<AccessGrant> {
    this.#options.fence();
    return this.#options.client.create<AccessGrant>(accessGrants, grant, signal);
  }

  createInvocation(invocation: NewInvocation, signal: AbortSignal): Promise<OperationInvocation> {
    this.#options.fence();
    return this.#options.client.create<OperationInvocation>(operationInvocations, invocation, signal);
  }

  createSession(session: NewSession, signal: AbortSignal): Promise<DebugSession> {
    this.#options.fence();
    return this.#options.client.create<DebugSession>(debugSessions, session, signal);
  }

  createManaged(spec: ManagedDeploymentSpec, signal: AbortSignal): Promise<ManagedDeployment> {
    const { client, fence } = this.#options;
    fence();
    const object = { ...this.#head(MANAGED_DEPLOYMENT.kind, objectName(spec.deploymentId)), spec };
    return client.create<ManagedDeployment>(managedDeployments, object, signal);
  }

  /** Of this very object as it was read: one that the customer has answered since stays. */
  async deleteManaged({ metadata }: ManagedDeployment, signal: AbortSignal): Promise<void> {
    const { client, fence, namespace } = this.#options;
    const { name, uid, resourceVersion } = metadata;
    fence();
    await client.delete(managedDeployments, { namespace, name }, { preconditions: { uid, resourceVersion } }, signal);
  }

  applyManagedStatus(
    { metadata }: ManagedDeployment,
    status: ManagedDeploymentStatus,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { client, fence } = this.#options;
    fence();
    const object = { ...this.#head(MANAGED_DEPLOYMENT.kind, metadata.name), status };
    return client.apply<ManagedDeployment>(managedDeployments, object, { subresource: "status" }, signal);
  }

  #head(kind: string, name: string) {
    return { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name, namespace: this.#options.namespace } };
  }

  #key(name: string): string {
    return `${this.#options.namespace}/${name}`;
  }
}

function isFinal(state: string | undefined): boolean {
  return state === "Closed" || state === "Refused";
}
