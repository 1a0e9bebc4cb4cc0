import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { objectName } from "../crds/group.ts";
import { acceptedNamespaces, acceptedOf, type NamedDeployments } from "../crds/kinds/accepted-namespaces.ts";
import { type AccessGrant, accessGrants } from "../crds/kinds/access-grant.ts";
import { type DebugSession, debugSessions } from "../crds/kinds/debug-session.ts";
import type { KindResource } from "../crds/kinds/kind.ts";
import type { Place } from "../crds/kinds/lending.ts";
import { type MachineDrain, machineDrains } from "../crds/kinds/machine-drain.ts";
import { type ManagedDeployment, managedDeployments } from "../crds/kinds/managed-deployment.ts";
import { OpenObjects } from "../crds/kinds/open-objects.ts";
import { type OperationInvocation, operationInvocations } from "../crds/kinds/operation-invocation.ts";
import { type OperationPolicy, operationPolicies } from "../crds/kinds/operation-policy.ts";
import { type ReleaseContent, releaseContents } from "../crds/kinds/release-content.ts";
import { type Rollout, rollouts } from "../crds/kinds/rollout.ts";
import { Informer } from "../kube/cache/informer.ts";
import type { Cached } from "../kube/cache/store.ts";
import type { Client } from "../kube/client/client.ts";
import type { Manager } from "../kube/manager/manager.ts";
import type { KubeMetrics } from "../kube/metrics/metrics.ts";
import { keyOf } from "../kube/objects/resource.ts";
import { jsonProjection } from "../kube/projection/projection.ts";
import { plannedNamespaces } from "./access/planned-places.ts";
import { type CustomerPolicy, mergePolicies } from "./gate/policy.ts";
import { isApproved } from "./grants/open-limit.ts";
import type { GateFacts } from "./invocations/invocation-reconciler.ts";
import { drainCommandId } from "./machine-drains/drain-gate.ts";
import { secretsNamed } from "./rollouts/hands/secret-places.ts";
import type { KnownContent } from "./rollouts/machine/retention.ts";
import type { RolloutSurroundings } from "./rollouts/machine/rollout-reconciler.ts";
import { isOver } from "./rollouts/machine/trail.ts";

export interface CacheOptions {
  readonly client: Client;
  readonly namespace: string;
  /** What the install values name for each deployment. */
  readonly named: NamedDeployments;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<KubeMetrics, "watch">;
  /** Whether there are debug sessions; without the right to read them there is no cache of them. */
  readonly debug?: boolean;
  /** Whether there are machines; the same holds for drains. */
  readonly machines?: boolean;
  /** Whether releases are carried out; the same holds for rollouts and contents. */
  readonly releases?: boolean;
}

/** An invocation or a debug session. */
interface UnderGrant {
  readonly spec: { readonly grantName?: string };
}

type CachedKind = Parameters<Manager["addInformer"]>[0] & Pick<Informer<Cached>, "retryNow">;

const BY_GRANT = "grant";
const BY_DEPLOYMENT = "deployment";

/** What the operator knows: four kinds of one namespace, and the questions that the reconcilers ask of them. */
export class Caches {
  readonly grants: Informer<AccessGrant>;
  readonly invocations: Informer<OperationInvocation>;
  readonly policies: Informer<OperationPolicy>;
  readonly deployments: Informer<ManagedDeployment>;
  /** Undefined where debug sessions are switched off. */
  readonly sessions: Informer<DebugSession> | undefined;
  /** Undefined where machines are switched off. */
  readonly drains: Informer<MachineDrain> | undefined;
  /** Undefined where releases are switched off, and so are the contents, which are kept without their objects. */
  readonly rollouts: Informer<Rollout> | undefined;
  readonly contents: Informer<KnownContent> | undefined;
  readonly openInvocations = new OpenObjects<OperationInvocation>();
  readonly approvedGrants = new OpenObjects<AccessGrant>(isApproved);
  readonly #client: Client;
  readonly #namespace: string;
  readonly #named: NamedDeployments;

