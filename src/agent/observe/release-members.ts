import { DEPLOYMENT_ID_LABEL, RESOURCE_ID_LABEL } from "../../crds/release-names.ts";
import { OBSERVED } from "../kernel/observed-kinds.ts";
import { count, imageName } from "../kernel/told-words.ts";
import type { ReleaseMember } from "./summary.ts";
import type { Workload } from "./workload.ts";

const MAX_IMAGE_BYTES = 1_000;

/** @param workload with the names under which it is told */
export function memberOf({ kind, metadata, counts, images }: Workload): ReleaseMember | undefined {
  const { [DEPLOYMENT_ID_LABEL]: deploymentId, [RESOURCE_ID_LABEL]: resourceId } = metadata.labels;
  if (deploymentId === undefined || resourceId === undefined || !OBSERVED[kind].beats) return undefined;
  const [image] = images;
  const { desired, ready } = counts;
  return {
    ...{ deploymentId, resourceId },
    replicas: desired === undefined ? undefined : count(desired),
    ready: ready === undefined ? undefined : count(ready),
    image: image === undefined ? undefined : imageName(image, MAX_IMAGE_BYTES),
  };
}
