import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PLUGIN_METADATA } from "../../../src/contract/openapi/examples.ts";
import {
  BUILTIN_PLUGINS,
  type JsonSchema,
  LINES_ONLY_PLUGINS,
} from "../../../src/contract/operations/builtin-plugins.ts";

const PAGE = "docs/management-api.md";
const TABLE = [
  "<!-- Made by `npm run generate` from src/contract/operations/builtin-plugins.ts: -->",
  "<!-- end of the operations -->",
] as const;
const METADATA = [
  "<!-- Made by `npm run generate` from src/contract/openapi/examples.ts: -->",
  "<!-- end of the metadata -->",
] as const;

/** docs/management-api.md with the operations that are built in, and with a custom plugin's metadata. */
export function managementApiPage(root: string): string {
  const page = readFileSync(join(root, PAGE), "utf8");
  const metadata = `\`\`\`json\n${JSON.stringify(PLUGIN_METADATA, undefined, 2)}\n\`\`\``;
  return placed(placed(page, TABLE, operationsTable()), METADATA, metadata);
}

function placed(page: string, [first, last]: readonly [string, string], text: string): string {
  const [begin, end] = [page.indexOf(first), page.indexOf(last)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has lost the line ${first} or ${last}`);
  return `${page.slice(0, begin + first.length)}\n\n${text}\n\n${page.slice(end)}`;
}

function operationsTable(): string {
  const rows = BUILTIN_PLUGINS.filter(({ name }) => !LINES_ONLY_PLUGINS.includes(name)).flatMap((plugin) =>
    plugin.operations.map(
      ({ name, tier, description, paramsSchema }) =>
        `| \`${plugin.name}/${name}\` | ${tier} | ${description} | ${paramsOf(paramsSchema)} |`,
    ),
  );
  return ["| Operation | Tier | | Params |", "|---|---|---|---|", ...rows].join("\n");
}

interface Param {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Params in the schema's order; each optional one is marked. */
function paramsOf(schema: JsonSchema = {}): string {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, Param>>;
    required?: readonly string[];
  };
  const words = Object.entries(properties).map(([name, param]) => {
    const notes = [required.includes(name) ? "" : "optional", kindOf(param)].filter((note) => note !== "");
    return notes.length === 0 ? `\`${name}\`` : `\`${name}\` (${notes.join(", ")})`;
  });
  return words.join(", ");
}

/** Text is not marked: most params are names of Kubernetes objects. */
function kindOf({ type, enum: words, minimum, maximum }: Param): string {
  if (words !== undefined) return words.join(" \\| ");
  if (type === "integer") return `${minimum} to ${maximum}`;
  return type === "boolean" ? "true or false" : "";
}
