import type { Clock } from "../../base/clock.ts";
import { type DeployedResource, RESOURCE_TYPES } from "../../contract/resources/resources.ts";
import { type Command, UsageError } from "../kernel/command.ts";
import { render, Table } from "../kernel/output.ts";
import { findVerb, type VerbArguments, verbArguments } from "./area-command.ts";
import { COMMON, describeFlag, WATCH } from "./area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "./calling.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { getHelp, getResource, healthOf, seenOf, whyOf } from "./resource-detail.ts";
import { type CallValues, callValues } from "./values.ts";
import type { Area, Flag, Verb } from "./verbs.ts";
import { watch } from "./watch.ts";

/** The verbs of `resources` that are more than one call. */
export const RESOURCE_VERBS: readonly string[] = ["watch"];

const TYPE: Flag = {
  ...{ name: "type", property: "resourceType", places: ["query"], required: false },
  schema: { type: "string", description: `only of this type: ${RESOURCE_TYPES.join(", ")}` },
};

function attention(more: string): Flag {
  const description = `only what is sick, or no longer read or reported${more}`;
  return {
    ...{ name: "attention", property: "attention", places: [], required: false },
    schema: { type: "boolean", description },
  };
}

/** `resources`: the list is one line a resource that says why it is sick, `get` takes names, and `watch` follows. */
export function resourcesCommand(area: Area, plain: Command, surroundings: Surroundings): Command {
  const list = findVerb(area, ["list"])?.verb;
  const get = findVerb(area, ["get"])?.verb;
  if (list === undefined || get === undefined) return plain;
  // Shorter to type than --resource-type.
  const flags = [...list.flags.filter(({ property }) => property !== TYPE.property), TYPE];
  return {
    ...plain,
    async help(args) {
      const [word] = args;
      if (word === "list" || word === "watch") return listHelp(word, list, flags);
      if (word === "get") return getHelp(get);
      return `${await plain.help(args)}\nsallyport resources list --attention and sallyport resources watch: see their --help.\n`;
    },
    async run(args, signal) {
      const [word = "", ...rest] = withLongFlags(args);
      if (word === "get") return getResource(get, rest, surroundings, signal);
      if (word !== "list" && word !== "watch") return plain.run([word, ...rest], signal);
      const verb = { ...list, flags: [...flags, attention("")] };
      const given = verbArguments(`resources ${word}`, verb.flags, rest);
      const values = await callValues(verb, given, () => surroundings.readInput());
      const isFollowed = word === "watch" || given.watch;
      return signedIn(surroundings, given, signal, (call) =>
        isFollowed
          ? follow(given, values, call, surroundings, signal)
          : show(given, values, call, surroundings, signal),
      );
    },
  };
}

/** `-p`, as engineers type it many times a day. */
function withLongFlags(args: readonly string[]): readonly string[] {
  return args.map((word) => (word === "-p" ? "--project" : word));
}

function listHelp(word: "list" | "watch", { route }: Verb, flags: readonly Flag[]): string {
  const isList = word === "list";
  const what = isList
    ? `${route.summary} One line each.`
    : "The same list once, and then each resource again that has changed, until Ctrl-C.";
  const own = attention(isList ? `; exit code ${EXIT_CODES.attention.code} when there is any` : "");
  const more = isList ? [WATCH] : [];
  return `usage: sallyport resources ${word} [-p PROJECT] [--type TYPE] [--attention] [-o table|json|yaml]

${what} SEEN is how old that knowledge is; stale when it is older than three minutes.
ID with the deployment is what \`sallyport resources get\` takes, as is the name.

${[...[...flags, own].map(describeFlag), ...more, COMMON].join("\n")}
`;
}

interface Answer {
  readonly resources: readonly DeployedResource[];
  readonly truncated?: true;
  readonly truncatedDeployments?: readonly {
    readonly deploymentName: string;
    readonly shownCount: number;
    readonly totalCount: number;
  }[];
}