  constructor(options: CacheOptions) {
    const { client, namespace, clock, log, metrics } = options;
    const common = { client, namespace, clock, log, metrics: metrics.watch };
    const informer = <T extends Cached>(resource: KindResource): Informer<T> =>
      new Informer<T>({ ...common, resource, projection: jsonProjection<T>() });
    this.#client = client;
    this.#namespace = namespace;
    this.#named = options.named;
    this.grants = informer(accessGrants);
    this.policies = informer(operationPolicies);
    this.deployments = informer(managedDeployments);
    this.sessions = options.debug === true ? informer<DebugSession>(debugSessions) : undefined;
    this.drains = options.machines === true ? informer<MachineDrain>(machineDrains) : undefined;
    const indexes = { [BY_DEPLOYMENT]: ({ spec }: { spec: { deploymentId: string } }) => [spec.deploymentId] };
    if (options.releases === true) {
      const projection = jsonProjection<Rollout>();
      this.rollouts = new Informer<Rollout>({ ...common, resource: rollouts, projection, indexes });
      const known = { fromJson: (value: unknown) => knownContent(value as ReleaseContent) };
      this.contents = new Informer<KnownContent>({ ...common, resource: releaseContents, projection: known });
    }
    this.invocations = new Informer<OperationInvocation>({
      ...common,
      resource: operationInvocations,
      projection: jsonProjection(),
      indexes: { [BY_GRANT]: ({ spec }) => (spec.grantName === undefined ? [] : [spec.grantName]) },
    });
    this.invocations.onChange(this.openInvocations.changed);
    this.grants.onChange(this.approvedGrants.changed);
  }

  get policy(): CustomerPolicy {
    return mergePolicies(this.policies.store.list());
  }

