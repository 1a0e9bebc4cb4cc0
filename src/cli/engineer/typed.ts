import { type ParseArgsConfig, parseArgs } from "node:util";
import { parsed } from "../services/service-command.ts";

export type Flags = NonNullable<ParseArgsConfig["options"]>;

/** Of each verb that signs in and prints. */
export const SESSION_FLAGS = {
  output: { type: "string", short: "o" },
  profile: { type: "string" },
  workspace: { type: "string" },
} as const satisfies Flags;

/** What was typed after a verb that is more than one call of the API. */
export interface Typed {
  readonly words: readonly string[];
  text(flag: string): string | undefined;
  texts(flag: string): readonly string[];
  has(flag: string): boolean;
}

/** @param name of the verb, for messages: `plugin check` @throws UsageError for a flag that the verb does not have */
export function typedOf(name: string, args: readonly string[], options: Flags): Typed {
  const config = { args: [...args], options, allowPositionals: true } as const;
  const { values, positionals } = parsed(name, () => parseArgs(config));
  const texts = (flag: string): readonly string[] => {
    const value = values[flag];
    return Array.isArray(value) ? value.map(String) : typeof value === "string" ? [value] : [];
  };
  return { words: positionals, texts, text: (flag) => texts(flag)[0], has: (flag) => values[flag] === true };
}
