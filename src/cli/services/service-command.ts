import { parseArgs } from "node:util";
import type { Registry } from "prom-client";
import { type Clock, systemClock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Environment, SettingTable } from "../../base/settings.ts";
import { type Command, UsageError } from "../kernel/command.ts";
import { describeSettings, readSettings } from "../kernel/settings.ts";
import { listenProblem, type PortSetting } from "./listen-problem.ts";
import { LOG_SETTINGS } from "./log-settings.ts";

interface ServiceTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly version: string;
}

/** A process that runs until a signal stops it: platform, agent or operator. */
export interface Service {
  /** Every setting that `start` reads. */
  readonly settings: SettingTable;
  /** Those of them that name a port to listen on. */
  readonly ports: readonly string[];
  /** Resolves once it has stopped in order, after `signal`. @throws ConfigError */
  run(env: Environment, tools: ServiceTools, signal: AbortSignal): Promise<void>;
}

export interface SettingFlag {
  readonly flag: string;
  /** The placeholder for the value in the help. */
  readonly value: string;
  readonly env: string;
}

export interface ServiceWords {
  readonly name: string;
  readonly summary: string;
  readonly about: string;
  /** Flags beside the settings, such as `--data DIR`. Each sets one setting and wins over environment and file. */
  readonly flags?: readonly SettingFlag[];
  /** Loads the code when the command runs, so that no process loads the code of another one. */
  readonly load: () => Promise<Service>;
}

export function serviceCommand({ name, summary, about, flags = [], load }: ServiceWords): Command {
  return {
    name,
    summary,
    async help() {
      const { settings } = await load();
      return `usage: sallyport ${name} [options]

${about}

${describeFlags(flags)}
  --help              this text

Settings:
${describeSettings([settings, LOG_SETTINGS])}
`;
    },
    async run(args, signal) {
      const service = await load();
      const env = await settingsOf(name, args, flags, [service.settings, LOG_SETTINGS]);
      // Only now: the engineer's commands come here too, and would start with a fifth more modules than they use.
      const { processLogger } = await import("./process-logger.ts");
      const { buildOf, processRegistry } = await import("./process-metrics.ts");
      const log = processLogger(name, env);
      const build = await buildOf();
      log.info({ ...build, node: process.versions.node }, "starting");
      const registry = processRegistry(name, build);
      try {
        await service.run(env, { clock: systemClock, log, registry, version: build.version }, signal);
      } catch (error) {
        throw listenProblem(error, portsOf(service, flags), env, service.settings) ?? error;
      }
      log.info({}, "stopped");
      return 0;
    },
  };
}

function portsOf({ ports }: Service, flags: readonly SettingFlag[]): readonly PortSetting[] {
  return ports.map((env) => {
    const known = flags.find((each) => each.env === env);
    return known === undefined ? { env } : { env, flag: known.flag };
  });
}

/** The lines of a help for `--config` and for the flags. */
export function describeFlags(flags: readonly SettingFlag[]): string {
  const config = [
    "--config FILE",
    "settings from a YAML file with the same names as keys; the environment wins",
  ] as const;
  const rows = [config, ...flags.map(({ flag, value, env }) => [`--${flag} ${value}`, `the same as ${env}, and wins`])];
  return rows.map(([left = "", right]) => `  ${left.padEnd(18)}  ${right}`).join("\n");
}

/** Flags over environment over file. @throws UsageError for a flag that does not exist. */
async function settingsOf(
  name: string,
  args: readonly string[],
  flags: readonly SettingFlag[],
  tables: readonly SettingTable[],
): Promise<Environment> {
  const options = Object.fromEntries(["config", ...flags.map(({ flag }) => flag)].map((flag) => [flag, STRING]));
  const values = parsed(name, () => parseArgs({ args: [...args], options, allowPositionals: false }).values);
  const given = flags.flatMap(({ flag, env }) => (values[flag] === undefined ? [] : [[env, values[flag]]]));
  return readSettings(values.config, { ...process.env, ...Object.fromEntries(given) }, tables);
}

const STRING = { type: "string" } as const;

/** @throws UsageError for every error of `parseArgs`. */
export function parsed<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${words.replace(/\. To specify.*$/s, "")}. See sallyport ${name} --help`, { cause: error });
  }
}
