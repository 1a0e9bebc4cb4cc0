import { type ParseArgsConfig, parseArgs } from "node:util";
import { durationMs } from "../../../base/settings.ts";
import { UsageError } from "../../kernel/command.ts";
import { parsed } from "../../services/service-command.ts";

const COMMON = {
  output: { type: "string", short: "o" },
  profile: { type: "string" },
  workspace: { type: "string" },
} as const;
const FOLLOW = { watch: { type: "boolean" }, timeout: { type: "string" } } as const;
const ASK = { reason: { type: "string" } } as const;
const MINT = {
  expires: { type: "string" },
  "max-joins": { type: "string" },
  out: { type: "string" },
  print: { type: "boolean" },
} as const;

const FLAGS: Readonly<Record<string, NonNullable<ParseArgsConfig["options"]>>> = {
  list: { watch: { type: "boolean" } },
  "token create": MINT,
  "token rotate": { ...MINT, grace: { type: "string" } },
  drain: { ...FOLLOW, ...ASK, deadline: { type: "string" }, force: { type: "boolean" } },
  remove: { ...FOLLOW, ...ASK, "accept-stale": { type: "boolean" } },
};

/** What was typed after a verb of `machines`. */
export interface Typed {
  readonly words: readonly string[];
  text(flag: string): string | undefined;
  has(flag: string): boolean;
}

/** @throws UsageError for a flag that the verb does not have, and for another number of words than `words` */
export function typedOf(verb: string, args: readonly string[], words: readonly string[]): Typed {
  const options: NonNullable<ParseArgsConfig["options"]> = { ...COMMON, ...FLAGS[verb] };
  const config = { args: [...args], options, allowPositionals: true } as const;
  const { values, positionals } = parsed(`machines ${verb}`, () => parseArgs(config));
  if (positionals.length !== words.length) {
    throw new UsageError(`usage: sallyport machines ${verb} ${words.join(" ")}; see its --help`);
  }
  const text = (flag: string): string | undefined => {
    const value = values[flag];
    return typeof value === "string" ? value : undefined;
  };
  return { words: positionals, text, has: (flag) => values[flag] === true };
}

/** Whole seconds of a flag such as `--deadline 1h`; undefined when it was not given. @throws UsageError */
export function secondsOf(typed: Typed, flag: string, least: number): number | undefined {
  const text = typed.text(flag);
  if (text === undefined) return undefined;
  const ms = text === "0" ? 0 : durationMs(text);
  if (ms === undefined || ms < least * 1000) throw new UsageError(`--${flag} is a time such as 30m or 1h, not ${text}`);
  return Math.ceil(ms / 1000);
}
