import type { ReleaseManifest, ReleaseObject } from "../../crds/kinds/release-content.ts";
import { RELEASE_RESOURCES } from "../../crds/operations/release-kinds.ts";

/** What a release may install, as a chart's value or by default. Anything else is refused, also where a role allows it. */
export const RELEASE_KINDS: readonly string[] = Object.keys(RELEASE_RESOURCES);

export interface ReleaseRules {
  /** Kind and group, as in {@link RELEASE_KINDS}. */
  readonly kinds: readonly string[];
  /** Namespaces that the customer accepts the deployment for. */
  readonly namespaces: readonly string[];
  /** Beginnings of image names that may be pulled. Empty: any. */
  readonly registries: readonly string[];
  /** Whether Services may be reached from outside of the cluster, and Ingresses name hosts. */
  readonly mayExpose: boolean;
}

/** Why one object may not be installed. */
export interface RuleProblem {
  /** `Deployment.apps/shop/api`. */
  readonly ref: string;
  readonly message: string;
}

/** Names an object for people: kind, group, namespace and name. */
export function refOf({ apiVersion, kind, metadata }: ReleaseManifest): string {
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  return `${kind}${group}/${metadata.namespace ?? ""}/${metadata.name}`;
}

/**
 * Everything about these objects that no release may bring into a customer's namespace. A vendor whose pipeline was
 * stolen could else take the node, borrow an account that has rights, or open the namespace to others.
 */
export function releaseProblems(objects: readonly ReleaseObject[], rules: ReleaseRules): readonly RuleProblem[] {
  const accounts = new Set(
    objects.filter(({ manifest }) => manifest.kind === "ServiceAccount").map(({ manifest }) => placeOf(manifest)),
  );
  const seen = new Set<string>();
  return objects.flatMap(({ manifest }) => {
    const ref = refOf(manifest);
    const twice = seen.has(ref) ? ["the release has it twice"] : [];
    seen.add(ref);
    const messages = [...twice, ...placeProblems(manifest, rules), ...metadataProblems(manifest)];
    const pod = podOf(manifest);
    if (pod !== undefined) messages.push(...podProblems(pod, manifest, accounts, rules));
    messages.push(...exposureProblems(manifest, rules));
    return messages.map((message) => ({ ref, message }));
  });
}

function placeOf({ metadata: { namespace = "", name } }: ReleaseManifest): string {
  return `${namespace}/${name}`;
}

function placeProblems(manifest: ReleaseManifest, { kinds, namespaces }: ReleaseRules): readonly string[] {
  const { namespace } = manifest.metadata;
  const kind = refOf(manifest).split("/", 1)[0] ?? "";
  if (!kinds.includes(kind)) return [`releases install no ${kind} here`];
  if (namespace === undefined) return ["it names no namespace"];
  if (!namespaces.includes(namespace)) return [`the deployment is not accepted in namespace ${namespace}`];
  return [];
}

/** What would let it take over, outlive or hide among objects of others. */
function metadataProblems({ metadata }: ReleaseManifest): readonly string[] {
  const given = metadata as Readonly<Record<string, unknown>>;
  return ["ownerReferences", "finalizers", "generateName", "uid", "resourceVersion"]
    .filter((field) => given[field] !== undefined)
    .map((field) => `metadata.${field} may not be set`);
}

type Node = Readonly<Record<string, unknown>>;

/** The pod that the object runs; undefined: it runs none. */
function podOf({ kind, spec }: ReleaseManifest): Node | undefined {
  const at = (node: unknown, ...path: readonly string[]): unknown =>
    path.reduce<unknown>((found, key) => (isNode(found) ? found[key] : undefined), node);
  const template = kind === "CronJob" ? at(spec, "jobTemplate", "spec", "template") : at(spec, "template");
  const pod = kind === "Pod" ? spec : at(template, "spec");
  return isNode(pod) ? pod : undefined;
}

