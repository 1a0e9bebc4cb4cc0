/** What a person has typed after `kubectl`. */
export interface CommandLine {
  /** Words without a dash: verb, type, name … */
  readonly words: readonly string[];
  /** By name without dashes; `-n` is `namespace`. One that is given several times has several values. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

const SHORT: Readonly<Record<string, string>> = { "-n": "namespace", "-p": "patch", "-f": "filename", "-o": "output" };
/** Flags that have no value. */
const ALONE: readonly string[] = ["--server-side", "--force-conflicts", "--overwrite", "--ignore-not-found"];

/** Undefined when a flag is not known here. */
export function parseCommandLine(args: readonly string[]): CommandLine | undefined {
  const words: string[] = [];
  const flags = new Map<string, string[]>();
  const add = (name: string, value: string) => flags.set(name, [...(flags.get(name) ?? []), value]);
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    const short = SHORT[arg];
    if (short !== undefined || arg === "--raw") {
      at += 1;
      add(short ?? "raw", args[at] ?? "");
    } else if (ALONE.includes(arg)) add(arg.slice(2), "true");
    else if (arg.startsWith("--")) {
      const [name = "", ...value] = arg.slice(2).split("=");
      if (value.length === 0) return undefined;
      add(name, value.join("="));
    } else if (arg.startsWith("-") && arg !== "-") return undefined;
    else words.push(arg);
  }
  return { words, flags };
}
