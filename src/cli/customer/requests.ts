import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { accessGrants } from "../../crds/kinds/access-grant.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { rollouts } from "../../crds/kinds/rollout.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { KubeObject, Resource } from "../../kube/objects/resource.ts";

/** What waits for a person's decision. */
export interface WaitingRequest {
  readonly name: string;
  readonly kind: "AccessGrant" | "Rollout";
  readonly risk: string;
  /** Since it was asked for, as kubectl writes ages. */
  readonly age: string;
  /** Until when it can be decided. */
  readonly decideBefore: string;
  readonly title: string;
}

/** Oldest first. What the person may not list, or the cluster does not have, is left out. */
export async function waitingRequests(
  client: Pick<Client, "list">,
  namespace: string,
  now: Date,
  signal: AbortSignal,
): Promise<readonly WaitingRequest[]> {
  const grants = await listed<AccessGrant>(client, accessGrants, namespace, signal);
  const wishes = await listed<Rollout>(client, rollouts, namespace, signal).catch((error: unknown) => {
    if (error instanceof ApiError && (error.isNotFound || error.isForbidden)) return [];
    throw error;
  });
  const waiting = [
    ...grants.filter(isUndecided).map((grant) => ({ at: createdAt(grant), row: ofGrant(grant, now) })),
    ...wishes.filter(isAwaiting).map((rollout) => ({ at: createdAt(rollout), row: ofRollout(rollout, now) })),
  ];
  return waiting.sort((one, other) => one.at - other.at).map(({ row }) => row);
}

export async function listed<T extends KubeObject>(
  client: Pick<Client, "list">,
  resource: Resource,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const object of client.list<T>(resource, { namespace }, signal)) found.push(object);
  return found;
}

function isUndecided({ spec, status, metadata }: AccessGrant): boolean {
  const isDecided = spec.approvedForMinutes !== undefined || spec.deniedReason !== undefined;
  return !isDecided && (status?.state ?? "Pending") === "Pending" && metadata.deletionTimestamp === undefined;
}

function isAwaiting({ status }: Rollout): boolean {
  return status?.state === "AwaitingApproval";
}

function ofGrant(grant: AccessGrant, now: Date): WaitingRequest {
  const { risk, decideBefore, title } = grant.spec;
  return { name: grant.metadata.name, kind: "AccessGrant", risk, age: ageOf(grant, now), decideBefore, title };
}

function ofRollout(rollout: Rollout, now: Date): WaitingRequest {
  const { action, deadline, deploymentId } = rollout.spec;
  const risk = action === "delete" || action === "detach" ? "destructive" : "mutating";
  const title = `${action} of a release of ${deploymentId}`;
  return { name: rollout.metadata.name, kind: "Rollout", risk, age: ageOf(rollout, now), decideBefore: deadline, title };
}

function createdAt({ metadata }: KubeObject): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
];

/** As kubectl: 40s, 12m, 5h, 3d. */
function ageOf(object: KubeObject, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - createdAt(object)) / 1_000));
  const [unit, length] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.floor(seconds / length)}${unit}`;
}
