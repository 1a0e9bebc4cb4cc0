import type { CommandRow } from "../../database/tables/commands.ts";
import type { Call } from "../../kernel/call/call.ts";
import { continuePlan } from "../access-requests/execution.ts";

/** What a hook may use: everything in the transaction of the call that ended the command. */
export type SettledCall = Pick<Call, "db" | "now" | "raise" | "emit">;

/** Runs once for each command that reached a terminal state, which is stored by then. Called for every command. */
export type SettledHook = (call: SettledCall, command: CommandRow) => Promise<void>;

/**
 * Who goes on when a command has ended: each area adds its line. A hook may import `create.ts` and `store.ts` of this
 * folder, and nothing that ends commands.
 */
const HOOKS: readonly SettledHook[] = [continuePlan];

export async function commandSettled(call: SettledCall, command: CommandRow): Promise<void> {
  for (const hook of HOOKS) await hook(call, command);
}
