import { atOnce } from "../../../base/at-once.ts";
import { type Clock, sleep } from "../../../base/clock.ts";
import { selfSubjectAccessReview } from "../../../kube/client/access-reviews.ts";
import type { Exchange } from "../../../kube/client/exchange.ts";
import { type Resource, resources } from "../../../kube/objects/resource.ts";
import { isClaim } from "./prune.ts";
import { AT_ONCE, type Target } from "./targets.ts";

/** One right that a rollout needs. */
export interface Need {
  readonly verb: string;
  readonly resource: Resource;
  readonly namespace: string;
}

/** An API server reads a new binding after some milliseconds. */
const BINDING_READ_MS = 5_000;
const AGAIN_MS = 100;

/** What is done with an object: after an apply its pods are looked at, too. */
const VERBS = {
  apply: ["get", "list", "create", "patch"],
  prune: ["get", "delete"],
  takeBack: ["delete"],
  detach: ["get", "patch"],
} as const;
export type Deed = keyof typeof VERBS;

/** What an account has to be allowed to do so with these objects, each right once. */
export function needsOf(deed: Deed, targets: readonly Target[]): readonly Need[] {
  const needs = new Map<string, Need>();
  const add = (verb: string, resource: Resource, namespace: string): void => {
    needs.set(`${verb} ${resource.group}/${resource.plural} ${namespace}`, { verb, resource, namespace });
  };
  for (const { resource, line } of targets) {
    const { namespace = "" } = line.manifest.metadata;
    // A volume claim is never deleted, and nobody may.
    const verbs = VERBS[deed].filter((verb) => verb !== "delete" || !isClaim(resource));
    for (const verb of verbs) add(verb, resource, namespace);
    if (deed === "apply") add("list", resources.pods, namespace);
  }
  return [...needs.values()];
}

/** The rights that the account lacks, also after the time in which a new binding is read. */
export async function lackingRights(
  exchange: Exchange,
  needs: readonly Need[],
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Need[]> {
  const endsAtMs = clock.monotonicMs() + BINDING_READ_MS;
  for (let lacking = needs; ; ) {
    lacking = await lackingNow(exchange, lacking, signal);
    if (lacking.length === 0 || clock.monotonicMs() >= endsAtMs) return lacking;
    await sleep(clock, AGAIN_MS, signal);
  }
}

/** The rights that the account lacks, where its binding is read already. */
export async function lackingNow(
  exchange: Exchange,
  needs: readonly Need[],
  signal: AbortSignal,
): Promise<readonly Need[]> {
  const isAllowed = ({ verb, resource, namespace }: Need): Promise<boolean> =>
    selfSubjectAccessReview(exchange, { verb, group: resource.group, resource: resource.plural, namespace }, signal);
  const answers = await atOnce(needs, AT_ONCE, isAllowed);
  return needs.filter((_, index) => answers[index] === false);
}
