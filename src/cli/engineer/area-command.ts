import { type ParseArgsConfig, parseArgs } from "node:util";
import { pastedLine } from "../../contract/wire/pasted-line.ts";
import type { Whoami } from "../../contract/workspaces/whoami.ts";
import { type Command, UsageError } from "../kernel/command.ts";
import { type Format, formatOf, render } from "../kernel/output.ts";
import { watch } from "../kernel/watch.ts";
import { parsed } from "../services/service-command.ts";
import { areaHelp, verbHelp } from "./area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "./calling.ts";
import { type CallValues, callValues, type Given } from "./values.ts";
import type { Area, Flag, Verb } from "./verbs.ts";

/**
 * `sallyport projects …`: every verb of one area of the table.
 *
 * @param others verbs of this area that another command carries out
 */
export function areaCommand(area: Area, surroundings: Surroundings, others: readonly string[] = []): Command {
  const verbs = [...new Set([...area.verbs.map(({ words }) => words), ...others])].join(", ");
  return {
    name: area.name,
    summary: `Of the API's ${area.name}: ${verbs}.`,
    async help(args) {
      const found = args.length === 0 ? undefined : findVerb(area, args);
      return found === undefined ? areaHelp(area) : verbHelp(area, found.verb);
    },
    async run(args, signal) {
      const found = findVerb(area, args);
      if (found === undefined) {
        const [verb = "-"] = args;
        const isNamed = !verb.startsWith("-");
        throw new UsageError(
          isNamed ? `there is no ${area.name} ${verb}; there are ${verbs}` : `name one of its verbs: ${verbs}`,
        );
      }
      await runVerb(area, found.verb, found.rest, surroundings, signal);
      return 0;
    },
  };
}

/** The longest match wins: `policy get` before `policy`. An area with one verb needs no verb typed. */
export function findVerb(
  area: Area,
  args: readonly string[],
): { readonly verb: Verb; readonly rest: readonly string[] } | undefined {
  for (const length of [3, 2, 1]) {
    const words = args.slice(0, length).join(" ");
    const verb = area.verbs.find((one) => one.words === words || one.aliases.includes(words));
    if (verb !== undefined) return { verb, rest: args.slice(length) };
  }
  const [only] = area.verbs;
  const bare = args[0] === undefined || args[0].startsWith("-");
  return area.verbs.length === 1 && only !== undefined && bare ? { verb: only, rest: args } : undefined;
}

export interface VerbArguments extends Given {
  readonly format: Format;
  readonly watch: boolean;
  readonly all: boolean;
  readonly profile: string | undefined;
  readonly workspace: string | undefined;
}

/** @throws UsageError for a flag that the verb does not have. */
export function verbArguments(name: string, flags: readonly Flag[], args: readonly string[]): VerbArguments {
  const options: NonNullable<ParseArgsConfig["options"]> = {
    output: { type: "string", short: "o" },
    file: { type: "string", short: "f" },
    profile: { type: "string" },
    workspace: { type: "string" },
    watch: { type: "boolean" },
    all: { type: "boolean" },
  };
  for (const flag of flags) {
    const type = flag.schema.type === "boolean" ? "boolean" : "string";
    for (const written of spellings(flag, flags)) options[written] = { type, multiple: true };
  }
  const config = { args: [...args], options, allowPositionals: true, allowNegative: true } as const;
  const { values, positionals } = parsed(name, () => parseArgs(config));
  const texts: Record<string, readonly string[]> = {};
  for (const flag of flags) {
    const given = spellings(flag, flags).flatMap((written) => {
      const value = values[written];
      return Array.isArray(value) ? value.map(String) : [];
    });
    if (given.length > 0) texts[flag.name] = given;
  }
  const text = (flag: string): string | undefined => {
    const value = values[flag];
    return typeof value === "string" ? value : undefined;
  };
  return {
    positionals,
    texts,
    file: text("file"),
    format: formatOf(text("output")),
    watch: values.watch === true,
    all: values.all === true,
    profile: text("profile"),
    workspace: text("workspace"),
  };
}

