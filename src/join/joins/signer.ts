import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { Refusal } from "../kernel/refusal.ts";

/** So long after the signer's last failure a machine may ask again: only a join can show that it works by now. */
const TRY_AGAIN_MS = 900_000;

/**
 * Why machines cannot join this pool: the cluster's signer signed none of its last joins (condition SignerWorks), and each
 * ask would cost the token a place. Ends with the time, or when the joins that failed are deleted.
 */
export function signerRefusal(pool: MachinePool, joins: Iterable<MachineJoin>, now: Date): Refusal | undefined {
  const works = pool.status?.conditions?.find(({ type }) => type === "SignerWorks");
  if (works?.status !== "False") return undefined;
  const endsMs = lastFailureMs(pool.metadata.name, joins) + TRY_AGAIN_MS;
  const leftMs = endsMs - now.getTime();
  if (leftMs <= 0) return undefined;
  const until = `${new Date(endsMs).toISOString().slice(0, 19)}Z`;
  const words =
    `the cluster's signer signs no certificates of nodes (${works.reason}); the token is not used up. ` +
    `The customer mends the signer, and deletes the MachineJoins that it failed; machines may try again at ${until}`;
  return new Refusal(503, "SIGNER_BROKEN", "signer", words, Math.ceil(Math.min(leftMs, TRY_AGAIN_MS) / 1_000));
}

function lastFailureMs(pool: string, joins: Iterable<MachineJoin>): number {
  let last = Number.NEGATIVE_INFINITY;
  for (const { spec, status } of joins) {
    if (spec.pool !== pool) continue;
    const signed = status?.conditions?.find(({ type }) => type === "Signed");
    if (signed?.status === "False") last = Math.max(last, Date.parse(signed.lastTransitionTime));
  }
  return last;
}
