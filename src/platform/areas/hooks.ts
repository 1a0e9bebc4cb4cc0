import type { Hooks } from "../kernel/call/call.ts";
import { abandonRequests, continuePlan } from "./access-requests/lifecycle.ts";
import { expirePending } from "./commands/settle.ts";
import { stopSessions } from "./debug-sessions/ended.ts";
import { retargetFollowers } from "./deployments/lifecycle/follow.ts";
import { closeToMachines } from "./machines/revoke.ts";
import { managerFollows } from "./managers/own-status.ts";
import { packageProduction, rebakeImage } from "./packages/enqueue.ts";

/** The hooks of all areas: what follows a change in one area by the rules of another. Each list runs in its order. */
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
  pluginsChanged: [rebakeImage],
};
