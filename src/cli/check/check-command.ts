import { parseArgs } from "node:util";
import { systemClock } from "../../base/clock.ts";
import { type Command, UsageError } from "../kernel/command.ts";
import { textOf } from "../kernel/output.ts";
import { describeSettings } from "../kernel/settings.ts";
import { LOG_SETTINGS } from "../services/log-settings.ts";

const HELP = `usage: sallyport check [--ready NAME=URL]... [--wait SECONDS]

Asks, with the settings and the credentials of an agent, whether an installation works: is the API server there, does the
platform accept the runtime key, are the named processes ready. A line each, and what to do about what is wrong.

  --ready NAME=URL   a readiness address, such as agent=http://sallyport-agent:8080/readyz
  --wait SECONDS     how long to go on asking until all is well; default 60
  --help             this text
`;

/** `helm test` runs this, and so does a person who looks for a problem. */
export const checkCommand: Command = {
  name: "check",
  summary: "Tells whether an installation works, and what to do when not.",
  async help() {
    const { AGENT_SETTINGS } = await import("../../agent/kernel/config.ts");
    return `${HELP}\nSettings:\n${describeSettings([AGENT_SETTINGS, LOG_SETTINGS])}\n`;
  },
  async run(args, signal) {
    const { ready, waitMs } = parsed(args);
    const { installationChecks, runChecks } = await import("./installation-check.ts");
    const checks = await installationChecks(process.env, ready);
    const write = (line: string): void => void process.stdout.write(textOf([line]));
    return (await runChecks(checks, { clock: systemClock, waitMs, write }, signal)) ? 0 : 1;
  },
};

function parsed(args: readonly string[]): { readonly ready: readonly [string, string][]; readonly waitMs: number } {
  const options = { ready: { type: "string", multiple: true }, wait: { type: "string", default: "60" } } as const;
  try {
    const { values } = parseArgs({ args: [...args], options, allowPositionals: false });
    if (!/^\d{1,4}$/.test(values.wait)) throw new Error("--wait takes seconds");
    return { ready: (values.ready ?? []).map(namedUrl), waitMs: Number(values.wait) * 1_000 };
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}. See sallyport check --help`, {
      cause: error,
    });
  }
}

function namedUrl(text: string): [string, string] {
  const [, name, url] = /^([a-z-]+)=(https?:\/\/.+)$/.exec(text) ?? [];
  if (name === undefined || url === undefined) throw new Error(`--ready takes NAME=URL, not ${text}`);
  return [name, url];
}
