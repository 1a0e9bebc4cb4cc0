import { CLUSTER_COMMANDS } from "./cluster-commands.ts";
import type { Command } from "./kernel/command.ts";
import { lazyCommand } from "./lazy-command.ts";
import { runProcess } from "./run-process.ts";

const COMMANDS = [
  lazyCommand(
    "platform",
    "Serves the Management API (the vendor's side), and administers it.",
    async () => (await import("./platform/platform-command.ts")).platformCommand,
  ),
  ...CLUSTER_COMMANDS,
  lazyCommand(
    "approve",
    "Approves a request in the customer's cluster, with your own kubeconfig.",
    async () => (await import("./approve/approve-command.ts")).approveCommand,
  ),
];

await runProcess(commandsFor);

/** The processes, and the engineer's commands, which are loaded only for one of them or for the overview. */
async function commandsFor(name: string | undefined): Promise<readonly Command[]> {
  const processes = COMMANDS.map((command) => command.name);
  if (name !== undefined && (processes.includes(name) || name === "--version")) return COMMANDS;
  const { engineerCommands } = await import("./engineer/engineer-commands.ts");
  const { processSurroundings } = await import("./engineer/surroundings.ts");
  const { find, listed } = engineerCommands(processSurroundings, processes);
  const named = name === undefined ? undefined : find(name);
  // Under the word that the person typed, which may be an alias.
  return named === undefined || name === undefined ? [...COMMANDS, ...listed] : [{ ...named, name }];
}
