import { type Command, UsageError } from "../kernel/command.ts";
import { ACCESS_VERBS } from "./access.ts";
import { findVerb } from "./area-command.ts";
import { DEBUG_VERBS } from "./debug/debug-command.ts";
import { MACHINE_VERBS } from "./machines/machines-command.ts";
import { DEPLOYMENT_VERBS } from "./releases/deployments-command.ts";
import { RELEASE_VERBS } from "./releases/releases-command.ts";
import type { Area, Flag } from "./verbs.ts";

const COMMON_FLAGS = ["output", "profile", "workspace", "help"];

/** What the last of `words` can become; the words before it are complete. Without the program's name. */
export function completions(areas: readonly Area[], commands: readonly string[], words: readonly string[]): string[] {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const fitting = candidates(areas, commands, before, typed).filter((word) => word.startsWith(typed));
  return [...new Set(fitting)].sort();
}

function candidates(
  areas: readonly Area[],
  commands: readonly string[],
  [name, ...rest]: readonly string[],
  typed: string,
): string[] {
  if (name === undefined) return [...commands, ...areas.flatMap((area) => [area.name, ...area.aliases])];
  const area = areas.find((one) => one.name === name || one.aliases.includes(name));
  if (area === undefined) return WORDS_AFTER[name] ?? [];
  const verb = findVerb(area, rest)?.verb;
  const last = rest.at(-1);
  if (last === "-o" || last === "--output") return ["table", "json", "yaml"];
  if (verb === undefined) return nextWords(area, rest);
  const flag = verb.flags.find((one) => `--${one.name}` === last);
  if (flag !== undefined && flag.schema.type !== "boolean") return valuesOf(flag);
  if (!typed.startsWith("-")) return nextWords(area, rest);
  const own = verb.flags.map((one) => one.name);
  const more = verb.route.method === "GET" ? ["watch", ...(verb.route.paginated ? ["all"] : [])] : ["file"];
  return [...own, ...more, ...COMMON_FLAGS].map((one) => `--${one}`);
}

/** Of commands that are no area of the API. */
const WORDS_AFTER: Readonly<Record<string, string[]>> = { completion: ["bash", "zsh"], rollouts: ["watch"] };

/** Verbs that are more than one call. */
const OTHER_VERBS: Readonly<Record<string, readonly string[]>> = {
  "access-requests": ACCESS_VERBS,
  "debug-sessions": DEBUG_VERBS,
  deployments: DEPLOYMENT_VERBS,
  machines: MACHINE_VERBS,
  releases: RELEASE_VERBS,
};

/** Words of verbs that begin with what was typed: `operations policy` goes on with `get` or `set`. */
function nextWords(area: Area, rest: readonly string[]): string[] {
  const extra = OTHER_VERBS[area.name] ?? [];
  const phrases = [...area.verbs.flatMap((verb) => [verb.words, ...verb.aliases]), ...extra].map((one) =>
    one.split(" "),
  );
  const fitting = phrases.filter((phrase) => rest.every((word, index) => phrase[index] === word));
  return [...new Set(fitting.flatMap((phrase) => phrase[rest.length] ?? []))];
}

function valuesOf({ schema }: Flag): string[] {
  return (schema.enum ?? schema.items?.enum ?? []).map(String);
}

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_sallyport() {
  local IFS=$'\\n'
  COMPREPLY=($(sallyport __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _sallyport sallyport
`,
  zsh: `#compdef sallyport
_sallyport() {
  local -a found
  found=("\${(@f)$(sallyport __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _sallyport sallyport
`,
};

export const completionCommand: Command = {
  name: "completion",
  summary: "Prints the completion script for bash or zsh.",
  help: async () => `usage: sallyport completion bash|zsh

Prints the completion script. In ~/.bashrc:  source <(sallyport completion bash)
In ~/.zshrc, after compinit:                 source <(sallyport completion zsh)
`,
  async run([shell, ...rest]) {
    const script = shell === undefined || rest.length > 0 ? undefined : SCRIPTS[shell];
    if (script === undefined) throw new UsageError("usage: sallyport completion bash|zsh");
    process.stdout.write(script);
    return 0;
  },
};
