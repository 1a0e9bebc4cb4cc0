import { HOOK_ANNOTATION, HOOK_WEIGHT_ANNOTATION } from "../../../contract/stacks/manifest-problems.ts";
import type { ManifestsConfig } from "../../../contract/stacks/manifests-config.ts";
import type { Manifest } from "../../../crds/manifest.ts";
import { withOwnPods } from "./own-pods.ts";
import { hashOf } from "./plain-json.ts";
import { type ReleaseIdentity, releaseLabels } from "./release-labels.ts";
import type { RenderProblem } from "./render-problem.ts";

type Given = ManifestsConfig["objects"][number];

/** The API server keeps no other field of an object inside of another: the digest of what it keeps would differ. */
const METADATA: ReadonlySet<string> = new Set(["name", "namespace", "labels", "annotations"]);
/** Of a Job: its pods bear it as a label. */
const MAX_JOB_NAME = 63;
const HASH_DIGITS = 10;

/** The objects of manifests with a namespace, the labels by which they are found again, and no pods but the deployment's. */
export function givenObjects(
  identity: ReleaseIdentity,
  namespaces: readonly string[],
  { id, objects }: ManifestsConfig,
): { readonly manifests: readonly Manifest[]; readonly problems: readonly RenderProblem[] } {
  const problems = objects.flatMap(({ metadata }, index) =>
    metadataProblems(metadata, namespaces, `stack.resources.${id}.config.objects.${index}.metadata`),
  );
  const manifests = objects.map((object) => {
    const { namespace = namespaces[0], labels, annotations } = object.metadata;
    const isAnnotated = annotations != null && Object.keys(annotations).length > 0;
    const metadata = {
      name: nameOf(object),
      ...(namespace !== undefined && { namespace }),
      labels: releaseLabels(identity, id, labels ?? {}),
      ...(isAnnotated && { annotations }),
    };
    return withOwnPods({ ...object, metadata }, identity.deploymentId);
  });
  return { manifests, problems };
}

function metadataProblems(
  metadata: Given["metadata"],
  namespaces: readonly string[],
  at: string,
): readonly RenderProblem[] {
  const problems: RenderProblem[] = Object.keys(metadata)
    .filter((field) => !METADATA.has(field))
    .map((field) => ({ path: `${at}.${field.slice(0, 128)}`, message: "may not be set", code: "STACK_INVALID" }));
  const { namespace } = metadata;
  if (namespace !== undefined && !namespaces.includes(namespace)) {
    const message = `the deployment is not accepted in ${namespace}`;
    problems.push({ path: `${at}.namespace`, message, code: "NAMESPACE_NOT_ACCEPTED" });
  }
  return problems;
}

/** A Job's template is immutable: a hook that has changed is another Job, and one that has not is not run again. */
function nameOf(object: Given): string {
  const { name, annotations } = object.metadata;
  const isJob = object.kind === "Job" && object.apiVersion.startsWith("batch/");
  if (!isJob || hookOf(object.metadata) === undefined || annotations == null) return name;
  const kept = name.slice(0, MAX_JOB_NAME - HASH_DIGITS - 1).replace(/[-.]{1,63}$/, "");
  return `${kept}-${hashOf(object).slice(0, HASH_DIGITS)}`;
}

/** When an object is applied: before everything else of its resource, or after it. Undefined: with the rest. */
export function hookOf({ annotations }: Pick<Given["metadata"], "annotations">): "pre" | "post" | undefined {
  const hook = annotations?.[HOOK_ANNOTATION];
  return hook === "pre" || hook === "post" ? hook : undefined;
}

/** Its place among the hooks of the same time. */
export function hookWeightOf({ annotations }: Pick<Given["metadata"], "annotations">): number {
  return Number(annotations?.[HOOK_WEIGHT_ANNOTATION] ?? 0);
}
