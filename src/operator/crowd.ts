import type { AccessGrant } from "../crds/access-grant.ts";
import { fullBecause, isOpen } from "../crds/open-cap.ts";
import type { OperationInvocation } from "../crds/operation-invocation.ts";

/** How many may be open lies with the agent; an agent that does not keep to it is not served beyond, the oldest first. */
export function crowdedBecause(
  invocation: OperationInvocation,
  grant: AccessGrant | undefined,
  all: { readonly invocations: readonly OperationInvocation[]; readonly grants: readonly AccessGrant[] },
): string | undefined {
  const commands = all.invocations.filter((each) => isOpen(each) && isOlder(each, invocation));
  const crowd = fullBecause(commands, invocation.spec.deploymentId);
  if (crowd !== undefined) return `older commands go first: ${crowd}`;
  if (grant === undefined) return undefined;
  const windows = all.grants.filter((each) => isApproved(each) && isOlder(each, grant));
  const crowded = fullBecause(windows, grant.spec.deploymentId);
  return crowded === undefined ? undefined : `older approved grants go first: ${crowded}`;
}

function isApproved(grant: AccessGrant): boolean {
  return grant.spec.approvedForMinutes !== undefined && isOpen(grant);
}

type Named = Pick<OperationInvocation, "metadata">;

/** The API server's time has whole seconds; names part what is of one second. */
function isOlder({ metadata: one }: Named, { metadata: other }: Named): boolean {
  if (one.creationTimestamp !== other.creationTimestamp) return one.creationTimestamp < other.creationTimestamp;
  return one.name < other.name;
}
