import Type, { type Static } from "typebox";
import { Check } from "typebox/schema";
import { MAX_PAIRS, PAIRS_WORDS, type PluginRule, pairsIn, Rule, rulesIssues } from "./rules.ts";
import {
  isReservedName,
  MAX_COMMAND,
  MAX_OPERATIONS,
  Name,
  pluginRole,
  TIERS,
  type Tier,
  Version,
  words,
} from "./words.ts";

/** What the customer's values let an operator run of one plugin. Code comes from the image; rights and tier from here. */
export interface EnabledOperation {
  readonly plugin: string;
  readonly version: string;
  readonly name: string;
  /** `plugin/name`, as plans and policies write it. */
  readonly command: string;
  readonly tier: Tier;
  readonly rules: readonly PluginRule[];
  /** Why it runs nowhere, as it is written. */
  readonly fault?: string;
}

const MAX_PLUGINS = 32;

const Operation = Type.Object(
  {
    tier: words(TIERS),
    rules: Type.Array(Rule, { minItems: 1, maxItems: 16 }),
  },
  { additionalProperties: false },
);
const Enabled = Type.Record(
  Name,
  Type.Object(
    {
      version: Version,
      operations: Type.Record(Name, Operation, { maxProperties: MAX_OPERATIONS, additionalProperties: false }),
    },
    { additionalProperties: false },
  ),
  { maxProperties: MAX_PLUGINS, additionalProperties: false },
);

/**
 * Reads the table that the chart hands to the operator: `{search: {version, operations: {reindex: {tier, rules}}}}`. One
 * that has another form is no table: undefined. An operation that may not be enabled is in it with its fault, so that the others
 * run.
 */
export function readEnabledPlugins(value: unknown): readonly EnabledOperation[] | undefined {
  if (!Check(Enabled, value)) return undefined;
  const table: Static<typeof Enabled> = value;
  const roles = new Set<string>();
  return Object.entries(table).flatMap(([plugin, { version, operations }]) => {
    const pairs = pairsIn(Object.values(operations).flatMap(({ rules }) => rules));
    const excess = pairs > MAX_PAIRS ? `the rules of ${plugin} ${PAIRS_WORDS}` : undefined;
    return Object.entries(operations).map(([name, { tier, rules }]) => {
      const enabled = { plugin, version, name, command: `${plugin}/${name}`, tier, rules };
      const role = pluginRole(plugin, name);
      const fault = roles.has(role) ? `its role ${role} is another operation's too` : (excess ?? faultOf(enabled));
      roles.add(role);
      return fault === undefined ? enabled : { ...enabled, fault };
    });
  });
}

function faultOf({ plugin, command, tier, rules }: EnabledOperation): string | undefined {
  if (isReservedName(plugin)) return `${plugin} is a name of Sallyport's own`;
  if (command.length > MAX_COMMAND) return `${command} is longer than ${MAX_COMMAND} characters`;
  return rulesIssues(rules, { tier, path: "" })[0]?.message;
}
