// The lab: what `npm start` runs. It starts the product's processes on a real control plane and plays the story with them.
// Nothing here is part of the product, and nothing of `src` imports it.

const TITLE = "npm start";

// Reading the source takes some seconds on a slow machine, and so does emptying the folder of the last run.
if (!process.argv.slice(2).some((word) => word === "--help" || word === "-h")) {
  process.stdout.write(`${TITLE}: loading …\n`);
}
const [{ runCommand }, { stopSignals }, { startCommand }] = await Promise.all([
  import("../src/cli/run-cli.ts"),
  import("../src/cli/stop-signals.ts"),
  import("./story/start-command.ts"),
]);

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
