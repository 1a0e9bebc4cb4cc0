import Type, { type Static } from "typebox";
import { ManifestsConfig } from "./manifests-config.ts";
import { ContainerConfig, DaemonConfig, WorkerConfig } from "./workload-config.ts";

/** The types of which objects are made in a cluster, with what their `config` must be. */
export const RENDERED_CONFIGS = {
  container: ContainerConfig,
  worker: WorkerConfig,
  daemon: DaemonConfig,
  manifests: ManifestsConfig,
} as const;
type RenderedType = keyof typeof RENDERED_CONFIGS;

/** Storage, queues, models and other things that the customer's cluster has or binds by a name. */
const OtherConfig = Type.Object({
  id: Type.String(),
  type: Type.String({ pattern: `^(?!(${Object.keys(RENDERED_CONFIGS).join("|")})$)` }),
});

/** `config` of a resource in a stack for Kubernetes. */
export const KubernetesConfig = Type.Union([ContainerConfig, WorkerConfig, DaemonConfig, ManifestsConfig, OtherConfig]);
export type KubernetesConfig = Static<typeof KubernetesConfig>;

export function isRenderedType(type: string): type is RenderedType {
  return Object.hasOwn(RENDERED_CONFIGS, type);
}
