import type { Hooks } from "../kernel/call/call.ts";
import { abandonRequests, continuePlan } from "./access-requests/lifecycle.ts";

import { expirePending } from "./commands/settle.ts";
import { stopSessions } from "./debug-sessions/ended.ts";
import { retargetFollowers } from "./deployments/lifecycle/follow.ts";
import { closeToMachines } from "./machines/revoke.ts";
import { managerFollows } from "./managers/own-status.ts";
import { packageProduction } from "./packages/enqueue.ts";

/** What follows from a change in one area and is another area's rule, in the order in which it is done. */
export const HOOKS: Hooks = {
  commandSettled: [continuePlan],
  deploymentChanged: [managerFollows],
  deploymentEnded: [
    abandonRequests,
    closeToMachines,
    stopSessions,
    (call, { id }) => expirePending(call, { deploymentId: id }).then(() => undefined),
  ],
  deploymentTaken: [stopSessions],
  channelMoved: [retargetFollowers, packageProduction],
};