/** `--deployment-id`, and `--deployment` unless that is another flag. */
function spellings({ name }: Flag, flags: readonly Flag[]): readonly string[] {
  const short = name.replace(/-id$/, "");
  return short === name || flags.some((flag) => flag.name === short) ? [name] : [name, short];
}

async function runVerb(
  area: Area,
  verb: Verb,
  args: readonly string[],
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<void> {
  const given = verbArguments(`${area.name} ${verb.words}`, verb.flags, args);
  if (given.watch && verb.route.method !== "GET") throw new UsageError("--watch is for what only reads");
  const typed = await callValues(verb, given, () => surroundings.readInput());
  await signedIn(surroundings, given, signal, async (call) => {
    const values = await withParams(verb, await inOwnWorkspace(verb, typed, call, signal), call, signal);
    const read = async (): Promise<string> => {
      const answer = given.all
        ? await allPages(verb, values, call, signal)
        : await call(verb.area, verb.name, values, signal);
      if (!given.watch) tellOfMore(answer, surroundings);
      return answer === undefined ? "" : await render(shown(answer), given.format);
    };
    if (given.watch) await watch(read, { ...surroundings, format: given.format }, signal);
    else surroundings.out(await read());
  });
}

/** `operations invoke` names the operation, whose schema says of which kind each param is. */
async function withParams(verb: Verb, values: CallValues, call: CallRoute, signal: AbortSignal): Promise<CallValues> {
  if (verb.area !== "operations" || verb.name !== "invoke" || values.words?.params === undefined) return values;
  const { fitParams, schemaOf } = await import("./params/fitted-params.ts");
  const { plugin, operation, params } = values.body as Readonly<Record<string, unknown>>;
  const project = async () => values.query.project as string | undefined;
  const schema = () => schemaOf(`${plugin}/${operation}`, project, call, signal);
  return {
    ...values,
    body: { ...(values.body as object), params: await fitParams(params, values.words.params, schema) },
  };
}

/** Without a typed workspace id, takes the workspace in which the credential acts. */
async function inOwnWorkspace(
  verb: Verb,
  values: CallValues,
  call: CallRoute,
  signal: AbortSignal,
): Promise<CallValues> {
  if (!verb.inWorkspace || values.params.id !== undefined) return values;
  const { workspaceId } = (await call("whoami", "get", { params: {}, query: {}, body: undefined }, signal)) as Whoami;
  return { ...values, params: { id: workspaceId, ...values.params } };
}

interface PageOf {
  readonly items: readonly unknown[];
  readonly nextCursor: string | null;
}

function isPage(answer: unknown): answer is PageOf {
  return typeof answer === "object" && answer !== null && "items" in answer && "nextCursor" in answer;
}

async function allPages(verb: Verb, values: CallValues, call: CallRoute, signal: AbortSignal): Promise<unknown> {
  if (verb.route.paginated !== true) throw new UsageError("--all is for lists that have pages");
  const items: unknown[] = [];
  let cursor = values.query.cursor;
  for (;;) {
    const query = { limit: 100, ...values.query, ...(cursor !== undefined && { cursor }) };
    const page = (await call(verb.area, verb.name, { ...values, query }, signal)) as PageOf;
    items.push(...page.items);
    if (page.nextCursor === null || page.nextCursor === cursor) return { items, nextCursor: null };
    cursor = page.nextCursor;
  }
}

function tellOfMore(answer: unknown, { error }: Surroundings): void {
  if (!isPage(answer) || answer.nextCursor === null) return;
  const next = pastedLine`, or --cursor ${answer.nextCursor}` ?? "";
  error(`there are more: --all${next}\n`);
}

/** Prints of a list its items, and the same for an answer that holds one list and nothing else. */
function shown(answer: unknown): unknown {
  if (isPage(answer)) return answer.items;
  const fields = typeof answer === "object" && answer !== null ? Object.values(answer) : [];
  return fields.length === 1 && Array.isArray(fields[0]) ? fields[0] : answer;
}
