import { type Command, FriendlyError } from "./command.ts";

/**
 * A command whose code is loaded when it is used, so that no process loads the code of another one.
 *
 * @throws FriendlyError from its calls when the code is not part of this installation, as `dev` is not of the image
 */
export function lazyCommand(name: string, summary: string, load: () => Promise<Command>): Command {
  const command = async (): Promise<Command> => {
    try {
      return await load();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
      throw new FriendlyError("it is not part of this image: use a checkout of the project", { cause: error });
    }
  };
  return {
    name,
    summary,
    help: async (args) => (await command()).help(args),
    run: async (args, signal) => (await command()).run(args, signal),
  };
}
