import { systemClock } from "../../src/base/clock.ts";
import { type Command, FriendlyError } from "../../src/cli/kernel/command.ts";
import { Stopped } from "../../src/cli/stop-signals.ts";
import { isAlive } from "../cluster/cache-entry.ts";
import { ProgramsError } from "../cluster/go-build.ts";
import { Narrator, StepFailed } from "./narrator.ts";
import { HELP, parseOptions, type StoryOptions } from "./options.ts";
import { approverExport, farewell, panel } from "./panel.ts";
import { openRunFolder } from "./run-folder.ts";
import { playStory } from "./story.ts";
import { startWorld, type World } from "./world.ts";

/** What `npm start` runs. */
export const startCommand: Command = {
  name: "start",
  summary: "Starts everything on this machine and plays the story.",
  help: async () => HELP,
  async run(args, signal) {
    const options = parseOptions(args);
    const clock = systemClock;
    const narrator = new Narrator(
      {
        write: (text) => void process.stdout.write(text),
        isTerminal: process.stdout.isTTY && process.env.NO_COLOR === undefined,
      },
      clock,
    );
    const releaseFolder = await openRunFolder(options.folder, isAlive);
    const stack = new AsyncDisposableStack();
    stack.defer(releaseFolder);
    const broken = new AbortController();
    try {
      return await perform(options, narrator, stack, signal, broken);
    } catch (error) {
      // Running steps fail in many ways after a stop; the reason of the stop is the one to report.
      signal.throwIfAborted();
      broken.signal.throwIfAborted();
      if (error instanceof ProgramsError) throw new FriendlyError(error.message, { cause: error });
      throw error;
    } finally {
      const startedAt = clock.monotonicMs();
      narrator.blank();
      narrator.text("stopping …");
      await stack.disposeAsync();
      narrator.text(`stopped in ${((clock.monotonicMs() - startedAt) / 1000).toFixed(1)} s; nothing is left running`);
    }
  },
};

async function perform(
  options: StoryOptions,
  narrator: Narrator,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
  broken: AbortController,
): Promise<number> {
  narrator.heading("Sallyport: a gate with two doors");
  const world = await startWorld({ options, narrator, clock: systemClock, stack, broken }, signal);
  narrator.blank();
  narrator.text(panel(world, process.cwd()));
  narrator.command(approverExport(world));
  narrator.heading("The story");
  const verified = await played(world, options, narrator, AbortSignal.any([signal, broken.signal]));
  narrator.blank();
  if (verified) narrator.text("Every step was verified, on the API server and on the platform.");
  for (const line of world.target.removal ?? []) narrator.text(`To remove what was installed: ${line}`);
  if (options.exit) return verified ? 0 : 1;
  narrator.text(farewell(world, process.cwd()));
  await stopped(signal, broken.signal);
  return verified ? 0 : 1;
}

/** True when every step was verified. After a failed step the run goes on, so that a person can look around. */
async function played(world: World, options: StoryOptions, narrator: Narrator, signal: AbortSignal): Promise<boolean> {
  try {
    if ((await playStory({ world, narrator }, options.approve, signal)) === "approved") return true;
    narrator.blank();
    narrator.text("The customer said no, so nothing ran. Start again for the other end of the story.");
    return false;
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    narrator.blank();
    narrator.text(`The story did not go as it should. The logs are in ${options.folder}/logs.`);
    return false;
  }
}

/** Waits for Ctrl-C, which ends the run without an error. @throws when a program ended unexpectedly */
function stopped(signal: AbortSignal, broken: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const either = AbortSignal.any([signal, broken]);
    const settle = (): void => (either.reason instanceof Stopped ? resolve() : reject(either.reason));
    if (either.aborted) settle();
    else either.addEventListener("abort", settle, { once: true });
  });
}
