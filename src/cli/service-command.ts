import { parseArgs } from "node:util";
import { Registry } from "prom-client";
import { type Clock, systemClock } from "../kube/clock.ts";
import type { Logger } from "../kube/log.ts";
import { type Command, FriendlyError, UsageError } from "./command.ts";
import { LOG_SETTINGS, processLogger } from "./process-logger.ts";
import { describeSettings, type Environment, readSettings, type SettingTable } from "./settings.ts";
import { version } from "./version-command.ts";

interface ServiceTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

/** A process that runs until it is told to stop: platform, agent, operator. */
export interface Service {
  /** Every setting that `start` reads. */
  readonly settings: SettingTable;
  /** Resolves once it has stopped in order, after `signal`. @throws Error with all bad settings when configured wrongly. */
  run(env: Environment, tools: ServiceTools, signal: AbortSignal): Promise<void>;
}

export interface ServiceWords {
  readonly name: string;
  readonly summary: string;
  readonly about: string;
  /** Loaded when it runs, so that no process loads the code of another one. */
  readonly load: () => Promise<Service>;
}

/** What a room's loader says of bad settings is for whoever set them, and needs no stack trace. */
export function configured<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    throw new FriendlyError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

export function serviceCommand({ name, summary, about, load }: ServiceWords): Command {
  return {
    name,
    summary,
    async help() {
      const { settings } = await load();
      return `usage: sallyport ${name} [--config FILE]

${about}

  --config FILE   settings from a YAML file with the names below as keys; the environment wins
  --help          this text

Settings:
${describeSettings([settings, LOG_SETTINGS])}
`;
    },
    async run(args, signal) {
      const service = await load();
      const env = await readSettings(configFile(name, args), process.env, [service.settings, LOG_SETTINGS]);
      const log = processLogger(name, env);
      log.info({ version: await version(), node: process.versions.node }, "starting");
      await service.run(env, { clock: systemClock, log, registry: new Registry() }, signal);
      log.info({}, "stopped");
      return 0;
    },
  };
}

function configFile(name: string, args: readonly string[]): string | undefined {
  try {
    return parseArgs({ args: [...args], options: { config: { type: "string" } }, allowPositionals: false }).values
      .config;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}. See sallyport ${name} --help`, {
      cause: error,
    });
  }
}
