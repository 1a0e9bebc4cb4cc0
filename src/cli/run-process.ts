import type { Command } from "./kernel/command.ts";
import { sayable } from "./kernel/output.ts";
import { runCli } from "./run-cli.ts";
import { stopSignals } from "./stop-signals.ts";

/**
 * Runs the command that this process's arguments name, and sets its exit code. SIGINT and SIGTERM stop it in order.
 * @param commandsFor the commands to choose from, for the first word that was typed
 */
export async function runProcess(
  commandsFor: (name: string | undefined) => Promise<readonly Command[]>,
  program = "sallyport",
): Promise<void> {
  const say = (why: string) => void process.stderr.write(sayable(`${program}: ${why}\n`));
  const stop = stopSignals(say);
  // The reader of our output has gone (`| head`): stop in order, without an error.
  process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));
  const argv = process.argv.slice(2);
  process.exitCode = await runCli(
    await commandsFor(argv[0]),
    argv,
    { out: (text) => void process.stdout.write(text), error: (text) => void process.stderr.write(sayable(text)) },
    stop.signal,
    program,
  );
  stop.release();
}
