import type { Sweep } from "../kernel/sweep.ts";
import { sweepLapsed } from "./access-requests/lapse.ts";
import { sweepManagers } from "./managers/service.ts";

/** What each area does once a minute, by its name in the log. */
export const SWEEPS: Readonly<Record<string, Sweep>> = {
  "access-requests": sweepLapsed,
  managers: sweepManagers,
};
