import { counted } from "../../../base/counted.ts";
import { isRecord } from "../../../base/is-record.ts";
import { PRODUCTION, type ReleaseChannel } from "../../../contract/releases/release-channels.ts";
import type { NewRelease, Release } from "../../../contract/releases/releases.ts";
import { pastedLine } from "../../../contract/wire/pasted-line.ts";
import { type Command, UsageError } from "../../kernel/command.ts";
import { escaped, type Format, render } from "../../kernel/output.ts";
import { findVerb, type VerbArguments, verbArguments } from "../area-command.ts";
import { COMMON, describeFlag } from "../area-help.ts";
import { type Surroundings, signedIn } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { callValues } from "../values.ts";
import type { Area, Verb } from "../verbs.ts";
import { gitSource } from "./git-source.ts";
import type { ReleaseStack } from "./manifest-stack.ts";
import { ownFlag } from "./own-flag.ts";

/** The verbs of `releases` that no call of this area has. */
export const RELEASE_VERBS: readonly string[] = ["promote"];

const STACK = ownFlag(
  "stack",
  "file with the stack for Kubernetes, as YAML or JSON; KEY=VALUE, JSON and @FILE are the API's own field",
);
const SOURCES = [
  STACK,
  ownFlag(
    "manifests",
    "file or folder of Kubernetes objects as YAML or JSON, - for standard input; may be given again",
  ),
  ownFlag("helm", "chart that your own helm renders here: a folder, an archive, or oci://…"),
];
const SETTINGS = [
  ownFlag("values", "with --helm: file of values; may be given again, the later one wins"),
  ownFlag("namespace", "with --helm: renders for this namespace; left out: for the one that each customer chooses"),
  ownFlag("git", "adds the commit that is checked out here", "boolean"),
];
const OWN = [...SOURCES, ...SETTINGS];
const PROMOTION = [
  ownFlag("channel", `default: ${PRODUCTION}`),
  ownFlag("project", "id or name; left out: the release's own"),
  ownFlag("expected-release-id", "promotes only if the channel points there now; null: nowhere"),
];

/** `releases`: `create` makes the stack of files, `promote` is a channel's call from the release's side. */
export function releasesCommand(area: Area, plain: Command, surroundings: Surroundings): Command {
  const create = findVerb(area, ["create"])?.verb;
  if (create === undefined) return plain;
  const flags = [...create.flags.filter(({ name }) => name !== "stack"), ...OWN];
  const verb = { ...create, flags };
  return {
    ...plain,
    async help(args) {
      if (args[0] === "create") return createHelp(verb);
      if (args[0] === "promote") return PROMOTE_HELP;
      return `${await plain.help(args)}\nsallyport releases promote, and sallyport rollouts watch: see their --help.\n`;
    },
    async run([word = "", ...rest], signal) {
      if (word === "promote") return promote(rest, surroundings, signal);
      if (word === "create") return createRelease(isPlain(rest) ? create : verb, rest, surroundings, signal);
      if (word === "list") tellOfOthers(rest, surroundings);
      return plain.run([word, ...rest], signal);
    },
  };
}

