import type { Lookups } from "../observe/observation.ts";

/** Nothing is asked for beside the caches. */
export const NO_LOOKUPS: Lookups = {
  events: { of: () => ({ events: [] }), well: () => undefined },
  usage: { of: () => ({ pods: new Map() }) },
};

/** Nodes that are not read. */
export const NO_NODES = { isStarting: false, isCurrent: true, heartbeat: () => undefined } as const;
