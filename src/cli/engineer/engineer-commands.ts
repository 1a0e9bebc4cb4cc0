import { ROUTES } from "../../contract/table.ts";
import type { Command } from "../kernel/command.ts";
import { ACCESS_VERBS, accessCommand } from "./access.ts";
import { areaCommand } from "./area-command.ts";
import type { Surroundings } from "./calling.ts";
import { completionCommand, completions } from "./completion.ts";
import { DEBUG_VERBS, debugCommand } from "./debug/debug-command.ts";
import { loginCommand, logoutCommand, profilesCommand } from "./login-command.ts";
import { MACHINE_VERBS, machinesCommand } from "./machines/machines-command.ts";
import { DEPLOYMENT_VERBS, deploymentsCommand } from "./releases/deployments-command.ts";
import { RELEASE_VERBS, releasesCommand } from "./releases/releases-command.ts";
import { rolloutsCommand } from "./releases/rollouts-command.ts";
import { RESOURCE_VERBS, resourcesCommand } from "./resources/resources-command.ts";
import { areasOf } from "./verbs.ts";

export interface EngineerCommands {
  /** By name and by each alias. */
  find(name: string): Command | undefined;
  /** For the overview: each once. */
  readonly listed: readonly Command[];
}

/** Areas with verbs that are more than one call. */
const SPECIAL: Readonly<Record<string, { readonly verbs: readonly string[]; readonly command: typeof accessCommand }>> =
  {
    "access-requests": { verbs: ACCESS_VERBS, command: accessCommand },
    "debug-sessions": { verbs: DEBUG_VERBS, command: debugCommand },
    deployments: { verbs: DEPLOYMENT_VERBS, command: deploymentsCommand },
    machines: { verbs: MACHINE_VERBS, command: machinesCommand },
    releases: { verbs: RELEASE_VERBS, command: releasesCommand },
    resources: { verbs: RESOURCE_VERBS, command: resourcesCommand },
  };

/** All commands of an engineer at the vendor: one for each area of the API's table, and those that sign in. */
export function engineerCommands(surroundings: Surroundings, otherCommands: readonly string[]): EngineerCommands {
  const areas = areasOf(ROUTES);
  const byName = new Map<string, Command>();
  const listed: Command[] = [
    loginCommand(surroundings),
    logoutCommand(surroundings),
    profilesCommand(surroundings),
    completionCommand,
    rolloutsCommand(surroundings),
  ];
  for (const command of listed) byName.set(command.name, command);
  for (const area of areas) {
    const special = SPECIAL[area.name];
    const plain = areaCommand(area, surroundings, special?.verbs);
    const command = special?.command(area, plain, surroundings) ?? plain;
    listed.push(command);
    for (const name of [area.name, ...area.aliases]) byName.set(name, command);
  }
  const words = [...otherCommands, ...listed.map(({ name }) => name)];
  byName.set("__complete", {
    name: "__complete",
    summary: "For the completion scripts.",
    help: async () => "For the completion scripts.\n",
    async run(args) {
      surroundings.out(
        completions(areas, words, args)
          .map((word) => `${word}\n`)
          .join(""),
      );
      return 0;
    },
  });
  return { find: (name) => byName.get(name), listed };
}
