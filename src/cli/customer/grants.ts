import { objectName } from "../../crds/group.ts";
import { type AccessGrant, accessGrants } from "../../crds/kinds/access-grant.ts";
import { type Rollout, rollouts } from "../../crds/kinds/rollout.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { FriendlyError } from "../kernel/command.ts";
import { CODES } from "./customer-cluster.ts";

/** Whose request is meant: the vendor writes `ar_…`, and the object's name is the same id in Kubernetes' spelling. */
export interface Named {
  readonly namespace: string;
  readonly id: string;
}

/** @throws FriendlyError when there is none, in words that also help with the name of a rollout */
export async function grantNamed(client: Client, { namespace, id }: Named, signal: AbortSignal): Promise<AccessGrant> {
  const name = objectName(id);
  const grant = await client.get<AccessGrant>(accessGrants, { namespace, name }, signal);
  if (grant !== undefined) return grant;
  const rollout = await rolloutNamed(client, { namespace, id }, signal);
  const deny = `kubectl patch rout ${name} -n ${namespace} --type=merge -p '{"spec":{"deniedReason":"WHY"}}'`;
  const isWhat =
    rollout === undefined
      ? ""
      : `: it is a release, which kubectl patch decides; show ${name} has the line that approves it, and this one denies it:\n  ${deny}`;
  throw new FriendlyError(`there is no request ${name} in ${namespace}${isWhat}`, { exitCode: CODES.notFound });
}

/** Undefined also where the person may not read rollouts, or the cluster has none. */
export async function rolloutNamed(
  client: Client,
  { namespace, id }: Named,
  signal: AbortSignal,
): Promise<Rollout | undefined> {
  try {
    return await client.get<Rollout>(rollouts, { namespace, name: objectName(id) }, signal);
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return undefined;
    throw error;
  }
}

/**
 * The approver's name as the API server sees it, for servers before 1.36, which do not stamp it. Undefined when the approver may
 * not ask for it.
 */
export async function ownName(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.whoAmI(signal)).username;
  } catch (error) {
    if (error instanceof ApiError && (error.isForbidden || error.isNotFound)) return undefined;
    throw error;
  }
}
