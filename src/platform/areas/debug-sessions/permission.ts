import type { PlanLine } from "../../../contract/access-requests/access-requests.ts";
import type { DebugAccess } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";

/** What a plan's line for a debug session says, and the session repeats. */
export type Asked = Pick<DebugAccess, "mode" | "namespace" | "clientKey" | "ports" | "selector">;

/** Whether the customer has approved exactly this and the window is open. `request` is as of now. */
export function covers(request: AccessRequestRow, asked: Asked, now: Date): boolean {
  const open =
    request.debug &&
    request.status === "customer-approved" &&
    request.approved_until !== null &&
    now < request.approved_until;
  return open && request.commands.some((line) => isFor(line, asked));
}

function isFor({ command, params = {} }: PlanLine, { mode, namespace, clientKey, ports, selector }: Asked): boolean {
  return (
    command === `debug/${mode}` &&
    params.mode === mode &&
    params.namespace === namespace &&
    params.clientKey === clientKey &&
    (params.selector ?? null) === selector &&
    JSON.stringify(params.ports ?? null) === JSON.stringify(ports)
  );
}
