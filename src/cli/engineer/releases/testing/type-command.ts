import type { Clock } from "../../../../base/clock.ts";
import { scaledClock } from "../../../../base/testing/scaled-clock.ts";
import { runCli } from "../../../run-cli.ts";
import type { Surroundings } from "../../calling.ts";
import { engineerCommands } from "../../engineer-commands.ts";

export interface Typing {
  readonly env?: Record<string, string>;
  /** Default: one that runs fast, for what waits for a platform. */
  readonly clock?: Clock;
  /** After each text on standard output. */
  readonly onOut?: (said: string) => void;
  /** What a program of the engineer's answers, by its first argument. */
  readonly tool?: Readonly<Record<string, string>>;
}

/** What a person types, and what the command says and ends with. @param folder of profiles */
export async function typeCommand(
  folder: string,
  words: readonly string[],
  { env = {}, clock = scaledClock(50), onOut, tool }: Typing = {},
): Promise<{ readonly code: number; readonly out: string; readonly error: string }> {
  const said = { out: "", error: "" };
  const out = (more: string): void => {
    said.out += more;
    onOut?.(said.out);
  };
  const error = (more: string): void => {
    said.error += more;
  };
  const surroundings: Surroundings = {
    env: { XDG_CONFIG_HOME: folder, ...env },
    ...{ clock, out, error, isTTY: false },
    readInput: async () => "",
    askSecret: undefined,
    openBrowser: undefined,
    async runTool(_program, [word = ""]) {
      if (tool === undefined) return undefined;
      const stdout = tool[word];
      return { code: stdout === undefined ? 1 : 0, stdout: stdout ?? "", stderr: "" };
    },
  };
  const commands = engineerCommands(surroundings, []);
  const command = await commands.find(words[0] ?? "");
  if (command === undefined) throw new Error("there is no such command");
  const named = [{ ...command, name: words[0] ?? "" }];
  const code = await runCli(named, words, { out, error }, new AbortController().signal);
  return { code, ...said };
}
