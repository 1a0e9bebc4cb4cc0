import { systemClock } from "../../base/clock.ts";
import type { Client } from "../../kube/client/client.ts";
import { type Command, UsageError } from "../kernel/command.ts";
import { formatOf, render } from "../kernel/output.ts";
import { type Watcher, watch } from "../kernel/watch.ts";
import { CLUSTER_FLAGS_HELP, CODES, inCluster, typed } from "./customer-cluster.ts";

/** What a person has asked with one command of `kubectl sallyport`. */
export interface Asked {
  readonly client: Client;
  readonly namespace: string;
  /** The words after the command: as many as it takes. */
  readonly words: readonly string[];
  /** The command's own flags. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly now: Date;
}

/** One question, or one patch. */
export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** The words that it takes, for its usage. */
  readonly takes: readonly string[];
  /** Flags of its own, each with what it says. */
  readonly flags?: Readonly<Record<string, string>>;
  answer(asked: Asked): Promise<Answer>;
  /** It asks again, and shows the answer each time it has changed. */
  readonly follows?: true;
}

export interface Answer {
  /** For people, at that time. */
  text(now: Date): string;
  /** For `-o json` and `-o yaml`. */
  readonly value: unknown;
}

const EXIT_CODES_HELP = `
Exit codes:
  ${CODES.done}  done
  ${CODES.failed}  failed here
  ${CODES.usage}  called wrongly
  ${CODES.refused}  the API server does not allow it to you
  ${CODES.notFound}  no such request, or no Sallyport in this cluster
  ${CODES.conflict}  it is decided or over: nothing was done
  ${CODES.unavailable}  the API server could not be reached or cannot answer now: call it again
`;

export function commandOf(verb: Verb): Command {
  const usage = ["kubectl sallyport", verb.name, ...verb.takes].join(" ");
  const flags = Object.entries(verb.flags ?? {});
  const help = [
    `usage: ${usage} [options]\n\n${verb.summary}\n\n`,
    ...flags.map(([name, about]) => `  --${`${name} TEXT`.padEnd(18)}  ${about}\n`),
    CLUSTER_FLAGS_HELP,
    `  -o, --output FORMAT   table (default), json, yaml\n  --help                this text\n`,
    EXIT_CODES_HELP,
  ].join("");
  return {
    name: verb.name,
    summary: verb.summary,
    help: async () => help,
    run: (args, signal) => run(verb, usage, args, signal),
  };
}

async function run(verb: Verb, usage: string, args: readonly string[], signal: AbortSignal): Promise<number> {
  const own = Object.fromEntries(Object.keys(verb.flags ?? {}).map((name) => [name, { type: "string" as const }]));
  const options = { output: { type: "string", short: "o" }, ...own } as const;
  const { values, positionals: words } = typed(`kubectl sallyport ${verb.name}`, args, options);
  if (words.length !== verb.takes.length) {
    throw new UsageError(`usage: ${usage}. See kubectl sallyport ${verb.name} --help`);
  }
  const { namespace = "", kubeconfig, context, output, ...flags } = values as Readonly<Record<string, string>>;
  const format = formatOf(output);
  const show = async ({ text, value }: Answer): Promise<string> =>
    format === "table" ? text(systemClock.wallNow()) : render(value, format);
  const out = (text: string): void => void process.stdout.write(text);
  await inCluster({ kubeconfig, context }, async (client) => {
    const answer = () => verb.answer({ client, namespace, words, flags, signal, now: systemClock.wallNow() });
    if (verb.follows === true) await follow(answer, show, { out, format }, signal);
    else out(await show(await answer()));
  });
  return CODES.done;
}

/** Ages grow in place on a terminal. Elsewhere an older age alone is no change. */
async function follow(
  answer: () => Promise<Answer>,
  show: (answer: Answer) => Promise<string>,
  { out, format }: Pick<Watcher, "out" | "format">,
  signal: AbortSignal,
): Promise<never> {
  const isTTY = process.stdout.isTTY === true;
  let before = "";
  let shown = "";
  const read = async (): Promise<string> => {
    const now = await answer();
    const value = JSON.stringify(now.value);
    if (isTTY || value !== before) shown = await show(now);
    before = value;
    return shown;
  };
  return await watch(read, { out, clock: systemClock, isTTY, format }, signal);
}
