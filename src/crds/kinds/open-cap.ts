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

/** How many are open: of one deployment, and of all. */
export interface OpenCounts {
  readonly ofDeployment: number;
  readonly inAll: number;
}

/** Which cap leaves no room for one more; undefined: there is room. The words bear no count: a waiting object's status has them. */
export function fullBecause(open: OpenCounts): string | undefined {
  const { ofDeployment, inAll } = MAX_OPEN;
  if (open.ofDeployment >= ofDeployment) return `at most ${ofDeployment} of this deployment may be open`;
  if (open.inAll >= inAll) return `at most ${inAll} may be open in this cluster`;
  return undefined;
}
