import type { DebugMode } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";

export interface Asked {
  readonly mode: DebugMode;
  readonly namespace: string | undefined;
}

/** Whether the customer has approved exactly this and the window is open. `request` is as of now. */
export function covers(request: AccessRequestRow, { mode, namespace }: Asked, now: Date): boolean {
  const open =
    request.debug &&
    request.status === "customer-approved" &&
    request.approved_until !== null &&
    now < request.approved_until;
  return (
    open &&
    request.commands.some(({ command, params = {} }) => {
      const inMode = command === `debug/${mode}` && (params.mode === undefined || params.mode === mode);
      return inMode && (params.namespace === undefined || params.namespace === namespace);
    })
  );
}