const HOST_NAMESPACES = ["hostNetwork", "hostPID", "hostIPC"];
/** Volumes that bring nothing of the node and no Secret of another. */
const VOLUMES = ["configMap", "emptyDir", "persistentVolumeClaim", "downwardAPI", "ephemeral", "secret", "projected"];

function podProblems(
  pod: Node,
  manifest: ReleaseManifest,
  accounts: ReadonlySet<string>,
  { registries }: ReleaseRules,
): readonly string[] {
  const containers = ["containers", "initContainers", "ephemeralContainers"].flatMap((list) => listOf(pod[list]));
  const account = pod.serviceAccountName ?? pod.serviceAccount ?? "default";
  const place = `${manifest.metadata.namespace ?? ""}/${String(account)}`;
  return [
    ...HOST_NAMESPACES.filter((field) => isTrue(pod[field])).map((field) => `${field} shares the node's own`),
    ...listOf(pod.volumes)
      .filter((volume) => !VOLUMES.some((kind) => volume[kind] !== undefined))
      .map((volume) => `volume ${String(volume.name)} is of a kind that may not be used`),
    ...(account === "default" || accounts.has(place)
      ? []
      : [`service account ${String(account)} is not the release's own`]),
    ...(account === "default" && pod.automountServiceAccountToken !== false
      ? ["automountServiceAccountToken must be false without a service account of the release's own"]
      : []),
    ...(account === "default" && listOf(pod.volumes).some(hasToken)
      ? ["a projected token needs a service account of the release's own"]
      : []),
    ...(pod.nodeName === undefined ? [] : ["nodeName goes around the scheduler"]),
    ...containers.flatMap((container) => containerProblems(container, registries)),
  ];
}

function hasToken({ projected }: Node): boolean {
  return isNode(projected) && listOf(projected.sources).some((source) => source.serviceAccountToken !== undefined);
}

function containerProblems(container: Node, registries: readonly string[]): readonly string[] {
  const name = String(container.name);
  const security = isNode(container.securityContext) ? container.securityContext : {};
  const capabilities = isNode(security.capabilities) ? security.capabilities : {};
  const image = String(container.image ?? "");
  return [
    ...(isTrue(security.privileged) ? [`container ${name} is privileged`] : []),
    ...(isTrue(security.allowPrivilegeEscalation) ? [`container ${name} may escalate its privileges`] : []),
    ...(security.procMount === undefined || security.procMount === "Default"
      ? []
      : [`container ${name} unmasks /proc`]),
    ...(Array.isArray(capabilities.add) && capabilities.add.some((each) => each !== "NET_BIND_SERVICE")
      ? [`container ${name} adds capabilities`]
      : []),
    ...(listOf(container.ports).some(({ hostPort }) => hostPort !== undefined && hostPort !== 0)
      ? [`container ${name} takes a port of the node`]
      : []),
    ...(registries.length === 0 || registries.some((each) => isFrom(image, each))
      ? []
      : [`container ${name} has an image that is not of an allowed registry`]),
  ];
}

/** Whether the image's name begins with the whole of `registry`: `r.example/a` is not the beginning of `r.example/ab`. */
function isFrom(image: string, registry: string): boolean {
  const prefix = registry.endsWith("/") ? registry : `${registry}/`;
  return (
    image.startsWith(prefix) ||
    image === registry ||
    image.startsWith(`${registry}@`) ||
    image.startsWith(`${registry}:`)
  );
}

/** `externalIPs` take over addresses of others, and are refused also where a release may be exposed. */
function exposureProblems({ kind, spec }: ReleaseManifest, { mayExpose }: ReleaseRules): readonly string[] {
  const given = isNode(spec) ? spec : {};
  if (kind === "Ingress") return mayExpose ? [] : ["an Ingress exposes it to others"];
  if (kind !== "Service") return [];
  const type = String(given.type ?? "ClusterIP");
  return [
    ...(mayExpose || type === "ClusterIP" ? [] : [`a Service of type ${type} leads out of the cluster`]),
    ...(given.externalIPs === undefined ? [] : ["externalIPs take over addresses"]),
  ];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function listOf(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}
