import { CLUSTER_COMMANDS } from "./cluster-commands.ts";
import { runProcess } from "./run-process.ts";

// The entry of the image for customers' clusters. It must not reach the platform's code: the image holds what it reaches.
await runProcess(async () => CLUSTER_COMMANDS);
