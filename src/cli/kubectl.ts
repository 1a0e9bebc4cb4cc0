import { CUSTOMER_COMMANDS } from "./customer/customer-commands.ts";
import { runProcess } from "./run-process.ts";

// The entry of the npm package under the name kubectl-sallyport, which kubectl finds on the PATH.
await runProcess(async () => CUSTOMER_COMMANDS, "kubectl sallyport");
