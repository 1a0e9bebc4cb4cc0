import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { fullBecause, isOpen } from "../../crds/kinds/open-cap.ts";
import type { OpenObjects } from "../../crds/kinds/open-objects.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";

/**
 * The agent limits open objects. The operator enforces the same limit, oldest first, so that a compromised agent cannot
 * run more.
 */
export function crowdedBecause(
  invocation: OperationInvocation,
  grant: AccessGrant | undefined,
  open: {
    readonly openInvocations: Pick<OpenObjects<OperationInvocation>, "countsBefore">;
    readonly approvedGrants: Pick<OpenObjects<AccessGrant>, "countsBefore">;
  },
): string | undefined {
  const crowd = fullBecause(open.openInvocations.countsBefore(invocation));
  if (crowd !== undefined) return `older commands go first: ${crowd}`;
  const crowded = grant === undefined ? undefined : fullBecause(open.approvedGrants.countsBefore(grant));
  return crowded === undefined ? undefined : `older approved grants go first: ${crowded}`;
}

/** A grant that takes room: approved, and not over. */
export function isApproved(grant: AccessGrant): boolean {
  return grant.spec.approvedForMinutes !== undefined && isOpen(grant);
}
