import { checkCommand } from "./check/check-command.ts";
import type { Command } from "./kernel/command.ts";
import { versionCommand } from "./kernel/version-command.ts";
import { lazyCommand } from "./lazy-command.ts";
import { runCli } from "./run-cli.ts";
import { serviceCommand } from "./services/service-command.ts";
import { stopSignals } from "./stop-signals.ts";

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
// The reader of our output has gone (`| head`): stop in order, without an error.
process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));
const argv = process.argv.slice(2);
process.exitCode = await runCli(
  await commandsFor(argv[0]),
  argv,
  { out: (text) => void process.stdout.write(text), error: (text) => void process.stderr.write(text) },
  stop.signal,
);
stop.release();

/** The processes, and the engineer's commands, which are loaded only for one of them or for the overview. */
async function commandsFor(name: string | undefined): Promise<readonly Command[]> {
  const processes = COMMANDS.map((command) => command.name);
  if (name !== undefined && (processes.includes(name) || name === "--version")) return COMMANDS;
  const { engineerCommands } = await import("./engineer/engineer-commands.ts");
  const { processSurroundings } = await import("./engineer/surroundings.ts");
  const { find, listed } = engineerCommands(processSurroundings, processes);
  const named = name === undefined ? undefined : find(name);
  // Under the word that the person typed, which may be an alias.
  return named === undefined || name === undefined ? [...COMMANDS, ...listed] : [{ ...named, name }];
}
