import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../../base/is-record.ts";
import type { LiveObject } from "../release-api.ts";

/**
 * Whether this change stops a workload, as a plan has to say: with strategy Recreate all pods of a Deployment go before the
 * first new one is made. A change to that strategy counts too: from then on each change of the pods does it.
 */
export function stopsWorkload(before: LiveObject, after: LiveObject): boolean {
  const [was, is] = [before, after].map(({ spec }) => (isRecord(spec) ? spec : {}));
  if (after.kind !== "Deployment" || typeOf(is) !== "Recreate") return false;
  return typeOf(was) !== "Recreate" || !isDeepStrictEqual(was?.template, is?.template);
}

function typeOf(spec: Readonly<Record<string, unknown>> | undefined): unknown {
  return isRecord(spec?.strategy) ? spec.strategy.type : undefined;
}
