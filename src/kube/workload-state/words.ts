/** Worst first. `unknown`: too early to say, or what was read is old. */
export const HEALTHS = ["unhealthy", "degraded", "unknown", "healthy"] as const;
export type Health = (typeof HEALTHS)[number];

export const LIFECYCLES = ["deleting", "failed", "stopped", "updating", "scaling", "creating", "running"] as const;
export type Lifecycle = (typeof LIFECYCLES)[number];
