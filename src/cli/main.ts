import { CLUSTER_COMMANDS } from "./cluster-commands.ts";
import { lazyCommand } from "./lazy-command.ts";
import { commandsBeside } from "./people-commands.ts";
import { runProcess } from "./run-process.ts";

const PLATFORM = lazyCommand(
  "platform",
  "Serves the Management API (the vendor's side), and administers it.",
  async () => (await import("./platform/platform-command.ts")).platformCommand,
);

await runProcess(commandsBeside([PLATFORM, ...CLUSTER_COMMANDS]));
