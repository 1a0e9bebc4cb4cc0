import type { StackState } from "../../../contract/deployments/deployment-state.ts";
import type { CommandTarget } from "../../../contract/operations/commands.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";

const CAPABLE: readonly string[] = ["worker", "container", "daemon"] satisfies CommandTarget["resourceType"][];

/**
 * Finds the resource that receives the command (§16.2): the named one, or the only one that can.
 * @throws NOT_FOUND, COMMAND_TARGET_AMBIGUOUS, NO_COMMAND_TARGETS
 */
export function commandTarget(stack: StackState | null, named: string | undefined): CommandTarget {
  const capable = Object.entries(stack?.resources ?? {})
    .filter(([, { type }]) => CAPABLE.includes(type))
    .map(([resourceId, { type }]) => ({ resourceId, resourceType: type as CommandTarget["resourceType"] }));
  if (named !== undefined) {
    const found = capable.find(({ resourceId }) => resourceId === named);
    if (found === undefined) throw notFound("command target");
    return found;
  }
  const [only, ...others] = capable;
  if (only === undefined) throw new PlatformError("NO_COMMAND_TARGETS");
  if (others.length > 0) {
    const targets = capable.map(({ resourceId }) => resourceId).slice(0, 50);
    throw new PlatformError("COMMAND_TARGET_AMBIGUOUS", { context: { targets } });
  }
  return only;
}
