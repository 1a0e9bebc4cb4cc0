import { type Clock, sleep } from "../../../../base/clock.ts";
import { ApiError } from "../../../../kube/client/api-error.ts";
import { resources } from "../../../../kube/objects/resource.ts";
import { MANAGED_BY, type Membership } from "../membership.ts";
import { refusalText } from "../refusal-text.ts";
import type { ReleaseApi } from "../release-api.ts";

/** Holds the accounts of plans to dry runs, and its refusals carry its name. */
const POLICY = "sallyport-plan-accounts";
/** Name of what is tried to be made. An object of this name holds nothing: it was made while the policy was missing. */
export const PROBE = "sallyport-plan-probe";
/** Kinds of which an empty object does nothing, so that a try that succeeds is harmless. */
const HARMLESS = [resources.configMaps, resources.serviceAccounts];
/** A new policy is loaded after less than a second. */
const LOADED_MS = 3_000;
const AGAIN_MS = 250;

const MISSING = `the policy ${POLICY} does not hold the plan's account to dry runs; nothing was planned`;

/**
 * Proves that the account can change nothing: a write that is no dry run has to be refused, and by the policy that holds
 * such accounts to dry runs. Without it a plan would have the rights of a rollout before a person has allowed it.
 *
 * @param membership what is tried to be made has these labels: of two policies that refuse, the API server names one.
 * @returns why nothing may be planned; undefined: it is proved.
 */
export async function unprovedDryRuns(
  api: ReleaseApi,
  membership: Membership,
  namespace: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const endsAtMs = clock.monotonicMs() + LOADED_MS;
  for (;;) {
    const problem = await problemOfWriting(api, { ...membership, [MANAGED_BY]: "sallyport" }, namespace, signal);
    if (problem !== MISSING || clock.monotonicMs() >= endsAtMs) return problem;
    await sleep(clock, AGAIN_MS, signal);
  }
}

async function problemOfWriting(
  api: ReleaseApi,
  labels: Membership,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  let refusal = "";
  for (const resource of HARMLESS) {
    try {
      const probe = { apiVersion: "v1", kind: resource.kind, metadata: { name: PROBE, namespace, labels } };
      const made = await api.create(resource, probe, signal);
      await api.delete(resource, made, signal);
      return MISSING;
    } catch (error) {
      if (!(error instanceof ApiError) || error.isTransient || error.isUnauthorized) throw error;
      if (error.message.includes(`ValidatingAdmissionPolicy '${POLICY}'`)) return undefined;
      // It would be refused before the name is looked up.
      if (error.isAlreadyExists) return MISSING;
      const hint = error.isForbidden
        ? "; the role of releases (releases.role) may be missing, or may not create this"
        : "";
      refusal = `${refusalText(error)}${hint}`;
    }
  }
  return `it cannot be proved that the plan's account is held to dry runs: ${refusal}`;
}
