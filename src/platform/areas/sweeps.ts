import type { Sweep } from "../kernel/sweep.ts";

/** What each area does once a minute, by its name in the log. */
export const SWEEPS: Readonly<Record<string, Sweep>> = {};
