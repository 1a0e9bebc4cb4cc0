import { type OperationPolicy, operationPolicies } from "../../crds/kinds/operation-policy.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { mergePolicies } from "../../operator/gate/policy.ts";
import { listed } from "./requests.ts";

/** What the customer's policies say of the length of a window. */
export interface WindowLimit {
  /** Undefined: no policy has a limit, or they may not be read. */
  readonly minutes: number | undefined;
  /** The person may not read the policies: the operator, who does, may allow less than is said here. */
  readonly isUnseen: boolean;
}

/** By the operator's own rule, so that the two cannot differ. */
export async function windowLimit(
  client: Pick<Client, "list">,
  namespace: string,
  signal: AbortSignal,
): Promise<WindowLimit> {
  try {
    const policies = await listed<OperationPolicy>(client, operationPolicies, namespace, signal);
    return { minutes: mergePolicies(policies).maxWindowMinutes, isUnseen: false };
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return { minutes: undefined, isUnseen: true };
    throw error;
  }
}
