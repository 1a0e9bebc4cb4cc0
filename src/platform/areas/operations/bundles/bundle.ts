import Type, { type Static } from "typebox";
import { Check, Errors } from "typebox/schema";
import type { PluginOperation } from "../../../../contract/operations/builtin-plugins.ts";
import { PluginName, PluginVersion, type Tier, TierWord } from "../../../../contract/operations/operations.ts";
import { FreeMap, HumanText } from "../../../../contract/wire/schema.ts";
import {
  hasModule,
  MODULE_FILE,
  metadataExcess,
  type PluginMetadata,
  readPluginMetadata,
} from "../../../../plugins/metadata.ts";
import { schemaFaults } from "../../../../plugins/params-schema.ts";
import { PatternJudge } from "../../../../plugins/stranger-pattern.ts";
import { type Issue, MAX_ISSUES, PlatformError } from "../../../kernel/errors.ts";

/** `metadata.json` of a bundle without a module for the operator (§2.1). Other keys belong to the bundle and are ignored. */
const Metadata = Type.Object({
  name: PluginName,
  version: PluginVersion,
  tier: Type.Optional(TierWord),
  binaries: Type.Optional(Type.Record(Type.String(), Type.String())),
  operations: Type.Array(
    Type.Object({
      name: PluginName,
      tier: Type.Optional(TierWord),
      description: Type.Optional(HumanText(0, 1024)),
      paramsSchema: Type.Optional(FreeMap),
    }),
    { minItems: 1, maxItems: 256 },
  ),
});
type Metadata = Static<typeof Metadata>;

interface Named {
  readonly name: string;
  readonly version: string;
}

export interface Registration extends Named {
  readonly tier: Tier;
}

/**
 * The operations that a bundle declares, each with its effective tier: its own, else the plugin's.
 * @param files of the archive, if known: it must contain the operations' programs.
 * @throws PLUGIN_METADATA_INVALID with the issues, when the metadata is malformed or of another plugin.
 */
export function readMetadata(
  metadata: unknown,
  { name, version, tier }: Registration,
  files?: ReadonlySet<string>,
): PluginOperation[] {
  // The request's schema bounds the metadata of a body, and nothing else that of an archive.
  const excess = metadataExcess(metadata);
  if (excess !== undefined) throw unfit([{ path: "metadata", message: excess }]);
  if (hasModule(metadata)) return readRunnable(metadata, { name, version, tier }, files);
  const issues = isMetadata(metadata)
    ? [...contentIssues(metadata, { name, version }), ...programIssues(metadata, files)]
    : shapeIssues(metadata);
  if (issues.length > 0 || !isMetadata(metadata)) throw unfit(issues);
  return metadata.operations.map((operation) => ({
    name: operation.name,
    tier: operation.tier ?? tier,
    description: operation.description ?? "",
    ...(operation.paramsSchema && { paramsSchema: operation.paramsSchema }),
  }));
}

/** A plugin that operators run is checked as they check it: what is registered here must not be refused there. */
function readRunnable(
  value: unknown,
  registration: Registration,
  files: ReadonlySet<string> | undefined,
): PluginOperation[] {
  const read = readPluginMetadata(value);
  if (!read.ok) throw unfit(read.issues.map(({ path, message }) => ({ path: `metadata${path}`, message })));
  const { metadata } = read;
  const issues = [
    ...otherIssues(metadata, registration),
    ...tierIssues(metadata, registration),
    ...(files === undefined || files.has(MODULE_FILE)
      ? []
      : [{ path: "metadata/module", message: "is not in the archive" }]),
  ];
  if (issues.length > 0) throw unfit(issues);
  return metadata.operations.map(({ name, tier, description, paramsSchema }) => ({
    ...{ name, tier, description, paramsSchema: { ...paramsSchema } },
  }));
}

/** Otherwise the project would show another tier than the customer's cluster decides by. */
function tierIssues({ tier }: PluginMetadata, registration: Registration): readonly Issue[] {
  const message = `is ${tier}, and the plugin is registered as ${registration.tier}`;
  return tier === registration.tier ? [] : [{ path: "metadata/tier", message }];
}

function unfit(issues: readonly Issue[]): PlatformError {
  return new PlatformError("PLUGIN_METADATA_INVALID", { context: { issues: issues.slice(0, MAX_ISSUES) } });
}

function isMetadata(value: unknown): value is Metadata {
  return Check(Metadata, value);
}

function shapeIssues(value: unknown): readonly Issue[] {
  const [, errors] = Errors(Metadata, value);
  return errors.map(({ instancePath, message }) => ({ path: `metadata${instancePath}`, message }));
}

function otherIssues(metadata: Named, expected: Named): readonly Issue[] {
  return [
    ...(metadata.name === expected.name ? [] : [{ path: "metadata/name", message: "is another plugin's" }]),
    ...(metadata.version === expected.version ? [] : [{ path: "metadata/version", message: "is another version" }]),
  ];
}

function contentIssues(metadata: Metadata, expected: Named): readonly Issue[] {
  const names = metadata.operations.map(({ name }) => name);
  const judge = new PatternJudge();
  return [
    ...otherIssues(metadata, expected),
    ...metadata.operations.flatMap(({ name, paramsSchema }, index) => {
      const path = `metadata/operations/${index}`;
      const twice = names.indexOf(name) === index ? [] : [{ path: `${path}/name`, message: "is declared twice" }];
      if (paramsSchema === undefined) return twice;
      return [...twice, ...schemaFaults(paramsSchema, `${path}/paramsSchema`, judge)];
    }),
  ];
}

function programIssues({ binaries = {} }: Metadata, files: ReadonlySet<string> | undefined): readonly Issue[] {
  if (files === undefined) return [];
  return Object.entries(binaries)
    .filter(([, file]) => !files.has(file))
    .map(([arch]) => ({ path: `metadata/binaries/${arch.slice(0, 64)}`, message: "is not in the archive" }));
}
