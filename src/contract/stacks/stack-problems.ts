import { dependencyProblems } from "./dependency-problems.ts";
import { isRenderedType, type KubernetesConfig } from "./kubernetes-config.ts";
import { groupKindOf, manifestProblems } from "./manifest-problems.ts";
import { MAX_STACK_OBJECTS, type ManifestsConfig } from "./manifests-config.ts";
import { MAX_STACK_PROBLEMS, type StackProblem, shortened } from "./stack-problem.ts";
import { type WorkloadConfig, workloadProblems } from "./workload-problems.ts";

/** Of all objects as JSON: the customer's cluster keeps them in one object, of which etcd takes 1.5 MiB. */
const MAX_RENDERED_BYTES = 900 * 1024;
/** What rendering adds to an object: labels, selectors, defaults of the pod's security. */
const ADDED_BYTES = 1024;

interface StackOf {
  readonly resources: Readonly<
    Record<
      string,
      {
        readonly config: KubernetesConfig;
        readonly dependencies: readonly (string | { readonly id: string })[];
      }
    >
  >;
}

/**
 * What no schema can say of a stack for Kubernetes (§5.5, §5.6). The stack must fit its schema.
 *
 * Each part is walked once, so the time is bounded by the size of the stack, which a stranger may have made.
 */
export function stackProblems(stack: StackOf): readonly StackProblem[] {
  return problemsOf(stack).take(MAX_STACK_PROBLEMS).toArray();
}

function* problemsOf({ resources }: StackOf): Generator<StackProblem> {
  yield* dependencyProblems(resources);
  const owners = new Map<string, string>();
  let objects = 0;
  let bytes = 0;
  for (const [id, { config }] of Object.entries(resources)) {
    const at = `resources.${shortened(id)}.config`;
    if (!isRenderedType(config.type)) continue;
    if (config.id !== id) yield { path: `${at}.id`, message: "is another than the resource's key" };
    const made = isManifests(config) ? ofManifests(config, at) : ofWorkload(config as WorkloadConfig, at);
    yield* isManifests(config)
      ? config.objects.values().flatMap((object, index) => manifestProblems(object, `${at}.objects.${index}`))
      : workloadProblems(config as WorkloadConfig, at);
    for (const { key, path } of made) {
      const owner = owners.get(key);
      if (owner !== undefined) yield { path, message: `is the same object as that of ${owner}` };
      else owners.set(key, path);
    }
    objects += made.length;
    bytes += Buffer.byteLength(JSON.stringify(config)) + made.length * ADDED_BYTES;
  }
  if (objects > MAX_STACK_OBJECTS) {
    yield { path: "resources", message: `make ${objects} objects, and ${MAX_STACK_OBJECTS} are the most` };
  }
  if (bytes > MAX_RENDERED_BYTES) {
    yield { path: "resources", message: `make about ${bytes} bytes, and ${MAX_RENDERED_BYTES} are the most` };
  }
}

function isManifests(config: KubernetesConfig): config is ManifestsConfig {
  return config.type === "manifests";
}

interface Made {
  /** Equal of two that are one object in the cluster, as far as a release knows the namespace. */
  readonly key: string;
  readonly path: string;
}

function ofManifests({ objects }: ManifestsConfig, at: string): readonly Made[] {
  return objects.map((object, index) => {
    const { name, namespace = "" } = object.metadata;
    return { key: `${groupKindOf(object)} ${namespace}/${name}`, path: `${at}.objects.${index}` };
  });
}

/** All bear the resource's id as their name. */
function ofWorkload(config: WorkloadConfig, at: string): readonly Made[] {
  return kindsOf(config).map((kind) => ({ key: `${kind} /${config.id}`, path: at }));
}

function kindsOf(config: WorkloadConfig): readonly string[] {
  switch (config.type) {
    case "daemon":
      return ["apps/DaemonSet", "/ServiceAccount"];
    case "worker":
      return [config.schedule === undefined ? "apps/Deployment" : "batch/CronJob", ...scaledKinds(config)];
    case "container": {
      const isStateful = config.volumes?.some(({ persistent }) => persistent === true) === true;
      const service = isStateful || (config.ports?.length ?? 0) > 0 ? ["/Service"] : [];
      return [isStateful ? "apps/StatefulSet" : "apps/Deployment", ...service, ...scaledKinds(config)];
    }
  }
}

function scaledKinds({ replicas = 1, autoscale }: Exclude<WorkloadConfig, { type: "daemon" }>): readonly string[] {
  const isMany = replicas > 1 || autoscale !== undefined;
  return [
    "/ServiceAccount",
    ...(isMany ? ["policy/PodDisruptionBudget"] : []),
    ...(autoscale === undefined ? [] : ["autoscaling/HorizontalPodAutoscaler"]),
  ];
}
