/**
 * The most requests, and the most commands, that are open at a time. The agent puts no more into the cluster; the
 * operator serves no more, the oldest first. Without it, a platform that lists thousands would fill the customer's etcd
 * and screen.
 */
export const MAX_OPEN = { ofDeployment: 50, inAll: 200 } as const;

const OPEN_STATES = ["Pending", "Approved", "Running"];

/** Whether a grant or an invocation counts against {@link MAX_OPEN}. One without a state counts as Pending. */
export function isOpen({ status }: { readonly status?: { readonly state?: string } }): boolean {
  return OPEN_STATES.includes(status?.state ?? "Pending");
}

/** How many are open: of one deployment, and of all. */
export interface OpenCounts {
  readonly ofDeployment: number;
  readonly inAll: number;
}

/**
 * Which limit leaves no room for one more; undefined: there is room. The text names no count, because waiting objects
 * store it.
 */
export function fullBecause(open: OpenCounts, max: OpenCounts = MAX_OPEN, word = "open"): string | undefined {
  const { ofDeployment, inAll } = max;
  if (open.ofDeployment >= ofDeployment) return `at most ${ofDeployment} of this deployment may be ${word}`;
  if (open.inAll >= inAll) return `at most ${inAll} may be ${word} in this cluster`;
  return undefined;
}
