import type { Clock } from "../../../base/clock.ts";
import { counted } from "../../../base/counted.ts";
import { type DeployedResource, RESOURCE_TYPES } from "../../../contract/resources/resources.ts";
import { type Command, UsageError } from "../../kernel/command.ts";
import { render, Table } from "../../kernel/output.ts";
import { watch } from "../../kernel/watch.ts";
import { findVerb, type VerbArguments, verbArguments } from "../area-command.ts";
import { COMMON, describeFlag, WATCH } from "../area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "../calling.ts";
import { EXIT_CODES, isNotFound } from "../exit-codes.ts";
import { type CallValues, callValues } from "../values.ts";
import type { Area, Flag, Verb } from "../verbs.ts";
import { FollowedRows, keyOf } from "./followed-rows.ts";
import { getHelp, getResource, healthOf, seenOf, whyOf } from "./resource-detail.ts";

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
async function read(given: VerbArguments, values: CallValues, call: CallRoute, signal: AbortSignal): Promise<Answer> {
  const type = given.texts.type?.[0];
  const isKnown = type === undefined || (RESOURCE_TYPES as readonly string[]).includes(type);
  const wrong = new UsageError(`--type is one of ${RESOURCE_TYPES.join(", ")}, not ${type}`);
  // As the API has them: it would refuse it without the list.
  if (!isKnown && !/^[a-z][a-z0-9_-]{0,63}$/.test(type)) throw wrong;
  const answer = (await call("resources", "list", values, signal)) as Answer;
  if (!isKnown && answer.resources.length === 0) throw wrong;
  return answer;
}

/** Deployments named when a list was cut; more do not help to choose one. */
const NAMED = 5;

/** What a list lacks, and how to get it; nothing of one that has all. */
function cutWords({ resources, truncated, truncatedDeployments: cut = [] }: Answer): string {
  if (truncated === undefined) return "";
  const named = cut.slice(0, NAMED).map((each) => `${each.shownCount} of ${each.totalCount} of ${each.deploymentName}`);
  const others = cut.length > NAMED ? [`and of ${counted(cut.length - NAMED, "more deployment")}`] : [];
  const words = [`only ${resources.length} are shown`, ...named, ...others].join(", ");
  return `${words}: narrow it with --deployment, --type or --name\n`;
}

async function show(
  given: VerbArguments,
  values: CallValues,
  call: CallRoute,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const answer = await read(given, values, call, signal);
  surroundings.error(cutWords(answer));
  const rows = answer.resources.filter((row) => isWanted(row, given));
  const lines = rows.map((row) => lineOf(row, surroundings.clock));
  const isTable = given.format === "table";
  surroundings.out(isTable ? new Table(COLUMNS).lines(lines) || "(none)\n" : await render(rows, given.format));
  return isAsked(given) && rows.length > 0 ? EXIT_CODES.attention.code : EXIT_CODES.done.code;
}

/** All rows once, and then those that are another than before. */
async function follow(
  given: VerbArguments,
  values: CallValues,
  call: CallRoute,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<never> {
  const table = new Table(COLUMNS);
  const followed = new FollowedRows();
  const ask = async (row: DeployedResource): Promise<DeployedResource | undefined> => {
    const query = { ...values.query, deploymentId: row.deploymentId, name: row.objectId };
    const answer = call("resources", "list", { ...values, query }, signal) as Promise<Answer>;
    const { resources } = await answer.catch((error: unknown) => {
      // Its deployment is deleted.
      if (isNotFound(error)) return { resources: [] };
      throw error;
    });
    return resources.find((each) => keyOf(each) === keyOf(row));
  };
  let isFirst = true;
  let cutBefore = "";
  const changes = async (): Promise<string> => {
    const answer = await read(given, values, call, signal);
    const cut = cutWords(answer);
    // Once for each cut, and not every two seconds.
    if (cut !== cutBefore) surroundings.error(cut);
    cutBefore = cut;
    const listed = { rows: answer.resources, isCut: answer.truncated === true };
    const shown = await followed.changes(listed, (row) => isWanted(row, given), ask);
    const isNews = isFirst || shown.length > 0;
    isFirst = false;
    if (!isNews) return "";
    if (given.format !== "table") {
      const rows = shown.map(({ row, end }) => (end === undefined ? row : { ...row, ...ENDS[end] }));
      return render(rows, given.format);
    }
    const lines = shown.map(({ row, end }) => ({ ...lineOf(row, surroundings.clock), ...(end && { health: end }) }));
    return table.lines(lines) || "(none)\n";
  };
  return watch(changes, { ...surroundings, isTTY: false, format: given.format }, signal);
}

/** The field that says in JSON why a resource is as it was last shown. */
const ENDS = { gone: { gone: true }, "not listed": { notListed: true } } as const;

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
