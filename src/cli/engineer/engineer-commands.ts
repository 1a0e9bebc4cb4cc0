import { AREAS } from "../../contract/areas.ts";
import type { RouteTable } from "../../contract/wire/route.ts";
import type { Command } from "../kernel/command.ts";
import { areaCommand } from "./area-command.ts";
import type { Surroundings } from "./calling.ts";
import { type Area, areaOf, areasOf, namesOf } from "./verbs.ts";

/** Each is loaded when it is asked for: most of a short command's time would be the loading of all others. */
export interface EngineerCommands {
  /** By name and by each alias. */
  find(name: string): Promise<Command | undefined>;
  /** For the overview: each once. */
  listed(): Promise<readonly Command[]>;
}

interface SpecialArea {
  /** Verbs that are more than one call. */
  readonly verbs: readonly string[];
  readonly command: (area: Area, plain: Command, surroundings: Surroundings) => Command;
}

const SPECIAL: Readonly<Record<string, () => Promise<SpecialArea>>> = {
  "access-requests": async () => {
    const { ACCESS_VERBS: verbs, accessCommand: command } = await import("./access.ts");
    return { verbs, command };
  },
  "debug-sessions": async () => {
    const { DEBUG_VERBS: verbs, debugCommand: command } = await import("./debug/debug-command.ts");
    return { verbs, command };
  },
  deployments: async () => {
    const { DEPLOYMENT_VERBS: verbs, deploymentsCommand: command } = await import("./releases/deployments-command.ts");
    return { verbs, command };
  },
  machines: async () => {
    const { MACHINE_VERBS: verbs, machinesCommand: command } = await import("./machines/machines-command.ts");
    return { verbs, command };
  },
  releases: async () => {
    const { RELEASE_VERBS: verbs, releasesCommand: command } = await import("./releases/releases-command.ts");
    return { verbs, command };
  },
  resources: async () => {
    const { RESOURCE_VERBS: verbs, resourcesCommand: command } = await import("./resources/resources-command.ts");
    return { verbs, command };
  },
};

/** Those that are of no area. */
const OTHERS: Readonly<Record<string, (surroundings: Surroundings) => Promise<Command>>> = {
  login: async (surroundings) => (await import("./login-command.ts")).loginCommand(surroundings),
  logout: async (surroundings) => (await import("./login-command.ts")).logoutCommand(surroundings),
  profiles: async (surroundings) => (await import("./login-command.ts")).profilesCommand(surroundings),
  completion: async () => (await import("./completion.ts")).completionCommand,
  plugin: async (surroundings) => (await import("./plugin/plugin-command.ts")).pluginCommand(surroundings),
  rollouts: async (surroundings) => (await import("./releases/rollouts-command.ts")).rolloutsCommand(surroundings),
};

/** All commands of an engineer at the vendor: one for each area of the API's table, and those that sign in. */
export function engineerCommands(surroundings: Surroundings, otherCommands: readonly string[]): EngineerCommands {
  const tables: Readonly<Record<string, () => Promise<RouteTable>>> = AREAS;

  async function ofArea(key: string): Promise<Command | undefined> {
    const area = areaOf(key, (await tables[key]?.()) ?? {});
    if (area === undefined) return undefined;
    const special = await SPECIAL[area.name]?.();
    const plain = areaCommand(area, surroundings, special?.verbs);
    return special?.command(area, plain, surroundings) ?? plain;
  }

  async function listed(): Promise<readonly Command[]> {
    const others = await Promise.all(Object.values(OTHERS).map((load) => load(surroundings)));
    const areas = await Promise.all(Object.keys(tables).map(ofArea));
    return [...others, ...areas.filter((command) => command !== undefined)];
  }

  return {
    listed,
    async find(name) {
      if (Object.hasOwn(OTHERS, name)) return OTHERS[name]?.(surroundings);
      if (name === "__complete") return completer(surroundings, otherCommands, listed);
      const key = Object.keys(tables).find((each) => {
        const { name: full, aliases } = namesOf(each);
        return full === name || aliases.includes(name);
      });
      return key === undefined ? undefined : ofArea(key);
    },
  };
}

function completer(
  { out }: Surroundings,
  otherCommands: readonly string[],
  listed: EngineerCommands["listed"],
): Command {
  return {
    name: "__complete",
    summary: "For the completion scripts.",
    help: async () => "For the completion scripts.\n",
    async run(args) {
      const { completions } = await import("./completion.ts");
      const { ROUTES } = await import("../../contract/table.ts");
      const words = [...otherCommands, ...(await listed()).map(({ name }) => name)];
      out(
        completions(areasOf(ROUTES), words, args)
          .map((word) => `${word}\n`)
          .join(""),
      );
      return 0;
    },
  };
}
