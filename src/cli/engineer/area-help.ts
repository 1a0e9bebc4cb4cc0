import { wrap } from "../kernel/settings.ts";
import { describeExitCodes } from "./exit-codes.ts";
import type { Area, Flag, ValueSchema, Verb } from "./verbs.ts";

export const COMMON = `  -o table|json|yaml    form of the answer
  --profile NAME        which sign-in; default: the current one, or SALLYPORT_PROFILE
  --workspace NAME      for credentials that do not imply one; default: SALLYPORT_WORKSPACE`;

export const WATCH = "  --watch               again and again, until Ctrl-C";

export function areaHelp(area: Area): string {
  const width = Math.max(...area.verbs.map((verb) => usageOf(verb).length));
  const verbs = area.verbs.map((verb) => `  ${usageOf(verb).padEnd(width)}   ${verb.route.summary}`);
  const aliases = area.aliases.length === 0 ? "" : ` (or ${area.aliases.join(", ")})`;
  return `usage: sallyport ${area.name} VERB [options]${aliases}

${verbs.join("\n")}

${COMMON}

Exit codes:
${describeExitCodes()}

sallyport ${area.name} VERB --help says more.
`;
}

function usageOf({ words, positionals, inWorkspace }: Verb): string {
  const named = positionals.map((name) => name.toUpperCase());
  if (inWorkspace) named[0] = "[WORKSPACE-ID]";
  return [words, ...named].join(" ");
}

export function verbHelp(area: Area, verb: Verb): string {
  const { route, aliases, flags } = verb;
  const also = aliases.length === 0 ? "" : `\nAlso: ${aliases.map((words) => `${area.name} ${words}`).join(", ")}\n`;
  const roles = typeof route.roles === "string" ? route.roles : route.roles.join(", ");
  const more = [
    ...(route.body === undefined
      ? []
      : ["  -f, --file FILE       the request's fields as YAML or JSON, - for standard input; flags win"]),
    ...(route.paginated === true ? ["  --all                 every page"] : []),
    ...(route.method === "GET" ? [WATCH] : []),
  ];
  return `usage: sallyport ${area.name} ${usageOf(verb)}${flags.length === 0 ? "" : " [flags]"}

${route.summary}
${also}
${[...flags.map(describeFlag), ...more, COMMON].join("\n")}

Roles: ${roles}
`;
}

export function describeFlag({ name, schema, required }: Flag): string {
  const about = [
    ...(required ? ["required"] : []),
    ...(schema.description === undefined ? [] : [schema.description]),
    ...(schema.default === undefined ? [] : [`default: ${JSON.stringify(schema.default)}`]),
  ];
  const head = `  --${name} ${valueWord(schema)}`.trimEnd();
  const lines = wrap(about.join("; "), 76);
  if (lines.length === 0) return head;
  return head.length <= 22
    ? `${head.padEnd(22)}  ${lines.join(`\n${" ".repeat(24)}`)}`
    : [head, ...lines.map((line) => `${" ".repeat(24)}${line}`)].join("\n");
}

function valueWord({ type, enum: words, items }: ValueSchema): string {
  const listed = words ?? items?.enum;
  if (listed !== undefined) return listed.length <= 8 ? listed.join(type === "array" ? "," : "|") : "WORD";
  switch (type) {
    case "boolean":
      return "";
    case "integer":
    case "number":
      return "N";
    case "string":
      return "TEXT";
    case "array":
      return items?.type === "string" ? "A,B,…" : "JSON|@FILE";
    default:
      return "KEY=VALUE|JSON|@FILE";
  }
}