/** @throws UsageError for a type that is none: an empty list would look as if all were well. */
async function read(
  given: VerbArguments,
  values: CallValues,
  call: CallRoute,
  { error }: Surroundings,
  signal: AbortSignal,
): Promise<readonly DeployedResource[]> {
  const type = given.texts.type?.[0];
  const isKnown = type === undefined || (RESOURCE_TYPES as readonly string[]).includes(type);
  const wrong = new UsageError(`--type is one of ${RESOURCE_TYPES.join(", ")}, not ${type}`);
  // As the API has them: it would refuse it without the list.
  if (!isKnown && !/^[a-z][a-z0-9_-]{0,63}$/.test(type)) throw wrong;
  const answer = (await call("resources", "list", values, signal)) as Answer;
  if (!isKnown && answer.resources.length === 0) throw wrong;
  if (answer.truncated) error(`${cutWords(answer)}: narrow it with --deployment or --type\n`);
  return answer.resources;
}

/** Deployments named when a list was cut; more do not help to choose one. */
const NAMED = 5;

function cutWords({ resources, truncatedDeployments: cut = [] }: Answer): string {
  const named = cut.slice(0, NAMED).map((each) => `${each.shownCount} of ${each.totalCount} of ${each.deploymentName}`);
  const others = cut.length > NAMED ? [`and of ${cut.length - NAMED} more deployments`] : [];
  return [`only ${resources.length} are shown`, ...named, ...others].join(", ");
}

async function show(
  given: VerbArguments,
  values: CallValues,
  call: CallRoute,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const rows = (await read(given, values, call, surroundings, signal)).filter((row) => isWanted(row, given));
  const lines = rows.map((row) => lineOf(row, surroundings.clock));
  const isTable = given.format === "table";
  surroundings.out(isTable ? new Table(COLUMNS).lines(lines) || "(none)\n" : render(rows, given.format));
  return isAsked(given) && rows.length > 0 ? EXIT_CODES.attention.code : EXIT_CODES.done.code;
}

/** All rows once, and then those that are another than before; the age of what is known is no change. */
async function follow(
  given: VerbArguments,
  values: CallValues,
  call: CallRoute,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<never> {
  const table = new Table(COLUMNS);
  let before: ReadonlyMap<string, DeployedResource> | undefined;
  const changes = async (): Promise<string> => {
    const rows = await read(given, values, call, surroundings, signal);
    const all = new Map(rows.map((row) => [keyOf(row), row]));
    const now = new Map([...all].filter(([, row]) => isWanted(row, given)));
    const isFirst = before === undefined;
    const changed = [...now].filter(([key, row]) => contentOf(row) !== contentOf(before?.get(key)));
    // What has recovered is shown once more, as it is now; what is gone, as it was.
    const left = [...(before ?? [])].filter(([key]) => !now.has(key));
    before = now;
    const shown = [
      ...changed.map(([, row]) => ({ row, gone: false })),
      ...left.map(([key, row]) => ({ row: all.get(key) ?? row, gone: !all.has(key) })),
    ];
    if (given.format !== "table") {
      const values = shown.map(({ row, gone }) => (gone ? { ...row, gone } : row));
      return isFirst || values.length > 0 ? render(values, given.format) : "";
    }
    const lines = shown.map(({ row, gone }) => ({
      ...lineOf(row, surroundings.clock),
      ...(gone && { health: "gone" }),
    }));
    return table.lines(lines) || (isFirst ? "(none)\n" : "");
  };
  return watch(changes, { ...surroundings, isTTY: false }, signal);
}

function keyOf({ deploymentId, resourceType, resourceId, source }: DeployedResource): string {
  return JSON.stringify([deploymentId, resourceType, resourceId, source]);
}

function contentOf(row: DeployedResource | undefined): string {
  return JSON.stringify({ ...row, lastObservedAt: null });
}

function isAsked({ texts }: VerbArguments): boolean {
  return texts.attention?.[0] === "true";
}

function isWanted(row: DeployedResource, given: VerbArguments): boolean {
  return !isAsked(given) || row.attentionCount > 0;
}

const COLUMNS = ["name", "namespace", "type", "deployment", "health", "seen", "id", "why"];

function lineOf(row: DeployedResource, clock: Clock): Readonly<Record<string, unknown>> {
  const { name, namespace, resourceType: type, deploymentName: deployment, resourceId: id } = row;
  return { name, namespace, type, deployment, health: healthOf(row), seen: seenOf(row, clock), id, why: whyOf(row) };
}
