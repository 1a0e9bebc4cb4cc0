import type { Command } from "../kernel/command.ts";
import { versionCommandOf } from "../kernel/version-command.ts";
import { approveCommand } from "./approve-command.ts";
import { LOOKS, OTHERS } from "./customer-verbs.ts";
import { receiptCommand } from "./receipt-command.ts";
import { commandOf } from "./verb.ts";

/** `kubectl sallyport …`: what an approver does in a day, with nothing but a kubeconfig. */
export function customerCommands(program: string): readonly Command[] {
  const own = [...LOOKS.map(commandOf), approveCommand(program), ...OTHERS.map(commandOf)];
  return [...own, receiptCommand(program), versionCommandOf(program)];
}