  grantNamed(name: string): AccessGrant | undefined {
    return this.grants.store.get(this.#key(name));
  }

  invocationOf(commandId: string): OperationInvocation | undefined {
    return this.invocations.store.get(this.#key(objectName(commandId)));
  }

  sessionOf(sessionId: string): DebugSession | undefined {
    return this.sessions?.store.get(this.#key(objectName(sessionId)));
  }

  /** By the word that stands in the line of the grant. */
  drainOf(commandId: string): MachineDrain | undefined {
    return this.drains?.store.list().find((drain) => drainCommandId(drain) === commandId);
  }

  /** Sessions that are not over, of all deployments or one, under all grants or one. */
  openSessionKeys({ deploymentId, grantName }: { deploymentId?: string; grantName?: string } = {}): readonly string[] {
    const open = this.sessions?.store.list().filter(({ spec, status }) => {
      if (status?.state === "Closed" || status?.state === "Refused") return false;
      if ((deploymentId ?? spec.deploymentId) !== spec.deploymentId) return false;
      return grantName === undefined || grantName === spec.grantName;
    });
    return (open ?? []).map(keyOf);
  }

  /** Namespaces in which a debug session may have had rights. */
  sessionPlaces(): readonly string[] {
    const asked = this.sessions?.store.list().map(({ spec }) => spec.namespace) ?? [];
    const planned = this.places().filter((place) => place !== undefined);
    return [...new Set([...asked, ...planned])];
  }

  /** Rollouts that are not over, of all deployments or one. */
  openRolloutKeys(deploymentId?: string): readonly string[] {
    const { store } = this.rollouts ?? {};
    const all = deploymentId === undefined ? store?.list() : store?.byIndex(BY_DEPLOYMENT, deploymentId);
    return (all ?? []).filter((rollout) => !isOver(rollout)).map(keyOf);
  }

  rolloutsOf(deploymentId: string): readonly Rollout[] {
    return this.rollouts?.store.byIndex(BY_DEPLOYMENT, deploymentId) ?? [];
  }

  rolloutSurroundings({ spec }: Rollout): RolloutSurroundings {
    return {
      rollouts: this.rolloutsOf(spec.deploymentId),
      policies: this.policies.store.list(),
      deployments: this.deployments.store.list(),
    };
  }

  /** The same, from the API server. */
  async liveRolloutSurroundings({ spec }: Rollout, signal: AbortSignal): Promise<RolloutSurroundings> {
    const [ofDeployment, policies, deployments] = await Promise.all([
      this.#all<Rollout>(rollouts, signal, `spec.deploymentId=${spec.deploymentId}`),
      this.#all<OperationPolicy>(operationPolicies, signal),
      this.#all<ManagedDeployment>(managedDeployments, signal),
    ]);
    return { rollouts: ofDeployment, policies, deployments };
  }

  /**
   * Namespaces in which rollouts may have had rights, of all deployments or one: those that are accepted, and those that
   * were when a rollout was planned. What a content names is the agent's word, and could send every sweep to 300 places.
   */
  rolloutPlaces(deploymentId?: string): readonly string[] {
    const { store } = this.rollouts ?? {};
    const known = deploymentId === undefined ? store?.list() : store?.byIndex(BY_DEPLOYMENT, deploymentId);
    const served = deploymentId === undefined ? this.servedNamespaces() : (this.acceptedOf(deploymentId) ?? []);
    return [...new Set([...served, ...(known ?? []).flatMap(({ status }) => status?.namespaces ?? [])])];
  }

  /** Keys of the invocations that name this grant: what waits for its window wakes up with it. */
  invocationKeysUnder({ metadata }: AccessGrant): readonly string[] {
    return this.invocations.store.byIndex(BY_GRANT, metadata.name).map(keyOf);
  }

  /** The grant whose line this invocation may have claimed. */
  grantKeysOver({ spec }: UnderGrant): readonly string[] {
    return spec.grantName === undefined ? [] : [this.#key(spec.grantName)];
  }

  /** Each of the kinds. */
  get informers(): readonly CachedKind[] {
    const always = [this.grants, this.invocations, this.policies, this.deployments];
    const switched = [this.sessions, this.drains, this.rollouts, this.contents];
    return [...always, ...switched.filter((each) => each !== undefined)];
  }

  /** Where the customer accepts this deployment; undefined when this cluster serves none of that id. */
  acceptedOf(deploymentId: string): readonly string[] | undefined {
    return acceptedOf(deploymentId, this.deployments.store.list(), this.#named);
  }

  waitingInvocationKeys(): readonly string[] {
    const waiting = this.invocations.store.list().filter(({ status }) => (status?.state ?? "Pending") === "Pending");
    return waiting.map(keyOf);
  }

  /** Grants that are not over, or whose receipt is not written. @param deploymentId of one deployment only */
  openGrantKeys(deploymentId?: string): readonly string[] {
    const open = this.grants.store.list().filter(({ spec, status }) => {
      const state = status?.state ?? "Pending";
      const isUnlinked = status?.endedAt !== undefined && status.receipt === undefined;
      const isOpen = state === "Pending" || state === "Approved" || isUnlinked;
      return isOpen && (deploymentId ?? spec.deploymentId) === spec.deploymentId;
    });
    return open.map(keyOf);
  }

  /** Whether this very grant is there, neither revoked nor being deleted. */
  grantStands(name: string, uid: string): boolean {
    const grant = this.grantNamed(name);
    if (grant === undefined || grant.metadata.uid !== uid) return false;
    return grant.spec.revokedReason === undefined && grant.metadata.deletionTimestamp === undefined;
  }

  facts({ spec }: UnderGrant): GateFacts {
    return {
      grant: spec.grantName === undefined ? undefined : this.grantNamed(spec.grantName),
      policies: this.policies.store.list(),
      deployments: this.deployments.store.list(),
    };
  }

  /** The same, from the API server. */
  async liveFacts({ spec }: UnderGrant, signal: AbortSignal): Promise<GateFacts> {
    const [grant, policies, deployments] = await Promise.all([
      spec.grantName === undefined
        ? undefined
        : this.#client.get<AccessGrant>(accessGrants, { namespace: this.#namespace, name: spec.grantName }, signal),
      this.#all<OperationPolicy>(operationPolicies, signal),
      this.#all<ManagedDeployment>(managedDeployments, signal),
    ]);
    return { grant, policies, deployments };
  }

  /** Accepted for some deployment. */
  servedNamespaces(): readonly string[] {
    const accepted = this.deployments.store
      .list()
      .flatMap((managed) => acceptedNamespaces(managed.spec.deploymentId, managed, this.#named));
    return [...new Set([...accepted, ...[...this.#named.values()].flat()])].sort();
  }

  /**
   * Everywhere that access may have been given. The cluster is always one: what was lent there stays when the policy
   * that opened it is closed and the objects that named it are gone. Where the operator may not list it, it finds none.
   */
  places(): readonly Place[] {
    const served = this.servedNamespaces();
    const planned = this.grants.store.list().flatMap(plannedNamespaces);
    // Accepted no more, but something may have been left there.
    const ran = this.invocations.store.list().flatMap(ranIn);
    return [...new Set<Place>([...served, ...planned, ...ran, undefined])];
  }

  async #all<T extends OperationPolicy | ManagedDeployment | Rollout>(
    resource: KindResource,
    signal: AbortSignal,
    fieldSelector?: string,
  ): Promise<T[]> {
    const found: T[] = [];
    const options = { namespace: this.#namespace, ...(fieldSelector !== undefined && { fieldSelector }) };
    for await (const object of this.#client.list<T>(resource, options, signal)) found.push(object);
    return found;
  }

  #key(name: string): string {
    return `${this.#namespace}/${name}`;
  }
}

function ranIn({ spec, status }: OperationInvocation): readonly string[] {
  const namespace = spec.params?.namespace;
  return status?.startedAt !== undefined && typeof namespace === "string" ? [namespace] : [];
}

/** Its objects are read when they are applied: ten contents would be more than everything else that is cached. */
function knownContent({ metadata, spec }: ReleaseContent): KnownContent {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const secrets = secretsNamed(spec.objects, spec.deploymentId).map((place) => place.name);
  return {
    metadata: { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { deploymentId: spec.deploymentId, secrets: [...new Set(secrets)] },
  };
}
