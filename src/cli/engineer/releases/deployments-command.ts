import { inspect } from "node:util";
import type { Deployment } from "../../../contract/deployments/deployment.ts";
import type { Release } from "../../../contract/releases/releases.ts";
import { type Command, FriendlyError, UsageError } from "../../kernel/command.ts";
import { escaped, render } from "../../kernel/output.ts";
import { Stopped } from "../../stop-signals.ts";
import { verbArguments } from "../area-command.ts";
import { COMMON, describeFlag } from "../area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import type { Area } from "../verbs.ts";
import { countsText, differencesText } from "./differences-text.ts";
import { ownFlag } from "./own-flag.ts";
import type { Compared, ReleaseDifferences } from "./release-differences.ts";

/** The verbs of `deployments` that no call of this area has. */
export const DEPLOYMENT_VERBS: readonly string[] = ["diff"];

const FLAGS = [ownFlag("release", "the release to compare with; left out: the one that the platform wants installed")];
const MAX_TOLD = 10;

/** `deployments diff`: what a rollout would change, before it is promoted or while it waits. */
export function deploymentsCommand(_area: Area, plain: Command, surroundings: Surroundings): Command {
  return {
    ...plain,
    async help(args) {
      return args[0] === "diff" ? HELP : `${await plain.help(args)}\nsallyport deployments diff: see its --help.\n`;
    },
    async run([word = "", ...rest], signal) {
      if (word !== "diff")
        return plain.run(
          [word, ...rest].filter((each, at) => at > 0 || each !== ""),
          signal,
        );
      return diff(rest, surroundings, signal).catch(aboveOne);
    },
  };
}

/** 1 says that there is a difference, as with kubectl diff: a failure has another code. */
function aboveOne(error: unknown): never {
  if (error instanceof Stopped || error instanceof UsageError) throw error;
  if (error instanceof FriendlyError && error.exitCode !== EXIT_CODES.failed.code) throw error;
  const message = error instanceof FriendlyError ? error.message : inspect(error);
  throw new FriendlyError(message, { cause: error, exitCode: EXIT_CODES.usage.code });
}

async function diff(args: readonly string[], surroundings: Surroundings, signal: AbortSignal): Promise<number> {
  const given = verbArguments("deployments diff", FLAGS, args);
  const [id, second] = given.positionals;
  if (id === undefined || second !== undefined) {
    throw new UsageError("usage: sallyport deployments diff DEPLOYMENT [--release RELEASE]; see its --help");
  }
  return signedIn(surroundings, given, signal, async (call) => {
    const compared = await read(id, given.texts.release?.at(-1), call, signal);
    // Only now: it brings the renderer, which no other command uses.
    const { releaseDifferences } = await import("./release-differences.ts");
    const differences = releaseDifferences(compared);
    const { out, error } = surroundings;
    error(`${headOf(compared, differences)}\n`);
    for (const line of notesOf(compared, differences)) error(`${escaped(line, "")}\n`);
    out(
      given.format === "table"
        ? differencesText(differences.changes)
        : await render(shown(compared, differences), given.format),
    );
    error(`${countsText(differences.changes)}\n`);
    return differences.changes.length === 0 ? EXIT_CODES.done.code : EXIT_CODES.failed.code;
  });
}

/** @throws FriendlyError when there is nothing to compare with */
async function read(id: string, release: string | undefined, call: CallRoute, signal: AbortSignal): Promise<Compared> {
  const ask = (area: string, name: string, of: string): Promise<unknown> =>
    call(area, name, { params: { id: of }, query: {}, body: undefined }, signal);
  const deployment = (await ask("deployments", "get", id)) as Deployment;
  const { currentReleaseId, desiredReleaseId, projectId, platform, name } = deployment;
  const wanted = release ?? desiredReleaseId ?? currentReleaseId;
  if (wanted === null) {
    throw new FriendlyError(`no release is wanted for ${escaped(name, "")}: promote one, or name one with --release`, {
      exitCode: EXIT_CODES.conflict.code,
    });
  }
  const to = (await ask("releases", "get", wanted)) as Release;
  if (to.projectId !== projectId) throw new UsageError(`${named(to)} is a release of another project`);
  if (to.stack[platform] === null) throw new UsageError(`${named(to)} has nothing for the platform ${platform}`);
  const from = currentReleaseId === null ? null : ((await ask("releases", "get", currentReleaseId)) as Release);
  const inputs = (await ask("deployments", "getInputs", id)) as Compared["inputs"];
  return { deployment, from, to, inputs };
}

function named({ version, id }: Release): string {
  return escaped(`${version} (${id})`, "");
}

function headOf({ deployment, from, to }: Compared, { compares }: ReleaseDifferences): string {
  const way = from === null ? `nothing installed → ${named(to)}` : `${named(from)} → ${named(to)}`;
  const what = {
    objects: "objects of Kubernetes, as its agent renders them, without the labels that name the release",
    resources: "resources of the stacks",
  };
  return escaped(`${deployment.name}: ${way}: ${what[compares]}`, "");
}

function* notesOf({ deployment, from, to }: Compared, differences: ReleaseDifferences): Generator<string> {
  const { status, error } = deployment;
  const { unrendered, bringsSecrets } = differences;
  if (error !== null) yield `now ${status}: ${error.code}: ${error.message}`;
  if (bringsSecrets) yield `${named(to)} has secret values: a customer without releases.secrets refuses it`;
  for (const { releaseId, path, message } of unrendered.slice(0, MAX_TOLD)) {
    const isWanted = releaseId === to.id;
    const who = isWanted ? "the customer's cluster would refuse" : "no objects can be made of";
    yield `${who} ${isWanted || from === null ? named(to) : named(from)}: ${path} ${message}`;
  }
  if (unrendered.length > MAX_TOLD) yield `and ${unrendered.length - MAX_TOLD} more: -o json`;
}

function shown({ deployment, from, to }: Compared, differences: ReleaseDifferences): object {
  const { compares, unrendered, bringsSecrets, changes } = differences;
  const short = ({ id, version }: Release) => ({ id, version });
  const { id, name, status } = deployment;
  const of = { deployment: { id, name, status }, from: from === null ? null : short(from), to: short(to) };
  return { ...of, compares, unrendered, bringsSecrets, changes };
}

const HELP = `usage: sallyport deployments diff DEPLOYMENT [--release RELEASE]

Shows what changes when a release takes the place of the one that is installed: for Kubernetes the objects, rendered here as
the customer's agent does, with the deployment's configuration. Where a release cannot be rendered it says why, and compares
the resources of the stacks. It knows nothing of the cluster: fields that the customer has changed show in the customer's
plan alone. Secret values are never shown.

${FLAGS.map(describeFlag).join("\n")}
${COMMON}

Exit codes, as of kubectl diff: 0 no difference, ${EXIT_CODES.failed.code} a difference, more than ${EXIT_CODES.failed.code} it failed.
`;
