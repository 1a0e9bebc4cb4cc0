import { versionCommand } from "./kernel/version-command.ts";
import { commandsBeside } from "./people-commands.ts";
import { runProcess } from "./run-process.ts";

// The entry of the npm package: what people type. It must not reach the services, which come as images.
await runProcess(commandsBeside([versionCommand]));
