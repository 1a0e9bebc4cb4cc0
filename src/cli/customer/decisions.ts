import { type AccessGrant, accessGrants, FINAL_GRANT_STATES } from "../../crds/kinds/access-grant.ts";
import type { Client } from "../../kube/client/client.ts";
import { FriendlyError } from "../kernel/command.ts";
import { escaped } from "../kernel/output.ts";
import { CODES } from "./customer-cluster.ts";
import { ownName } from "./grants.ts";

/** Why it cannot be done, in words that say what can. The API server decides in any case. */
export function refusalOf(
  { metadata: { name }, spec, status }: AccessGrant,
  act: "deny" | "revoke",
): string | undefined {
  const by = (person: string | undefined): string => (person === undefined ? "" : ` by ${person}`);
  if (spec.deniedReason !== undefined) return `${name} was denied already${by(spec.decidedBy)}`;
  if (spec.revokedReason !== undefined) return `${name} was revoked already${by(spec.revokedBy)}`;
  if (FINAL_GRANT_STATES.some((state) => state === status?.state)) return `${name} is over: ${status?.state}`;
  const isApproved = spec.approvedForMinutes !== undefined;
  if (act === "deny" && isApproved) return `${name} is approved already${by(spec.decidedBy)}: revoke ends it`;
  if (act === "revoke" && !isApproved) return `${name} is not approved: deny says no to it`;
  return undefined;
}

/** @returns the grant with the decision, as the API server has it */
export async function decided(
  client: Client,
  grant: AccessGrant,
  act: "deny" | "revoke",
  reason: string,
  signal: AbortSignal,
): Promise<AccessGrant> {
  const refusal = refusalOf(grant, act);
  if (refusal !== undefined) throw new FriendlyError(escaped(refusal, ""), { exitCode: CODES.conflict });
  const name = await ownName(client, signal);
  const spec =
    act === "deny"
      ? { deniedReason: reason, ...(name !== undefined && { decidedBy: name }) }
      : { revokedReason: reason, ...(name !== undefined && { revokedBy: name }) };
  return client.patch<AccessGrant>(accessGrants, grant.metadata, { type: "merge", body: { spec } }, {}, signal);
}
