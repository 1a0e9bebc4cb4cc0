import { MAX_PAIRS, PAIRS_WORDS, REFUSALS, Rule } from "../../../src/plugins/rules.ts";
import { MEMORY_OF_PLUGIN, MEMORY_WITH_PLUGINS } from "../../../src/plugins/values.ts";
import { MAX_OPERATIONS, Name, RESERVED_NAMES, TIERS, Version } from "../../../src/plugins/words.ts";
import { leaf } from "./chart-value.ts";

/** A word twice costs helm as much as another. The others look for it in their code. */
const RULE = {
  ...Rule,
  properties: Object.fromEntries(
    Object.entries(Rule.properties).map(([name, list]) => [name, { ...list, uniqueItems: true }]),
  ),
};

const OPERATION = {
  type: "object",
  required: ["enabled", "tier", "rules"],
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean" },
    tier: { type: "string", enum: TIERS },
    rules: { type: "array", minItems: 1, maxItems: 16, items: RULE },
  },
};

/** Operations of the vendor's own, in code that lies in the image. */
export const PLUGIN_VALUES = leaf(
  {},
  {
    type: "object",
    maxProperties: 32,
    propertyNames: Name,
    additionalProperties: {
      type: "object",
      required: ["version", "operations"],
      additionalProperties: false,
      properties: {
        version: Version,
        operations: {
          type: "object",
          maxProperties: MAX_OPERATIONS,
          propertyNames: Name,
          additionalProperties: OPERATION,
        },
      },
    },
  },
  `Operations of plugins that the vendor wrote and that lie in \`image\`, as \`{search: {version: 1.2.0, operations: {reindex: {enabled: true, tier: mutating, rules: [{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}]}}}}\`. The vendor's platform prints them. Each that is on gets a role of these rules and no others, and runs under your approval and your policies like an operation of Sallyport's own (docs/permissions.md). With any of them on, the operator needs ${MEMORY_WITH_PLUGINS}Mi of memory, and the chart refuses less.`,
);

/**
 * Templates from the same tables as the command line, the platform and the operator. The first is given the rights of an operation as
 * lines (`mutating patch apps/deployments`) and says why one of them is refused. Empty: none is.
 */
export function pluginRefusal(): string {
  return `{{/* Made by \`npm run generate\` from src/plugins/rules.ts. Do not edit. */}}
{{- define "sallyport.pluginRefusal" -}}
{{- $rights := . -}}
{{- $refused := "" -}}
{{- range $row := ${quoted(JSON.stringify(REFUSALS))} | fromJsonArray -}}
{{- $lines := printf "(?m)%s" $row.pattern -}}
{{- if empty $row.why -}}
{{- $rights = regexReplaceAllLiteral $lines $rights "" -}}
{{- else if empty $refused -}}
{{- $right := splitn " " 3 (regexFind $lines $rights) -}}
{{- with $right._1 -}}
{{- $refused = printf "may not have %s on %s: %s" . (trimPrefix "/" $right._2) $row.why -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $refused -}}
{{- end -}}
{{/* Given how many pairs of API group and resource the rules of a plugin have: why these are too many. Empty: they are not. */}}
{{- define "sallyport.pluginExcess" -}}
{{- if gt (int .) ${MAX_PAIRS} -}}
${PAIRS_WORDS}
{{- end -}}
{{- end -}}
{{/* The least memory of the operator with plugins, in MiB. */}}
{{- define "sallyport.memoryWithPlugins" -}}
${MEMORY_WITH_PLUGINS}
{{- end -}}
{{/* The memory of a plugin's process, in MiB. */}}
{{- define "sallyport.memoryOfPlugin" -}}
${MEMORY_OF_PLUGIN}
{{- end -}}
{{/* Words with which no plugin's name begins, as JSON. */}}
{{- define "sallyport.reservedNames" -}}
${JSON.stringify(RESERVED_NAMES)}
{{- end -}}
`;
}

/** As a raw string of a template. */
function quoted(json: string): string {
  if (json.includes("`")) throw new Error("a raw string of a template has no backtick");
  return `\`${json}\``;
}
