import { isRecord } from "../../../base/is-record.ts";
import type { Manifest } from "../../../crds/manifest.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../crds/release-names.ts";
import { CHOOSE_ALL, kindAndGroup, POD_LABELS, POD_SELECTORS } from "../../../crds/released/release-kinds.ts";

/**
 * Marks the pods of an author's object with the deployment, and adds that mark to its selector: it reaches none of the
 * customer's pods, also where those have the author's labels. The operator refuses an object without it.
 */
export function withOwnPods<Given extends Manifest>(manifest: Given, deploymentId: string): Given {
  const kind = kindAndGroup(manifest);
  const isAlways = CHOOSE_ALL.includes(kind);
  const labels = (POD_LABELS as Paths)[kind];
  const selector = (POD_SELECTORS as Paths)[kind];
  let spec: unknown = manifest.spec ?? (isAlways ? {} : undefined);
  if (labels !== undefined) spec = marked(spec, labels, deploymentId, false);
  if (selector !== undefined) spec = marked(spec, selector, deploymentId, isAlways);
  return spec === undefined ? manifest : { ...manifest, spec };
}

type Paths = Readonly<Record<string, readonly string[] | undefined>>;

/** What is no map stays as it is, for the API server to refuse; so does what is absent, unless `isAlways`. */
function marked(spec: unknown, path: readonly string[], id: string, isAlways: boolean): unknown {
  const [first = ""] = path;
  if (!isRecord(spec)) return spec;
  const given = spec[first];
  const isGiven = isRecord(given) && Object.keys(given).length > 0;
  return isGiven || isAlways ? withMark(spec, path, id) : spec;
}

function withMark(node: unknown, [first, ...rest]: readonly string[], id: string): unknown {
  const fields = node ?? {};
  if (!isRecord(fields)) return node;
  if (first === undefined) return { ...fields, [DEPLOYMENT_ID_LABEL]: id };
  return { ...fields, [first]: withMark(fields[first], rest, id) };
}
