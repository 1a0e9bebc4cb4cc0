import { commandElsewhere } from "./commands-elsewhere.ts";
import { versionCommand } from "./kernel/version-command.ts";
import { commandsBeside } from "./people-commands.ts";
import { runProcess } from "./run-process.ts";

// The entry of the npm package: what people type. It must not reach the services, which come as images.
const commandsFor = commandsBeside([versionCommand]);
await runProcess(async (name) => {
  const elsewhere = commandElsewhere(name);
  return elsewhere === undefined ? commandsFor(name) : [elsewhere];
});
