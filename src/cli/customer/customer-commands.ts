import type { Command } from "../kernel/command.ts";
import { versionCommand } from "../kernel/version-command.ts";
import { approveCommand } from "./approve-command.ts";
import { CUSTOMER_VERBS } from "./customer-verbs.ts";

/** `kubectl sallyport …`: what an approver does in a day, with nothing but a kubeconfig. */
export const CUSTOMER_COMMANDS: readonly Command[] = [...CUSTOMER_VERBS, approveCommand, versionCommand];
