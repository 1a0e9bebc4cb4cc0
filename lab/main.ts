// The lab: what `npm start` runs. It starts the product's processes on a real control plane and plays the story with them.
// Nothing here is part of the product, and nothing of `src` imports it.

import { runCommand } from "../src/cli/run-cli.ts";
import { stopSignals } from "../src/cli/stop-signals.ts";
import { startCommand } from "./story/start-command.ts";

const TITLE = "npm start";

const stop = stopSignals((why) => void process.stderr.write(`${TITLE}: ${why}\n`));
// The reader of our output has gone (`| head`): stop in order, without an error.
process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));
process.exitCode = await runCommand(
  startCommand,
  process.argv.slice(2),
  TITLE,
  { out: (text) => void process.stdout.write(text), error: (text) => void process.stderr.write(text) },
  stop.signal,
);
stop.release();