/** As the API has it: without a stack, or with the stacks of all platforms in one value. */
function isPlain(args: readonly string[]): boolean {
  const isGiven = OWN.some(({ name }) => args.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)));
  const at = args.findIndex((word) => word === "--stack" || word.startsWith("--stack="));
  const value = args[at]?.startsWith("--stack=") ? args[at].slice("--stack=".length) : args[at + 1];
  return !isGiven || (at >= 0 && /^[@{[]|^[a-z]+=/.test(value ?? ""));
}

/** A release that was made just now is in no list of a channel. */
function tellOfOthers(args: readonly string[], { error }: Surroundings): void {
  if (args.some((word) => /^--(channel|all-channels|help)\b/.test(word))) return;
  error(`only releases that are or were promoted to ${PRODUCTION}: --all-channels lists every one, newest first\n`);
}

async function createRelease(
  verb: Verb,
  args: readonly string[],
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const { out, error } = surroundings;
  const given = verbArguments("releases create", verb.flags, args);
  const isOwn = (name: string): boolean => OWN.some((flag) => verb.flags.includes(flag) && flag.name === name);
  const texts = Object.fromEntries(Object.entries(given.texts).filter(([name]) => !isOwn(name)));
  const { body } = await callValues(verb, { ...given, texts }, () => surroundings.readInput());
  const fields = body as Readonly<Record<string, unknown>>;
  const made = verb.flags.includes(STACK)
    ? await stackOf(given, { project: String(fields.project), version: String(fields.version) }, surroundings, signal)
    : undefined;
  const gitMetadata = given.texts.git?.at(-1) === "true" ? await gitSource(surroundings, signal) : undefined;
  if (made !== undefined) error(`${escaped(summaryOf(made), "")}\n`);
  else if (!hasStack(fields.stack)) error(`${INSTALLS_NOTHING}\n`);
  return signedIn(surroundings, given, signal, async (call) => {
    const stacks = made === undefined ? {} : { stack: { kubernetes: made.stack } };
    const sent = { ...fields, ...stacks, ...(gitMetadata !== undefined && { gitMetadata }) };
    const values = { params: {}, query: {}, body: sent };
    const answer = (await call("releases", "create", values, signal)) as NewRelease;
    out(await render(shown(answer, made, given.format), given.format));
    const { id } = answer;
    const { channel } = fields;
    const next =
      channel === undefined
        ? pastedLine`sallyport releases promote ${id} --channel ${PRODUCTION}; then sallyport rollouts watch ${id}`
        : pastedLine`promoted to ${String(channel)}: sallyport rollouts watch ${id}`;
    if (next !== undefined) error(`${next}\n`);
    return EXIT_CODES.done.code;
  });
}

/** Without the stack that was made here: its files are the better form of it. */
function shown(answer: NewRelease, made: ReleaseStack | undefined, format: Format): object {
  if (made === undefined) return answer;
  const { stack: _, ...release } = answer;
  const { id, version, projectId, createdAt } = release;
  if (format === "table") return { id, version, projectId, createdAt };
  return { ...release, [made.what]: made.counts, bytes: made.bytes };
}

const INSTALLS_NOTHING = "the release has no stack: it installs nothing; --manifests, --stack and --helm give it one";

function hasStack(stack: unknown): boolean {
  return isRecord(stack) && Object.values(stack).some((each) => each != null);
}

/** @throws UsageError unless exactly one source is named, with its own settings */
async function stackOf(
  { texts }: VerbArguments,
  { project, version }: { readonly project: string; readonly version: string },
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<ReleaseStack> {
  const { stack, manifests, helm, values = [], namespace } = texts;
  const names = SOURCES.map(({ name }) => `--${name}`).join(", ");
  if ([stack, manifests, helm].filter((each) => each !== undefined).length !== 1) {
    throw new UsageError(`what is released: one of ${names}`);
  }
  if (helm === undefined && (values.length > 0 || namespace !== undefined)) {
    throw new UsageError("--values and --namespace are for --helm");
  }
  // Only now: it brings the judge of stacks, which no other command uses.
  const { stackFromFile, stackFromManifests } = await import("./sources.ts");
  if (manifests !== undefined) return stackFromManifests(project, manifests, surroundings, signal);
  const [file = "", second] = stack ?? helm ?? [];
  if (second !== undefined) throw new UsageError(`--${stack === undefined ? "helm" : "stack"} is given twice`);
  if (stack !== undefined) return stackFromFile(file, surroundings);
  const { stackFromChart } = await import("./chart.ts");
  const chart = { chart: file, values, namespace: namespace?.at(-1), version };
  return stackFromChart(project, chart, surroundings, signal);
}

function summaryOf({ counts, what, bytes }: ReleaseStack): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const each = Object.entries(counts).map(([word, count]) => `${word} ${count}`);
  return `${counted(all, what === "objects" ? "object" : "resource")}, ${(bytes / 1024).toFixed(1)} KiB: ${each.join(", ")}`;
}

async function promote(args: readonly string[], surroundings: Surroundings, signal: AbortSignal): Promise<number> {
  const given = verbArguments("releases promote", PROMOTION, args);
  const [releaseId, second] = given.positionals;
  if (releaseId === undefined || second !== undefined) {
    throw new UsageError("usage: sallyport releases promote RELEASE [--channel NAME]; see its --help");
  }
  const text = (flag: string): string | undefined => given.texts[flag]?.at(-1);
  const name = text("channel") ?? PRODUCTION;
  const expected = text("expected-release-id");
  return signedIn(surroundings, given, signal, async (call) => {
    const read = { params: { id: releaseId }, query: {}, body: undefined };
    const { projectId, version, stack } = (await call("releases", "get", read, signal)) as Release;
    const project = text("project") ?? projectId;
    const expectedReleaseId = expected === "null" ? null : expected;
    const body = { releaseId, ...(expectedReleaseId !== undefined && { expectedReleaseId }) };
    const values = { params: { name }, query: { project }, body };
    const channel = (await call("releaseChannels", "promote", values, signal)) as ReleaseChannel;
    const named = { ...channel, currentReleaseId: `${version} (${releaseId})` };
    surroundings.out(await render(given.format === "table" ? named : channel, given.format));
    if (!hasStack(stack)) surroundings.error(`${INSTALLS_NOTHING}\n`);
    const next = pastedLine`sallyport rollouts watch ${releaseId}`;
    if (next !== undefined) surroundings.error(`${next}\n`);
    return EXIT_CODES.done.code;
  });
}

function createHelp({ route, flags }: Verb): string {
  return `usage: sallyport release create --project PROJECT --version VERSION
           (--manifests PATH… | --stack FILE | --helm CHART [--values FILE…]) [--channel NAME] [--git]

${route.summary} What it installs on Kubernetes is read here, and checked by the platform's rules before anything
is sent: what it would refuse is told with file and line, and ends with exit code ${EXIT_CODES.refused.code}.

${flags.map(describeFlag).join("\n")}
  -f, --file FILE       the request's other fields as YAML or JSON
${COMMON}
`;
}

const PROMOTE_HELP = `usage: sallyport releases promote RELEASE [--channel NAME] [--project PROJECT] [--expected-release-id RELEASE]

Points a channel at a release: its unpinned followers take it as their target. The same as
sallyport channels promote NAME --project PROJECT --release-id RELEASE.

${PROMOTION.map(describeFlag).join("\n")}
${COMMON}
`;
