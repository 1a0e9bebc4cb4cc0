import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { EXPIRES_AT_ANNOTATION } from "../../../crds/group.ts";
import { releaseContents } from "../../../crds/kinds/release-content.ts";
import { type Rollout, rollouts as rolloutKind } from "../../../crds/kinds/rollout.ts";
import { PLAN_ACCOUNT } from "../../../crds/release-names.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Client } from "../../../kube/client/client.ts";
import { type KubeObject, type Resource, resources } from "../../../kube/objects/resource.ts";
import type { RolloutAccess } from "../../access/rollout-access.ts";
import type { OperatorMetrics } from "../../kernel/metrics.ts";
import { type KnownContent, outdated, outdatedSecrets } from "./retention.ts";

export interface RolloutSweepPorts {
  readonly client: Pick<Client, "delete">;
  readonly access: Pick<RolloutAccess, "leftOvers">;
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<OperatorMetrics, "removed">;
  /** From the caches. */
  readonly rollouts: () => readonly Rollout[];
  readonly contents: () => readonly KnownContent[];
  /** Secrets of configurations, page by page and without their values; left out: releases bring none. */
  readonly secrets?: (signal: AbortSignal) => AsyncIterable<readonly Pick<KubeObject, "metadata">[]>;
  readonly isServed: (deploymentId: string) => boolean;
  /** Uids of rollouts whose accounts this process needs, also when the cache does not show them. */
  readonly held: () => ReadonlySet<string>;
  /** Namespaces in which a rollout may have had rights. */
  readonly places: () => readonly string[];
}

/** More are deleted a minute later. */
const MAX_DELETED = 100;

/** Removes rights and accounts of rollouts that need them no more, and what is kept of ended ones beyond its time. */
export async function sweepRollouts(ports: RolloutSweepPorts, signal: AbortSignal): Promise<void> {
  await sweepAccess(ports, signal);
  await forget(ports, signal);
  await forgetSecrets(ports, signal);
}

async function sweepAccess(ports: RolloutSweepPorts, signal: AbortSignal): Promise<void> {
  const { metrics, log, clock } = ports;
  const found = await ports.access.leftOvers(ports.places(), signal);
  // After the list that it judges: what was opened in the meantime is not in that list.
  const isNeeded = neededBy(ports.rollouts(), ports.held());
  const now = clock.wallNow().getTime();
  for (const { kind, rolloutUid, object } of found) {
    const { name, namespace, annotations } = object.metadata;
    const isOver = kind === "RoleBinding" && !(now < Date.parse(annotations?.[EXPIRES_AT_ANNOTATION] ?? ""));
    if (isNeeded(rolloutUid, name) && !isOver) continue;
    const resource = kind === "RoleBinding" ? resources.roleBindings : resources.serviceAccounts;
    if (!(await remove(ports, resource, object, signal))) continue;
    metrics.removed(kind);
    log.info({ kind, namespace, name }, "left-over access of a rollout removed");
  }
}

const CHANGING: readonly (string | undefined)[] = ["Applying", "Gating", "Pruning", "RollingBack"];

/**
 * A rollout is stored as planning, or as applying, before the account for it is made. One that is planned again while objects
 * of the customer are in its way is held.
 */
function neededBy(rollouts: readonly Rollout[], held: ReadonlySet<string>): (uid: string, account: string) => boolean {
  const states = new Map(
    rollouts
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, status }) => [metadata.uid, status?.state]),
  );
  return (uid, account) => {
    if (held.has(uid)) return true;
    const state = states.get(uid);
    return PLAN_ACCOUNT.test(account) ? state === "Planning" : CHANGING.includes(state);
  };
}

async function forget(ports: RolloutSweepPorts, signal: AbortSignal): Promise<void> {
  const { rollouts, contents } = outdated(ports.rollouts(), ports.contents(), ports.isServed, ports.clock.wallNow());
  const all = [
    ...rollouts.map((object) => [rolloutKind, object] as const),
    ...contents.map((object) => [releaseContents, object] as const),
  ];
  let deleted = 0;
  for (const [resource, object] of all.slice(0, MAX_DELETED)) {
    if (await remove(ports, resource, object, signal)) deleted += 1;
  }
  if (deleted > 0) ports.log.info({ deleted }, "ended rollouts and contents that no deployment needs deleted");
}

/** Last, and on its own: a right to list or to delete Secrets that is missing keeps nothing else. */
async function forgetSecrets(ports: RolloutSweepPorts, signal: AbortSignal): Promise<void> {
  let deleted = 0;
  try {
    for await (const page of ports.secrets?.(signal) ?? []) {
      // The contents after the page that they are compared with: a Secret that is made in between is not in it.
      const going = outdatedSecrets(page, ports.contents(), ports.clock.wallNow());
      for (const object of going.slice(0, MAX_DELETED - deleted)) {
        if (await remove(ports, resources.secrets, object, signal)) deleted += 1;
      }
      if (deleted >= MAX_DELETED) break;
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    ports.log.warn({ err: error }, "secrets of releases that no deployment needs were not all deleted");
  }
  if (deleted > 0) ports.log.info({ deleted }, "secrets of releases that no deployment needs deleted");
}

async function remove(
  { client, fence }: RolloutSweepPorts,
  resource: Resource,
  { metadata: { name, namespace, uid } }: Pick<KubeObject, "metadata"> | KnownContent,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  fence();
  const key = { name, ...(namespace !== undefined && { namespace }) };
  return client.delete(resource, key, { preconditions: { uid } }, signal);
}
