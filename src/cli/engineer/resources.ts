import type { Clock } from "../../base/clock.ts";
import type { DeployedResource } from "../../contract/resources/resources.ts";
import type { Command } from "../kernel/command.ts";
import { render } from "../kernel/output.ts";
import { findVerb, type VerbArguments, verbArguments } from "./area-command.ts";
import { describeFlag } from "./area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "./calling.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { type CallValues, callValues } from "./values.ts";
import type { Area, Flag, Verb } from "./verbs.ts";
import { watch } from "./watch.ts";

/** The verbs of `resources` that are more than one call. */
export const RESOURCE_VERBS: readonly string[] = ["watch"];

const OWN: readonly Flag[] = [
  {
    ...{ name: "attention", property: "attention", places: [], required: false },
    schema: {
      type: "boolean",
      description: `only what is sick, or no longer read or reported; exit code ${EXIT_CODES.attention.code} when there is any`,
    },
  },
  {
    ...{ name: "type", property: "type", places: [], required: false },
    schema: { type: "string", description: "only of this type, such as container, worker, daemon or ai" },
  },
];

/** `resources`, whose list is one line a resource that says why it is sick, and `resources watch`. */
export function resourcesCommand(area: Area, plain: Command, surroundings: Surroundings): Command {
  const list = findVerb(area, ["list"])?.verb;
  if (list === undefined) return plain;
  const verb = { ...list, flags: [...list.flags, ...OWN] };
  return {
    ...plain,
    async help(args) {
      if (args[0] === "list" || args[0] === "watch") return listHelp(args[0], verb);
      return `${await plain.help(args)}\nsallyport resources list --attention and sallyport resources watch: see their --help.\n`;
    },
    async run(args, signal) {
      const [word = "", ...rest] = args;
      if (word !== "list" && word !== "watch") return plain.run(args, signal);
      const given = verbArguments(`resources ${word}`, verb.flags, withLongFlags(rest));
      const values = await callValues(list, given, () => surroundings.readInput());
      return signedIn(surroundings, given, signal, (call) => show(word, given, values, call, surroundings, signal));
    },
  };
}

/** `-p`, as engineers type it many times a day. */
function withLongFlags(args: readonly string[]): readonly string[] {
  return args.map((word) => (word === "-p" ? "--project" : word));
}

function listHelp(word: "list" | "watch", { flags, route }: Verb): string {
  const what =
    word === "list"
      ? `${route.summary} One line each.`
      : "The same list, printed again each time that it changes, until Ctrl-C.";
  return `usage: sallyport resources ${word} [-p PROJECT] [--type TYPE] [--attention] [-o json]

${what} SEEN is how old that knowledge is; stale when it is older than three minutes.

${flags.map(describeFlag).join("\n")}
`;
}

async function show(
  word: "list" | "watch",
  given: VerbArguments,
  values: CallValues,
  call: CallRoute,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const read = async (): Promise<readonly DeployedResource[]> => {
    const answer = (await call("resources", "list", values, signal)) as {
      readonly resources: readonly DeployedResource[];
      readonly truncated?: true;
    };
    if (answer.truncated)
      surroundings.error(`only the first ${answer.resources.length} are shown: narrow it with --deployment\n`);
    return answer.resources.filter((row) => isWanted(row, given));
  };
  const text = (rows: readonly DeployedResource[]): string =>
    render(given.format === "table" ? rows.map((row) => lineOf(row, surroundings.clock)) : rows, given.format);
  if (word === "watch" || given.watch) await watch(async () => text(await read()), surroundings, signal);
  const rows = await read();
  surroundings.out(text(rows));
  return isAsked(given) && rows.length > 0 ? EXIT_CODES.attention.code : EXIT_CODES.done.code;
}

function isAsked({ texts }: VerbArguments): boolean {
  return texts.attention?.[0] === "true";
}

function isWanted(row: DeployedResource, given: VerbArguments): boolean {
  const type = given.texts.type?.[0];
  return (type === undefined || row.resourceType === type) && (!isAsked(given) || row.attentionCount > 0);
}

function lineOf(row: DeployedResource, clock: Clock): object {
  const {
    name,
    resourceType: type,
    deploymentName: deployment,
    health,
    lifecycle,
    readyCount,
    desiredCount,
    message,
  } = row;
  const known = message ?? (desiredCount === null ? "" : `${readyCount ?? "?"} of ${desiredCount} ready`);
  return {
    name,
    type,
    deployment,
    health: lifecycle === "running" ? health : `${health} (${lifecycle})`,
    seen: `${ageOf(row.lastObservedAt, clock)}${row.platformStale ? " (stale)" : ""}`,
    why: [...(row.providerStale ? [NOT_READ] : []), ...(known === "" ? [] : [known])].join(" Last known: "),
  };
}

/** Of a row whose reporter lost its right to read, or whose API server does not answer it. */
const NOT_READ = "It cannot be read in the cluster now.";

function ageOf(time: string, clock: Clock): string {
  const seconds = Math.max(0, Math.floor((clock.wallNow().getTime() - Date.parse(time)) / 1_000));
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`;
}
