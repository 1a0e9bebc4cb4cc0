import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import { TOP_LEVEL_DOMAINS } from "../../crds/released/may-use.ts";
import { kindAndGroup } from "../../crds/released/release-kinds.ts";
import { textAt } from "./rule-nodes.ts";

/** Names of Services that pods of the customer resolve to something else, without a word in them of a Service. */
export function nameProblems({ spec, ...manifest }: ReleaseManifest): readonly string[] {
  if (kindAndGroup(manifest) !== "Service") return [];
  const { name } = manifest.metadata;
  const isHeadless = textAt(spec, "clusterIP") === "None";
  return [
    ...(/^kubernetes(-|$)/.test(name)
      ? ["pods that start beside a Service of this name take it for the API server"]
      : []),
    ...(isHeadless && TOP_LEVEL_DOMAINS.includes(name)
      ? [`names of its pods would be names of the domain ${name} to pods beside it`]
      : []),
  ];
}
