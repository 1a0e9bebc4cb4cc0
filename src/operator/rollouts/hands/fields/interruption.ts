import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../../base/is-record.ts";
import type { LiveObject } from "../release-api.ts";

type Spec = Readonly<Record<string, unknown>>;

/**
 * What a plan has to say of a workload whose pods are not replaced one by one. With strategy Recreate all of a Deployment's
 * pods go before the first new one is made, and a change to that strategy counts too: from then on each change of the pods does
 * it. Pods of what is paused, and of sets that replace none or not all by themselves, stay as they are.
 *
 * @param before undefined: it is made
 * @returns the words around the object's name
 */
export function interruptionOf(
  before: LiveObject | undefined,
  after: LiveObject,
): ((ref: string) => string) | undefined {
  const [was, is] = [specOf(before), specOf(after)];
  const isNew = before === undefined;
  const hasOtherPods = isNew || !isDeepStrictEqual(was.template, is.template);
  if (after.kind === "Deployment") {
    if (hasOtherPods && is.paused === true) return (ref) => `starts no new pods of ${ref}: it is paused`;
    if (isNew || typeOf(is.strategy) !== "Recreate") return undefined;
    if (!hasOtherPods && typeOf(was.strategy) === "Recreate") return undefined;
    return (ref) => `stops ${ref} while its pods are replaced: its strategy is Recreate`;
  }
  if (isNew || !hasOtherPods) return undefined;
  const strategy = isRecord(is.updateStrategy) ? is.updateStrategy : {};
  if (strategy.type === "OnDelete") {
    return (ref) => `leaves the pods of ${ref} as they are until each is deleted: its update strategy is OnDelete`;
  }
  const partition = isRecord(strategy.rollingUpdate) ? strategy.rollingUpdate.partition : undefined;
  if (typeof partition !== "number" || partition <= 0) return undefined;
  return (ref) => `leaves pods of ${ref} as they are: its update strategy has partition ${partition}`;
}

function specOf(live: LiveObject | undefined): Spec {
  return isRecord(live?.spec) ? live.spec : {};
}

function typeOf(strategy: unknown): unknown {
  return isRecord(strategy) ? strategy.type : undefined;
}
