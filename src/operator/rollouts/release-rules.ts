import { dataProblems } from "../../base/data-problems.ts";
import type { ReleaseManifest, ReleaseObject } from "../../crds/kinds/release-content.ts";
import type { MayRead } from "../../crds/released/may-read.ts";
import type { MayUse } from "../../crds/released/may-use.ts";
import type { PodSecurity } from "../../crds/released/pod-security.ts";
import { kindAndGroup, RELEASE_RESOURCES } from "../../crds/released/release-kinds.ts";
import { adoptedFieldProblems, fieldProblems } from "./field-rules.ts";
import { claimProblems, scaleProblems, selectionProblems } from "./member-rules.ts";
import { nameProblems } from "./name-rules.ts";
import { podProblems } from "./pod-rules.ts";
import { readProblems } from "./read-rules.ts";
import { nodeAt, templateOf } from "./rule-nodes.ts";
import { sizesOf } from "./sizes.ts";

/** What a release may install, as a chart's value or by default. Anything else is refused, also where a role allows it. */
export const RELEASE_KINDS: readonly string[] = Object.keys(RELEASE_RESOURCES);

const MAX_PATH = 200;

/** Where kubectl keeps the file that it has applied; adoption removes it. */
const FROM_FILE = "kubectl.kubernetes.io/last-applied-configuration";

export interface ReleaseRules {
  /** Kind and group, as in {@link RELEASE_KINDS}. */
  readonly kinds: readonly string[];
  /** Namespaces that the customer accepts the deployment for. */
  readonly namespaces: readonly string[];
  /** Beginnings of image names that may be pulled. Empty: any. */
  readonly registries: readonly string[];
  /** Whether Services may be reached from outside of the cluster, and Ingresses name hosts. */
  readonly mayExpose: boolean;
  /** What pods may read that the release does not bring. */
  readonly mayRead: MayRead;
  /** What a release may name of the customer's, and bear. */
  readonly mayUse: MayUse;
  /** Pods that a release may have at once. */
  readonly maxPods: number;
  readonly podSecurity: PodSecurity;
}

/** Why one object may not be installed. */
export interface RuleProblem {
  /** `Deployment.apps/shop/api`. */
  readonly ref: string;
  readonly message: string;
  /** Of an object of the customer, who can end it by takeOver or by deleting the object. */
  readonly isAdoptable?: boolean;
}

/** Names an object for people: kind, group, namespace and name. */
export function refOf(manifest: ReleaseManifest): string {
  const { namespace = "", name } = manifest.metadata;
  return `${kindAndGroup(manifest)}/${namespace}/${name}`;
}

/**
 * Everything about these objects that no release may bring into a customer's namespace. A vendor whose pipeline was
 * stolen could else take the node, borrow an account that has rights, or open the namespace to others.
 */
export function releaseProblems(objects: readonly ReleaseObject[], rules: ReleaseRules): readonly RuleProblem[] {
  const refs = new Set(objects.map(({ manifest }) => refOf(manifest)));
  const seen = new Set<string>();
  const ofEach = objects.flatMap(({ manifest }) => {
    const ref = refOf(manifest);
    const twice = seen.has(ref) ? ["the release has it twice"] : [];
    seen.add(ref);
    const messages = [
      ...twice,
      ...placeProblems(manifest, rules),
      ...nameProblems(manifest),
      ...fieldProblems(manifest, rules.mayUse),
      ...dataProblems(manifest).map(({ path, message }) => `.${path.join(".").slice(0, MAX_PATH)} ${message}`),
      ...reachProblems(manifest, refs, rules),
      ...claimProblems(manifest, nodeAt(templateOf(manifest), "spec")),
      ...selectionProblems(manifest),
      ...scaleProblems(manifest, refs),
      ...exposureProblems(manifest, rules),
    ];
    return messages.map((message) => ({ ref, message }));
  });
  return [...tooLarge(objects, rules), ...ofEach];
}

/** One that fills the cluster leaves no room for pods of others. */
function tooLarge(objects: readonly ReleaseObject[], { maxPods }: ReleaseRules): readonly RuleProblem[] {
  const { pods, podsOfNode } = sizesOf(objects);
  const all = pods + podsOfNode;
  return all <= maxPods
    ? []
    : [{ ref: "", message: `it may have ${all} pods at once, and releases.maxPods is ${maxPods}` }];
}

/**
 * What is refused of an object of the customer's that a release adopts, as it is with the release's fields. What the customer
 * has put into it stays, and a Secret, or an identity of a cloud, would reach the vendor's image by it. The policies let stay
 * what was there before.
 *
 * @param objects what the release brings.
 */
export function adoptedProblems(
  adopted: ReleaseManifest,
  objects: readonly ReleaseObject[],
  rules: ReleaseRules,
): readonly RuleProblem[] {
  const refs = new Set(objects.map(({ manifest }) => refOf(manifest)));
  const { [FROM_FILE]: _, ...annotations } = nodeAt(adopted, "metadata", "annotations");
  const judged = { ...adopted, metadata: { ...adopted.metadata, annotations } } as ReleaseManifest;
  const ref = refOf(adopted);
  const messages = [...reachProblems(judged, refs, rules), ...adoptedFieldProblems(judged, rules.mayUse)];
  return messages.map((message) => ({ ref, message: `as it would be then: ${message}` }));
}

/** What its pods may do and read. */
function reachProblems(manifest: ReleaseManifest, refs: ReadonlySet<string>, rules: ReleaseRules): readonly string[] {
  const brings = (kind: string, name: string) => refs.has(`${kind}/${manifest.metadata.namespace ?? ""}/${name}`);
  const bringsAccount = (name: string) => brings("ServiceAccount", name);
  const template = templateOf(manifest);
  return [
    ...(template === undefined ? [] : podProblems(template, { ...rules, bringsAccount })),
    ...readProblems(manifest, nodeAt(template, "spec"), rules.mayRead, brings),
  ];
}

function placeProblems(manifest: ReleaseManifest, { kinds, namespaces }: ReleaseRules): readonly string[] {
  const { namespace } = manifest.metadata;
  const kind = kindAndGroup(manifest);
  if (!kinds.includes(kind)) return [`releases install no ${kind} here`];
  if (namespace === undefined) return ["it names no namespace"];
  if (!namespaces.includes(namespace)) return [`the deployment is not accepted in namespace ${namespace}`];
  return [];
}

/** `externalIPs` take over addresses of others, and are refused also where a release may be exposed. */
function exposureProblems({ kind, spec }: ReleaseManifest, { mayExpose }: ReleaseRules): readonly string[] {
  const given = nodeAt(spec);
  if (kind === "Ingress") return mayExpose ? [] : ["an Ingress exposes it to others"];
  if (kind !== "Service") return [];
  const type = String(given.type ?? "ClusterIP");
  return [
    ...(mayExpose || type === "ClusterIP" ? [] : [`a Service of type ${type} leads out of the cluster`]),
    ...(given.externalIPs === undefined ? [] : ["externalIPs take over addresses"]),
  ];
}
