import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { fullBecause, isOpen } from "../../crds/kinds/open-cap.ts";
import type { OpenObjects } from "../../crds/kinds/open-objects.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";

/**
 * The agent limits open objects. The operator enforces the same limit, oldest first, so that a compromised agent cannot
 * run more.
 */
export function limitReached(
  invocation: OperationInvocation,
  grant: AccessGrant | undefined,
  open: {
    readonly openInvocations: Pick<OpenObjects<OperationInvocation>, "countsBefore">;
    readonly approvedGrants: Pick<OpenObjects<AccessGrant>, "countsBefore">;
  },
): string | undefined {
  const commandLimit = fullBecause(open.openInvocations.countsBefore(invocation));
  if (commandLimit !== undefined) return `older commands go first: ${commandLimit}`;
  const grantLimit = grant === undefined ? undefined : fullBecause(open.approvedGrants.countsBefore(grant));
  return grantLimit === undefined ? undefined : `older approved grants go first: ${grantLimit}`;
}

/** A grant that takes room: approved, and not over. */
export function isApproved(grant: AccessGrant): boolean {
  return grant.spec.approvedForMinutes !== undefined && isOpen(grant);
}
