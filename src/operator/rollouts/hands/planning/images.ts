import type { ReleaseManifest, ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { giveWay, type Override } from "../../give-way.ts";
import { refOf } from "../../release-rules.ts";
import { listAt, nodeAt, templateOf, textAt } from "../../rule-nodes.ts";

/** An image, and the objects whose pods run it. */
export interface ImageUse {
  /** Fit for a line: of one that is too long the middle is left out, never its digest. */
  readonly image: string;
  readonly refs: readonly string[];
  /** No object of the former release runs it. */
  readonly isNew: boolean;
}

/** Leaves a line room for the words around it, and for what it becomes without commands. */
const MAX_IMAGE = 240;
/** Of a digest with its algorithm: the longest that registries know (sha512). */
const MAX_DIGEST = 136;

/**
 * The images of what a plan makes or changes, so that an approver reads which programs will run: `create Deployment.apps/shop/api`
 * says nothing of them.
 *
 * @param former the objects of the release before; an install has none, and all of its images are new.
 * @param refs of what is made or changed.
 * @param overrides an image that stays as another manager has it does not come.
 * @returns first the new ones, of these first those from a repository that the former release has nothing of; then by name.
 */
export function imagesOf(
  objects: readonly Pick<ReleaseObject, "manifest">[],
  former: readonly Pick<ReleaseObject, "manifest">[],
  refs: ReadonlySet<string>,
  overrides: readonly (Override & { readonly ref: string })[] = [],
): readonly ImageUse[] {
  const kept = Map.groupBy(overrides, ({ ref }) => ref);
  const uses = new Map<string, Set<string>>();
  for (const { manifest } of objects) {
    const ref = refOf(manifest);
    if (!refs.has(ref)) continue;
    for (const image of imagesIn(giveWay(manifest, kept.get(ref) ?? [])?.manifest ?? manifest)) {
      uses.set(image, (uses.get(image) ?? new Set()).add(ref));
    }
  }
  const known = new Set(former.flatMap(({ manifest }) => imagesIn(manifest)));
  const repositories = new Set([...known].map(repositoryOf));
  const familiarity = (image: string): number =>
    Number(repositories.has(repositoryOf(image))) + Number(known.has(image));
  return [...uses]
    .sort(([one], [other]) => familiarity(one) - familiarity(other) || (one < other ? -1 : 1))
    .map(([image, users]) => ({ image: shortened(image), refs: [...users].sort(), isNew: !known.has(image) }));
}

function imagesIn(manifest: ReleaseManifest): readonly string[] {
  const pod = nodeAt(templateOf(manifest), "spec");
  const containers = [...listAt(pod, "initContainers"), ...listAt(pod, "containers")];
  return containers.map((container) => textAt(container, "image")).filter((image) => image !== "");
}

/** Without tag and digest: a colon before a slash is a port's. */
function repositoryOf(image: string): string {
  const [name = ""] = image.split("@", 1);
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

function shortened(image: string): string {
  if (image.length <= MAX_IMAGE) return image;
  const at = image.lastIndexOf("@");
  const hasDigest = at >= 0 && image.length - at <= MAX_DIGEST + 1;
  const name = hasDigest ? image.slice(0, at) : image;
  const room = MAX_IMAGE - 1 - (image.length - name.length);
  const end = Math.floor(room / 3);
  return `${name.slice(0, room - end)}…${image.slice(name.length - end)}`;
}
