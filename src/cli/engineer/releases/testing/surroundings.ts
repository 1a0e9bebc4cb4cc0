import { FriendlyError } from "../../../kernel/command.ts";
import type { Surroundings, ToolAnswer } from "../../calling.ts";

/** @param tool what every other program answers; undefined: it is not there */
export const surroundings = (tool?: ToolAnswer, called?: (args: readonly string[]) => void): Surroundings => ({
  ...{ env: {}, isTTY: false, askSecret: undefined, openBrowser: undefined },
  clock: undefined as never,
  out: () => undefined,
  error: () => undefined,
  readInput: async () => "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: typed}\n",
  async runTool(_program, args) {
    called?.(args);
    return tool;
  },
});

export async function refusal(made: Promise<unknown>): Promise<FriendlyError> {
  const error = await made.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof FriendlyError) return error;
  throw new Error(`no refusal: ${error}`);
}
