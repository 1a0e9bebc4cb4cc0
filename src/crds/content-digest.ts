import { canonicalDigest } from "./canonical-digest.ts";
import type { ReleaseObject } from "./kinds/release-content.ts";

/**
 * What an approver of a release approves: `sha256:` over the RFC 8785 form of its objects in their order. The operator
 * computes it again from what the API server has stored, before each wave: an object that was exchanged after the
 * approval has another digest.
 */
export function contentDigest(objects: readonly ReleaseObject[]): string {
  const lines = objects.map(({ wave, frozen, resourceId, manifest }) => ({ wave, frozen, resourceId, manifest }));
  return canonicalDigest(lines);
}
