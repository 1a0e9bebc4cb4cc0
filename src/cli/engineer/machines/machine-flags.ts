import { durationMs } from "../../../base/settings.ts";
import { UsageError } from "../../kernel/command.ts";
import { type Flags, SESSION_FLAGS, type Typed, typedOf } from "../typed.ts";

const FOLLOW = { watch: { type: "boolean" }, timeout: { type: "string" } } as const;
const ASK = { reason: { type: "string" } } as const;
const MINT = {
  expires: { type: "string" },
  "max-joins": { type: "string" },
  out: { type: "string" },
  print: { type: "boolean" },
} as const;

const FLAGS: Readonly<Record<string, Flags>> = {
  list: { watch: { type: "boolean" } },
  "token create": MINT,
  "token rotate": { ...MINT, grace: { type: "string" } },
  drain: { ...FOLLOW, ...ASK, deadline: { type: "string" }, force: { type: "boolean" } },
  remove: { ...FOLLOW, ...ASK, "accept-stale": { type: "boolean" } },
};

/** @throws UsageError for a flag that the verb does not have, and for another number of words than `words` */
export function machineTyped(verb: string, args: readonly string[], words: readonly string[]): Typed {
  const typed = typedOf(`machines ${verb}`, args, { ...SESSION_FLAGS, ...FLAGS[verb] });
  if (typed.words.length === words.length) return typed;
  throw new UsageError(`usage: sallyport machines ${verb} ${words.join(" ")}; see its --help`);
}

/** Whole seconds of a flag such as `--deadline 1h`; undefined when it was not given. @throws UsageError */
export function secondsOf(typed: Typed, flag: string, least: number): number | undefined {
  const text = typed.text(flag);
  if (text === undefined) return undefined;
  const ms = text === "0" ? 0 : durationMs(text);
  if (ms === undefined || ms < least * 1000) throw new UsageError(`--${flag} is a time such as 30m or 1h, not ${text}`);
  return Math.ceil(ms / 1000);
}
