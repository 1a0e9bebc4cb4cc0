import type { AccessRequestStatus } from "../../../contract/access-requests/access-requests.ts";
import type { Tier } from "../../../contract/operations/operations.ts";
import { NAMESPACE, pastedLine, RESOURCE_PLURAL } from "../../../contract/wire/pasted-line.ts";

/** What the suggested command asks for; the person may type another number up to the request's own limit. */
const SUGGESTED_MINUTES = 60;

/** The name of the request's grant in the cluster, which admission enforces there. */
export function grantName(requestId: string): string {
  return requestId.toLowerCase().replaceAll("_", "-");
}

export interface Approvable {
  readonly status: AccessRequestStatus;
  readonly risk: Tier;
  readonly planHash: string;
  readonly maxMinutes: number;
  readonly materialized: { readonly namespace: string; readonly resourcePlural: string; readonly name: string } | null;
}

const isNamespace = new RegExp(NAMESPACE, "u");
const isPlural = new RegExp(RESOURCE_PLURAL, "u");

/**
 * The words with which the customer approves, or null when there is nothing to approve. Words for a human: the
 * platform holds nothing with which it could carry them out. A destructive plan must be cited by its hash. Coordinates
 * that kubectl could read as anything but coordinates give none, also those that were stored before reports were judged.
 */
export function kubectlApprove({ status, risk, planHash, maxMinutes, materialized }: Approvable): string | null {
  if (status !== "queued" || materialized === null) return null;
  const minutes = Math.min(SUGGESTED_MINUTES, maxMinutes);
  const { namespace, resourcePlural, name } = materialized;
  if (!isNamespace.test(namespace) || !isPlural.test(resourcePlural)) return null;
  const line =
    risk === "destructive"
      ? pastedLine`kubectl patch ${resourcePlural} ${name} -n ${namespace} --type=merge -p '{"spec":{"approvedForMinutes":${minutes},"approvedPlanHash":"${planHash}"}}'`
      : pastedLine`kubectl patch ${resourcePlural} ${name} -n ${namespace} --type=merge -p '{"spec":{"approvedForMinutes":${minutes}}}'`;
  return line ?? null;
}
