import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { KindResource } from "../../crds/kinds/kind.ts";
import { OpenObjects } from "../../crds/kinds/open-objects.ts";
import { type ReleaseContent, releaseContents } from "../../crds/kinds/release-content.ts";
import { type Rollout, rollouts } from "../../crds/kinds/rollout.ts";
import { Informer } from "../../kube/cache/informer.ts";
import type { Cached } from "../../kube/cache/store.ts";
import type { Client } from "../../kube/client/client.ts";
import type { KubeMetrics } from "../../kube/metrics/metrics.ts";
import { jsonProjection } from "../../kube/projection/projection.ts";
import type { NewContent, NewRollout } from "./release-objects.ts";
import { FINAL_STATES } from "./wish.ts";

export interface ReleaseClusterOptions {
  readonly client: Client;
  readonly namespace: string;
  /** Throws when another agent may lead by now; called right before each write. */
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<KubeMetrics, "watch">;
}

/** A content without its objects, which are up to 900 KiB. */
export type KeptContent = Omit<ReleaseContent, "spec"> & { readonly spec: Omit<ReleaseContent["spec"], "objects"> };

/** Releases as the agent sees them: caches, and the two writes that it may do. It changes and deletes nothing. */
export class ReleaseCluster {
  readonly rollouts: Informer<Rollout>;
  readonly contents: Informer<KeptContent>;
  readonly openRollouts = new OpenObjects<Rollout>(({ status }) => !FINAL_STATES.has(status?.state ?? "Planning"));
  readonly keptRollouts = new OpenObjects<Rollout>(() => true);
  readonly keptContents = new OpenObjects<KeptContent>(() => true);
  readonly #byDeployment = new Map<string, Map<string, Rollout>>();
  readonly #options: ReleaseClusterOptions;

  constructor(options: ReleaseClusterOptions) {
    const { client, namespace, clock, log, metrics } = options;
    const common = { client, namespace, clock, log, metrics: metrics.watch };
    const informer = <T extends Cached>(resource: KindResource, parse?: (object: T) => T): Informer<T> =>
      new Informer<T>({ ...common, resource, projection: jsonProjection<T>(parse) });
    this.#options = options;
    this.rollouts = informer<Rollout>(rollouts);
    this.contents = informer<KeptContent>(releaseContents, withoutObjects);
    this.rollouts.onChange(this.openRollouts.changed);
    this.rollouts.onChange(this.keptRollouts.changed);
    this.contents.onChange(this.keptContents.changed);
    this.rollouts.onChange(({ type, object }) => this.#index(type === "deleted", object));
  }

  get informers() {
    return [this.rollouts, this.contents];
  }

  rolloutsOf(deploymentId: string): readonly Rollout[] {
    return [...(this.#byDeployment.get(deploymentId)?.values() ?? [])];
  }

  contentNamed(name: string): KeptContent | undefined {
    return this.contents.store.get(`${this.#options.namespace}/${name}`);
  }

  readContent(name: string, signal: AbortSignal): Promise<ReleaseContent | undefined> {
    const { client, namespace } = this.#options;
    return client.get<ReleaseContent>(releaseContents, { namespace, name }, signal);
  }

  readRollout(name: string, signal: AbortSignal): Promise<Rollout | undefined> {
    const { client, namespace } = this.#options;
    return client.get<Rollout>(rollouts, { namespace, name }, signal);
  }

  createContent(content: NewContent, signal: AbortSignal): Promise<unknown> {
    this.#options.fence();
    return this.#options.client.create<ReleaseContent>(releaseContents, content, signal);
  }

  createRollout(rollout: NewRollout, signal: AbortSignal): Promise<unknown> {
    this.#options.fence();
    return this.#options.client.create<Rollout>(rollouts, rollout, signal);
  }

  #index(isGone: boolean, rollout: Rollout): void {
    const { deploymentId } = rollout.spec;
    const of = this.#byDeployment.get(deploymentId) ?? new Map<string, Rollout>();
    if (isGone) of.delete(rollout.metadata.name);
    else of.set(rollout.metadata.name, rollout);
    if (of.size === 0) this.#byDeployment.delete(deploymentId);
    else this.#byDeployment.set(deploymentId, of);
  }
}

function withoutObjects({ spec, ...content }: KeptContent): KeptContent {
  const { objects: _, ...kept } = spec as ReleaseContent["spec"];
  return { ...content, spec: kept };
}
