/**
 * The most requests, and the most commands, that are open at a time. The agent puts no more into the cluster; the operator
 * serves no more, the oldest first. A platform that lists thousands otherwise fills the customer's etcd and their screen.
 */
export const MAX_OPEN = { ofDeployment: 50, inAll: 200 } as const;

const OPEN_STATES = ["Pending", "Approved", "Running"];

/** A grant or an invocation that may still come to something. */
export function isOpen({ status }: { readonly status?: { readonly state?: string } }): boolean {
  return OPEN_STATES.includes(status?.state ?? "Pending");
}

interface OfDeployment {
  readonly spec: { readonly deploymentId: string };
}

/** Which cap leaves no room for one more of `deploymentId`; undefined: there is room. */
export function fullBecause(open: readonly OfDeployment[], deploymentId: string): string | undefined {
  const { ofDeployment, inAll } = MAX_OPEN;
  const same = open.filter(({ spec }) => spec.deploymentId === deploymentId).length;
  if (same >= ofDeployment) return `${same} of this deployment are open, at most ${ofDeployment} may be`;
  if (open.length >= inAll) return `${open.length} are open in this cluster, at most ${inAll} may be`;
  return undefined;
}
