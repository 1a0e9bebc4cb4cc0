import { customerCommands } from "./customer/customer-commands.ts";
import { runProcess } from "./run-process.ts";

const PROGRAM = "kubectl sallyport";

// The entry of the npm package under the name kubectl-sallyport, which kubectl finds on the PATH.
await runProcess(async () => customerCommands(PROGRAM), PROGRAM);
