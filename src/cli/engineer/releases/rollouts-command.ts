import { PRODUCTION, type ReleaseChannel } from "../../../contract/releases/release-channels.ts";
import type { Release } from "../../../contract/releases/releases.ts";
import { type Command, FriendlyError, UsageError } from "../../kernel/command.ts";
import { parsedDuration } from "../../kernel/duration.ts";
import { verbArguments } from "../area-command.ts";
import { COMMON, describeFlag } from "../area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "../calling.ts";
import { describeExitCodes, EXIT_CODES } from "../exit-codes.ts";
import { followRollout } from "./follow-rollout.ts";
import { ownFlag } from "./own-flag.ts";

const FLAGS = [
  ownFlag("channel", "instead of a release: the one that this channel points at now; needs --project"),
  ownFlag("project", "of the channel: id or name"),
  ownFlag("group", "only the deployments of this group: id or name"),
  ownFlag("once", "shows where all stand now, and ends", "boolean"),
  ownFlag("timeout", `stops following after this time, such as 30m; exit code ${EXIT_CODES.timeout.code}`),
];

/** `rollouts watch`: one release's way through its deployments. */
export function rolloutsCommand(surroundings: Surroundings): Command {
  return {
    name: "rollouts",
    summary: "Follows a release through its deployments: watch.",
    help: async () => HELP,
    async run([word, ...args], signal) {
      if (word !== "watch")
        throw new UsageError(
          word === undefined ? "name its verb: watch" : `there is no rollouts ${word}; there is watch`,
        );
      const given = verbArguments("rollouts watch", FLAGS, args);
      const text = (flag: string): string | undefined => given.texts[flag]?.at(-1);
      const [release, second] = given.positionals;
      if (second !== undefined || (release === undefined) === (text("channel") === undefined)) {
        throw new UsageError(
          "usage: sallyport rollouts watch RELEASE, or --channel NAME --project PROJECT; see its --help",
        );
      }
      const timeout = text("timeout");
      const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : parsedDuration("--timeout", timeout);
      const group = text("group");
      return signedIn(surroundings, given, signal, async (call) => {
        const id = release ?? (await releaseAt(text("channel") ?? PRODUCTION, text("project"), call, signal));
        const read = { params: { id }, query: {}, body: undefined };
        const wanted = { release: (await call("releases", "get", read, signal)) as Release, group };
        const how = { timeoutMs, isOnce: text("once") === "true", format: given.format };
        return followRollout(wanted, how, surroundings, call, signal);
      });
    },
  };
}

async function releaseAt(
  name: string,
  project: string | undefined,
  call: CallRoute,
  signal: AbortSignal,
): Promise<string> {
  if (project === undefined) throw new UsageError("--channel needs --project");
  const { items } = (await call(
    "releaseChannels",
    "list",
    { params: {}, query: { project }, body: undefined },
    signal,
  )) as {
    readonly items: readonly ReleaseChannel[];
  };
  const found = items.find((channel) => channel.name === name);
  if (found?.currentReleaseId != null) return found.currentReleaseId;
  const words = found === undefined ? `there is no channel ${name}` : `the channel ${name} points at no release`;
  throw new FriendlyError(words, { exitCode: EXIT_CODES.notFound.code });
}

const HELP = `usage: sallyport rollouts watch (RELEASE | --channel NAME --project PROJECT) [--once] [--timeout 30m]

Shows each deployment that is to run the release, and again when it has changed: its state and status, why it is there, and
what helps. It ends when none is on its way any more: with 0 when all run it, with ${EXIT_CODES.notRun.code} when one has failed, has drifted, or does
not begin before a retry. What waits for the customer is on its way, and so is a redeploy of the release.

${FLAGS.map(describeFlag).join("\n")}
${COMMON}

Exit codes:
${describeExitCodes()}
`;
