import { BUILT_IN, type CommandTable, commandTable } from "../../crds/operations/catalog.ts";
import { TIERS } from "../../crds/plan.ts";
import type { EnabledOperation } from "../../plugins/enabled-plugins.ts";
import type { CommandProblem } from "../gate/gate.ts";
import { findOperation } from "../operations/catalog.ts";
import type { Operation } from "../operations/operation.ts";
import type { FoundPlugin } from "./plugin-folder.ts";
import type { PluginParts, RunnablePlugin } from "./plugin-operation.ts";
import { lackingRights } from "./rights.ts";
import { Turns } from "./turns.ts";

/** What this installation can run: our own operations, and those of plugins that are both in its values and in its image. */
export interface PluginCatalogue {
  readonly commands: CommandTable;
  readonly findOperation: (command: string) => Operation | undefined;
  /** Why a command that is not our own cannot run here. */
  readonly problemOf: (command: string) => CommandProblem | undefined;
  readonly isEnabled: (command: string) => boolean;
  /** Of what the values enable, what cannot run. */
  readonly problems: readonly (CommandProblem & { readonly command: string })[];
  /** Why a command has to wait: processes of plugins are few. */
  readonly waitsFor: (command: string) => string | undefined;
}

/** One at a time: the operator's pod has memory for one, see MEMORY_WITH_PLUGINS. */
const PROCESSES = 1;

type Tools = Pick<PluginParts, "clock" | "log">;

/** Reads the plugins of the image that the values enable. A broken one is a problem of its own commands alone. */
export async function pluginCatalogue(
  enabled: readonly EnabledOperation[],
  folder: string,
  tools: Tools,
): Promise<PluginCatalogue> {
  const turns = new Turns(PROCESSES);
  const runnable = new Map<string, Operation>();
  const problems = new Map<string, CommandProblem>();
  const table: EnabledOperation[] = [];
  if (enabled.length > 0) {
    // Loaded only here: what judges schemas costs each operator 4 MiB, and most have no plugin.
    const { readPlugin } = await import("./plugin-folder.ts");
    const { pluginOperation } = await import("./plugin-operation.ts");
    const names = [...new Set(enabled.map(({ plugin }) => plugin))];
    const read = names.map(async (name) => [name, await readPlugin(folder, name)] as const);
    const found = new Map(await Promise.all(read));
    for (const each of enabled) {
      const matched = matchedIn(each, found.get(each.plugin) ?? "it was not read");
      if ("reason" in matched) problems.set(each.command, matched);
      else runnable.set(each.command, pluginOperation(matched, { ...tools, turns }));
      table.push("reason" in matched ? each : matched.enabled);
    }
  }
  const commands = commandTable(table);
  for (const [command, { message }] of problems)
    tools.log.warn({ command, problem: message }, "a plugin's operation cannot run");
  if (runnable.size > 0) tools.log.info({ commands: [...runnable.keys()] }, "operations of plugins");
  return {
    commands,
    findOperation: (command) => findOperation(command) ?? runnable.get(command),
    problemOf: (command) =>
      problems.get(command) ?? (BUILT_IN.isKnown(command) || runnable.has(command) ? undefined : unknown(command)),
    isEnabled: (command) => problems.has(command) || runnable.has(command),
    problems: [...problems].map(([command, problem]) => ({ command, ...problem })),
    waitsFor: (command) =>
      runnable.has(command) && turns.isFull ? "another operation of a plugin is running" : undefined,
  };
}

function unknown(command: string): CommandProblem {
  const message = `this operator has no operation ${command}: it is none of Sallyport's own, and the install values (plugins) do not enable it`;
  return { reason: "UnknownOperation", message };
}

/** The enabled operation with the image's code, or why the two do not fit together. */
function matchedIn(enabled: EnabledOperation, found: FoundPlugin | string): CommandProblem | RunnablePlugin {
  const { plugin, version, name, command, rules, fault } = enabled;
  const not = (why: string): CommandProblem => ({
    reason: "UnknownOperation",
    message: `${command} cannot run: ${why}`,
  });
  if (fault !== undefined) return not(`its install values may not be so: ${fault}`);
  if (typeof found === "string") return not(found);
  const { metadata, module } = found;
  if (metadata.name !== plugin) return not(`the image has plugin ${metadata.name} in the folder of ${plugin}`);
  if (metadata.version !== version) {
    return not(`the install values enable version ${version}, and the operator's image has ${metadata.version}`);
  }
  const declared = metadata.operations.find((each) => each.name === name);
  if (declared === undefined) return not(`plugin ${plugin} ${version} of the operator's image has no such operation`);
  const lacking = lackingRights(declared.rules, rules);
  if (lacking.length > 0) {
    const message = `${command} needs ${lacking.slice(0, 8).join(", ")}, which its rules in the install values (plugins) do not have`;
    return { reason: "RuleMissing", message };
  }
  // The milder of two words for one operation could let it run by itself.
  const tier = TIERS[Math.max(TIERS.indexOf(declared.tier), TIERS.indexOf(enabled.tier))] ?? "destructive";
  return { enabled: { ...enabled, tier }, declared, module };
}
