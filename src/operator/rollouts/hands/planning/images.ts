import type { ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { giveWay, type Override } from "../../give-way.ts";
import { refOf, templateOf } from "../../release-rules.ts";
import { listAt, nodeAt, textAt } from "../../rule-nodes.ts";

/** An image, and the objects whose pods run it. */
export interface ImageUse {
  readonly image: string;
  readonly refs: readonly string[];
}

/**
 * The images of what a plan makes or changes, so that an approver reads which programs will run: `create Deployment.apps/shop/api`
 * says nothing of them.
 *
 * @param refs of what is made or changed.
 * @param overrides an image that stays as another manager has it does not come.
 * @returns sorted by image.
 */
export function imagesOf(
  objects: readonly Pick<ReleaseObject, "manifest">[],
  refs: ReadonlySet<string>,
  overrides: readonly (Override & { readonly ref: string })[] = [],
): readonly ImageUse[] {
  const kept = Map.groupBy(overrides, ({ ref }) => ref);
  const uses = new Map<string, Set<string>>();
  for (const { manifest } of objects) {
    const ref = refOf(manifest);
    if (!refs.has(ref)) continue;
    const applied = giveWay(manifest, kept.get(ref) ?? [])?.manifest ?? manifest;
    const pod = nodeAt(templateOf(applied), "spec");
    for (const container of [...listAt(pod, "initContainers"), ...listAt(pod, "containers")]) {
      const image = textAt(container, "image");
      if (image !== "") uses.set(image, (uses.get(image) ?? new Set()).add(ref));
    }
  }
  return [...uses].map(([image, users]) => ({ image, refs: [...users].sort() })).sort(byImage);
}

function byImage(one: ImageUse, other: ImageUse): number {
  return one.image < other.image ? -1 : 1;
}
