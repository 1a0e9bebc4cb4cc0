import { checkCommand } from "./check/check-command.ts";
import type { Command } from "./command.ts";
import { lazyCommand } from "./lazy-command.ts";
import { runCli } from "./run-cli.ts";
import { serviceCommand } from "./services/service-command.ts";
import { stopSignals } from "./stop-signals.ts";
import { versionCommand } from "./version-command.ts";

const COMMANDS = [
  lazyCommand(
    "platform",
    "Serves the Management API (the vendor's side), and administers it.",
    async () => (await import("./platform/platform-command.ts")).platformCommand,
  ),
  serviceCommand({
    name: "agent",
    summary: "Carries requests from the platform into a cluster, and results back.",
    about:
      "Runs in the customer's cluster. Opens connections to the platform, never accepts any; creates our custom resources, changes nothing else.",
    load: async () => (await import("./services/agent-service.ts")).agentService,
  }),
  serviceCommand({
    name: "operator",
    summary: "Runs what the customer approved, in the customer's cluster.",
    about:
      "Runs in the customer's cluster and talks only to its API server. Executes what a grant allows, with an account made for that grant.",
    load: async () => (await import("./services/operator-service.ts")).operatorService,
  }),
  lazyCommand(
    "approve",
    "Approves a request in the customer's cluster, with your own kubeconfig.",
    async () => (await import("./approve/approve-command.ts")).approveCommand,
  ),
  checkCommand,
  versionCommand,
];

const say = (why: string) => void process.stderr.write(`sallyport: ${why}\n`);
const stop = stopSignals(say);
// A reader that went away (`| head`) is a request to stop, not a crash.
process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));
const argv = process.argv.slice(2);
process.exitCode = await runCli(
  await commandsFor(argv[0]),
  argv,
  { out: (text) => void process.stdout.write(text), error: (text) => void process.stderr.write(text) },
  stop.signal,
);
stop.release();

/** The processes; and the engineer's commands, whose code is loaded only when one of them, or the overview, is asked for. */
async function commandsFor(name: string | undefined): Promise<readonly Command[]> {
  const processes = COMMANDS.map((command) => command.name);
  if (name !== undefined && (processes.includes(name) || name === "--version")) return COMMANDS;
  const { engineerCommands } = await import("./engineer/engineer-commands.ts");
  const { processSurroundings } = await import("./engineer/surroundings.ts");
  const { find, listed } = engineerCommands(processSurroundings, processes);
  const named = name === undefined ? undefined : find(name);
  // Under the word that was typed, which may be a short one.
  return named === undefined || name === undefined ? [...COMMANDS, ...listed] : [{ ...named, name }];
}
